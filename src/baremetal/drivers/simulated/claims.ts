// Claims of simulated machines, where the journal is not the inventory itself: an instance is written on a machine if it has no other.
import { idOf, mark, put, valueOf, type Change, type Fleet, type FleetReader } from '../../../fleet/index.ts';
import { accept, type Decision } from '../../../journal/index.ts';
import { NODE, type Node } from '../../model.ts';
import type { ClaimOutcome, ClaimsPage, InventoryNode, InventoryPage, NodeFence } from '../inventory.ts';
import { isAccepted, machineOf } from './act.ts';
import { triggerFault } from './faults.ts';
import { settleMachine } from './machine.ts';
import { MACHINE, MACHINE_CALL, type Machine, type MachineCallNote } from './model.ts';
import { SIMULATED_INVENTORY } from './settings.ts';

export interface ClaimMachine {
  readonly op: 'claim' | 'unclaim';
  readonly fence: NodeFence;
  /** A fresh id, for the note. */
  readonly note: string;
  readonly nowMs: number;
}

/** `hang`: no answer comes; `lost`: it is carried out, and no answer comes. */
export type ClaimAnswer = ClaimOutcome | { readonly kind: 'hang' };

export function claimMachine(fleet: FleetReader, { op, fence, note, nowMs }: ClaimMachine): Decision<ClaimAnswer> {
  const { node, nodeEpoch, instance } = fence;
  const id = idOf(MACHINE, node);
  const before = machineOf(fleet, node);
  const machine = settleMachine(before, nowMs);
  const { fault, changes: used } = triggerFault(fleet, { op: 'claim', node });
  const isOld = valueOf(fleet, SIMULATED_INVENTORY).checksEpochs && nodeEpoch < machine.epoch;
  if (isOld) mark('claim-under-older-epoch');
  const { outcome, after } = isOld
    ? { outcome: { kind: 'stale' as const }, after: machine }
    : fault?.outcome === 'unavailable' || fault?.outcome === 'hang'
      ? { outcome: unanswered(node), after: machine }
      : decideClaim(machine, { op, fence, isLost: fault?.outcome === 'failed' });
  const doc: MachineCallNote = {
    ...{ op, node, instance, epoch: nodeEpoch, accepted: isAccepted(outcome.kind), result: outcome.kind },
    atMs: nowMs,
  };
  const changes: Change[] = [...used, put(MACHINE_CALL, idOf(MACHINE_CALL, note), doc)];
  if (after !== machine) changes.push(put(MACHINE, id, after));
  if (fault?.outcome === 'hang') return accept(changes, { kind: 'hang' });
  return accept(changes, fault?.outcome === 'applied-but-lost' ? unanswered(node) : outcome);
}

function decideClaim(
  machine: Machine,
  { op, fence, isLost }: Pick<ClaimMachine, 'op' | 'fence'> & { readonly isLost: boolean },
): { readonly outcome: ClaimOutcome; readonly after: Machine } {
  const { nodeEpoch, instance, node } = fence;
  const epoch = Math.max(machine.epoch, nodeEpoch);
  if (op === 'unclaim') {
    const { instance: held, ...free } = machine;
    // What was deployed is cleaned, and not given back.
    const isClaimed = held === instance && machine.state === 'empty';
    return isClaimed
      ? { outcome: { kind: 'applied' }, after: { ...free, epoch } }
      : // The claim that it gives back may be on its way still.
        { outcome: { kind: 'already' }, after: epoch === machine.epoch ? machine : { ...machine, epoch } };
  }
  if (machine.instance === instance) return { outcome: { kind: 'already' }, after: machine };
  if (isLost || machine.instance !== undefined || machine.state !== 'empty') {
    // Lost once, it stays lost: the same request may arrive again when the machine is free.
    const after = { ...machine, epoch: Math.max(machine.epoch, nodeEpoch + 1) };
    return { outcome: { kind: 'lost', reason: { code: 'claimed-by-other', node } }, after };
  }
  return { outcome: { kind: 'applied' }, after: { ...machine, epoch, instance } };
}

function unanswered(node: string): ClaimOutcome {
  return { kind: 'failed', reason: { code: 'inventory-unreachable', inventory: 'simulated', node } };
}

export interface ListMachines {
  readonly after: string | undefined;
  readonly limit: number;
  readonly nowMs: number;
}

/** A page of the simulated inventory: every node that was enrolled in it and is not removed. */
export function listMachines(fleet: Fleet, { after, limit, nowMs }: ListMachines): InventoryPage {
  const nodes: InventoryNode[] = [];
  let last = after ?? '';
  for (;;) {
    const page = fleet.page(NODE, last, limit);
    for (const { id, doc } of page) {
      last = id;
      if (doc.inventory !== 'simulated' || doc.state === 'removed') continue;
      nodes.push(describeMachine(fleet, id, doc, nowMs));
      if (nodes.length === limit) return { nodes, next: id };
    }
    if (page.length < limit) return { nodes };
  }
}

export function describeMachine(fleet: FleetReader, id: string, node: Node, nowMs: number): InventoryNode {
  const machine = settleMachine(machineOf(fleet, id), nowMs);
  const { name, resourceClass, traits, memoryMiB, cpus, localGiB, cpuArch, capabilities, owner, lessee } = node;
  return {
    id,
    ...(name !== undefined && { name }),
    ...(resourceClass !== undefined && { resourceClass }),
    ...(cpuArch !== undefined && { cpuArch }),
    ...(capabilities !== undefined && { capabilities }),
    ...(owner !== undefined && { owner }),
    ...(lessee !== undefined && { lessee }),
    ...{ traits, memoryMiB, cpus, localGiB },
    isAvailable: machine.state === 'empty' && machine.instance === undefined,
    // A machine that was never switched has the power state that its operator stated.
    power: machine.epoch === 0 ? node.power : machine.power,
    isInMaintenance: false,
    ...(machine.instance !== undefined && { instance: machine.instance, claim: machine.instance }),
  };
}

/** A page of the machines that have an instance. */
export function listClaimed(fleet: Fleet, { after, limit, nowMs }: ListMachines): ClaimsPage {
  const page = fleet.page(MACHINE, after ?? '', limit);
  const claims = page.flatMap(({ id, doc }) => {
    const { instance } = settleMachine(doc, nowMs);
    const node = fleet.get(NODE, idOf(NODE, id))?.doc;
    return instance === undefined || node === undefined || node.state === 'removed' ? [] : [{ node: id, instance }];
  });
  const last = page.at(-1)?.id;
  return { claims, ...(page.length === limit && last !== undefined && { next: last }) };
}

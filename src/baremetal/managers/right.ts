// The right to act on a node, and to speak for a manager: decided in the commit, on what is true then. What a manager remembers is no evidence:
// the lease, its epoch, the node's epoch and the instance are all compared.
import { idOf, mark, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { MANAGER, NODE, type Manager } from '../model.ts';
import type { IsLeaseLive } from './leases.ts';

export interface ClaimedRight {
  readonly manager: string;
  readonly node: string;
  readonly nodeEpoch: number;
  /** Undefined for a node that no reservation has. */
  readonly instance: string | undefined;
  readonly isLeaseLive: IsLeaseLive;
}

/** Why a manager may not act on a node now; undefined when it may. */
export function denyUnlessManages(fleet: FleetReader, claimed: ClaimedRight): Refusal | undefined {
  const { manager, node: id, nodeEpoch, instance, isLeaseLive } = claimed;
  const facts = { manager, node: id, nodeEpoch, ...(instance !== undefined && { instance }) };
  const node = fleet.get(NODE, idOf(NODE, id))?.doc;
  if (node === undefined || node.state === 'removed')
    return refuseFenced('node-gone', `There is no node "${id}" any more.`, facts);
  if (node.manager !== manager) {
    const other = node.manager === undefined ? 'no manager' : `manager "${node.manager}"`;
    return refuseFenced('other-manager', `Node "${id}" has ${other} now, not "${manager}".`, facts);
  }
  if (node.managerEpoch === undefined || !isUnderLease(fleet, manager, node.managerEpoch, isLeaseLive))
    return refuseFenced(
      'lease-over',
      `The lease under which manager "${manager}" acquired node "${id}" is over.`,
      facts,
    );
  if (node.epoch !== nodeEpoch)
    return refuseFenced(
      'older-epoch',
      `Node "${id}" is at epoch ${node.epoch}, and the call is for epoch ${nodeEpoch}.`,
      facts,
    );
  if (node.instance === instance) return undefined;
  const has = node.instance === undefined ? 'no instance' : `instance "${node.instance}"`;
  return refuseFenced(
    'other-instance',
    `Node "${id}" has ${has} now, and the call is for ${instance ?? 'none'}.`,
    facts,
  );
}

export interface ClaimedTenure {
  readonly manager: string;
  /** Which process: a new id for each start. */
  readonly holder: string;
  readonly leaseEpoch: number;
}

/** Why a process may not speak for a manager now: it is another one's turn, or its lease is over. */
export function denyUnlessTenured(
  fleet: FleetReader,
  { manager, holder, leaseEpoch }: ClaimedTenure,
  isLeaseLive: IsLeaseLive,
): Refusal | undefined {
  const doc = fleet.get(MANAGER, idOf(MANAGER, manager))?.doc;
  const facts = { manager, leaseEpoch };
  if (doc === undefined) return refuseFenced('not-registered', `Manager "${manager}" is not registered.`, facts);
  if (doc.leaseEpoch !== leaseEpoch || doc.holder !== holder)
    return refuseFenced(
      'registered-again',
      `Manager "${manager}" has registered anew since, under lease epoch ${doc.leaseEpoch}.`,
      facts,
    );
  if (isUnderLease(fleet, manager, leaseEpoch, isLeaseLive)) return undefined;
  return refuseFenced('tenure-over', `The lease of manager "${manager}" under epoch ${leaseEpoch} is over.`, facts);
}

/** Whether it is on duty, as far as documents show: its lease may have run out since. */
export function isOnDuty({ state }: Pick<Manager, 'state'>): boolean {
  return state === 'live' || state === 'draining';
}

/** Whether what a manager acquired under this epoch of its lease is its own still. */
export function isUnderLease(
  fleet: FleetReader,
  manager: string,
  leaseEpoch: number,
  isLeaseLive: IsLeaseLive,
): boolean {
  const doc = fleet.get(MANAGER, idOf(MANAGER, manager))?.doc;
  return doc !== undefined && isOnDuty(doc) && doc.leaseEpoch === leaseEpoch && isLeaseLive(manager, leaseEpoch);
}

export function refuseFenced(why: string, what: string, facts: Readonly<Record<string, unknown>>): Refusal {
  mark(`manager-fenced-${why}`);
  const message = `${what} Nothing was done. Read the manager's tasks again and carry out only those.`;
  return { kind: 'conflict', code: 'fenced', message, facts };
}

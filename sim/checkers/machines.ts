// What really runs, compared with the journal. Every copy on a machine is accounted for: by a claim, or by a pending sweep. No instance
// runs twice and no address is used twice, except by copies that are to be swept.
import type { RuntimeInstance } from '../../src/agent/runtime.ts';
import { idOf, type Change, type Fleet } from '../../src/fleet/index.ts';
import { HOST, type Host } from '../../src/hosts/index.ts';
import { CLAIM, claimId } from '../../src/network/index.ts';
import { isOpen, ITEM, OPEN_ITEMS_BY_TARGET, OPERATION, targetKey, type Item } from '../../src/operations/index.ts';
import type { Ledger } from '../world/ledger.ts';
import type { HostMachine } from '../world/machine.ts';
import type { World } from '../world/world.ts';
import { checkOn, type Checker } from './checker.ts';
import { beforeRemoval } from './leaving.ts';

interface Copy {
  readonly machine: HostMachine;
  readonly instance: RuntimeInstance;
  /** It is to be destroyed there, and no claim counts it until then. */
  readonly swept: boolean;
}

function copiesIn(world: World): Copy[] {
  const { truth, machines } = world;
  return machines
    .filter(({ name }) => isInScope(world, name))
    .flatMap((machine) =>
      machine.hypervisor.instances.map((instance) => ({
        machine,
        instance,
        swept: isSwept(truth, instance.id, machine.name) || wasToBeSwept(world, instance.id, machine.name),
      })),
    );
}

/**
 * Copies on a host that was removed by force, or after an operator fenced it, are not accounted for: the operator took responsibility, and
 * no server gets heartbeats from it. One that was removed on evidence is checked like any other.
 */
export function isInScope({ truth, ledger }: World, host: string): boolean {
  const removed = truth.get(HOST, idOf(HOST, host));
  if (removed?.doc.state !== 'removed') return true;
  let ours = IN_SCOPE.get(removed.doc);
  if (ours === undefined) IN_SCOPE.set(removed.doc, (ours = !wasRemovedByOperatorWord(ledger, host, removed.doc)));
  return ours;
}

const IN_SCOPE = new WeakMap<Host, boolean>();

/** Whether its last state before the removal rests on an operator's word, without evidence. */
function wasRemovedByOperatorWord(ledger: Ledger, host: string, { leaving }: Host): boolean {
  if (leaving?.forced !== undefined) return true;
  const before = beforeRemoval(ledger, host);
  return before?.forcedDown !== undefined || before?.leaving?.rebuilt === true;
}

/**
 * Work keeps a host from being removed only while it is reachable: a host that is away may never come back. A sweep that waits for it ends
 * with it, and leaves a copy that is not accounted for. If the host reports again, it clears its switch, and it is reinstalled before it
 * joins again.
 */
export function wasToBeSwept({ truth, ledger }: World, id: string, host: string): boolean {
  const removed = truth.get(HOST, idOf(HOST, host));
  if (removed?.doc.state !== 'removed') return false;
  let sweeps = SWEEPS.get(removed.doc);
  if (sweeps === undefined) SWEEPS.set(removed.doc, (sweeps = sweepsWhenRemoved(truth, ledger, host)));
  return sweeps.has(id);
}

const SWEEPS = new WeakMap<Host, ReadonlySet<string>>();

/** The instances whose copies were to be swept there by operations that were open when the host was removed. */
function sweepsWhenRemoved(truth: Fleet, { entries }: Ledger, host: string): ReadonlySet<string> {
  const isRemoval = ({ kind, id, doc }: Change): boolean =>
    kind === HOST.name && id === host && (doc as Host | null)?.state === 'removed';
  const last = entries.findLastIndex(({ changes }) => changes.some(isRemoval));
  const items = new Map<string, Item>();
  for (const { kind, id, doc } of entries.slice(0, last).flatMap(({ changes }) => changes))
    if (kind === ITEM.name && (doc as Item | null)?.host === host) items.set(id, doc as Item);
  const open = [...items.values()].filter((item) => isOpen(item) && isSweep(truth, item));
  return new Set(open.map(({ target }) => target.id));
}

function isSweep(truth: Fleet, { operation }: Item): boolean {
  return truth.get(OPERATION, idOf(OPERATION, operation))?.doc.kind === 'instance-clean';
}

function isSwept(truth: Fleet, id: string, host: string): boolean {
  for (const { doc } of truth.find(OPEN_ITEMS_BY_TARGET, targetKey('instance', id))) {
    if (isSweep(truth, doc) && doc.host === host) return true;
  }
  return false;
}

function isClaimed(truth: Fleet, id: string, host: string): boolean {
  return (['home', 'move'] as const).some((role) => truth.get(CLAIM, claimId(id, role))?.doc.host === host);
}

/** The copies on machines, and what the journal says of each. */
const COPIES = { on: 'onMachine', kinds: [CLAIM.name, ITEM.name] } as const;

export const copiesAccounted: Checker = {
  name: 'never: a copy of an instance on a machine that no document accounts for',
  watch: checkOn(COPIES, (world) => {
    const stray = copiesIn(world).find(
      ({ machine, instance, swept }) => !swept && !isClaimed(world.truth, instance.id, machine.name),
    );
    return stray && `${stray.instance.id} is ${stray.instance.state} on ${stray.machine.name}`;
  }),
};

function runningCopies(world: World): Copy[] {
  return copiesIn(world).filter(({ machine, instance, swept }) => {
    return machine.powered && instance.state === 'running' && !swept;
  });
}

export const runsOnce: Checker = {
  name: 'never: an instance runs on two machines, of which none is to be swept',
  watch: checkOn(COPIES, (world) => {
    const seen = new Map<string, string>();
    for (const { machine, instance } of runningCopies(world)) {
      const other = seen.get(instance.id);
      if (other !== undefined) return `${instance.id} runs on ${other} and on ${machine.name}`;
      seen.set(instance.id, machine.name);
    }
    return undefined;
  }),
};

export const addressUsedOnce: Checker = {
  name: 'never: two instances run with one address, of which none is to be swept',
  watch: checkOn(COPIES, (world) => {
    const users = new Map<string, string>();
    for (const { machine, instance } of runningCopies(world)) {
      for (const { network, addresses } of instance.nics) {
        for (const ip of addresses) {
          const key = `${ip} of ${network}`;
          const other = users.get(key);
          if (other !== undefined && other !== instance.id)
            return `${key} is used by ${other} and by ${instance.id} on ${machine.name}`;
          users.set(key, instance.id);
        }
      }
    }
    return undefined;
  }),
};

const AMOUNTS = ['vcpus', 'memoryMiB', 'diskGiB'] as const;

export const machinesNotOversold: Checker = {
  name: 'never: a machine has more instances than fit on it',
  watch: checkOn(COPIES, (world) => {
    const copies = copiesIn(world).filter(({ swept }) => !swept);
    for (const machine of world.machines) {
      const host = world.truth.get(HOST, idOf(HOST, machine.name))?.doc;
      const here = copies.filter((copy) => copy.machine === machine);
      for (const what of host === undefined ? [] : AMOUNTS) {
        const taken = here.reduce((sum, { instance }) => sum + instance[what], 0);
        const total = allocatable(host as Host, what);
        if (taken > total) return `${machine.name} has ${taken} of ${total} ${what}`;
      }
    }
    return undefined;
  }),
};

function allocatable({ capacity }: Host, what: (typeof AMOUNTS)[number]): number {
  const { ratios } = capacity;
  return capacity[what] * { vcpus: ratios.vcpus, memoryMiB: ratios.memory, diskGiB: ratios.disk }[what];
}

// Managers that act on what they remember: calls to machines without the right to them. A machine that compares nothing is at the mercy of its manager's own
// clock; so these strike only where machines compare epochs.
import { MANAGER, NODE, type Manager, type Node } from '../../src/baremetal/index.ts';
import { managerLease } from '../../src/baremetal/model.ts';
import type { MachineCall } from '../../src/baremetal/drivers/inventory.ts';
import { idOf } from '../../src/fleet/index.ts';
import { areMachinesBlind } from '../world/managers/inventory-port.ts';
import type { SimManager } from '../world/managers/manager.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';
import { pickProcess } from './managers.ts';

/** As of a machine that was suspended: the clock of the process stood still, and it takes its lease for live when it wakes. */
export const managerSuspended: Fault = {
  name: 'manager-suspended',
  weight: 6,
  strike: (world) => {
    const program = areMachinesBlind(world) ? undefined : pickProcess(world)?.incarnation?.program;
    if (program === undefined) return undefined;
    const forMs = world.rng.between(8000, 60_000);
    program.pause(forMs);
    program.skewMs -= forMs;
    return `${program.name} for ${forMs} ms`;
  },
};

/** Many at a time: each reaches the server that decides when it is there, and only then. */
const CALLS = 6;

export const managerActsFromMemory: Fault = {
  name: 'manager-acts-from-memory',
  weight: 8,
  strike: (world) => {
    if (areMachinesBlind(world)) return undefined;
    const able = world.managers.filter(({ memory }) => memory.length > 0);
    if (able.length === 0) return undefined;
    const manager = world.rng.pick(able);
    const calls = Array.from({ length: CALLS }, () => recall(world, manager)).filter((call) => call !== undefined);
    for (const call of calls) {
      const afterMs = world.rng.below(3000);
      const text = `${call.action} of ${call.node} for ${call.instance} under ${call.nodeEpoch}`;
      world.scheduler.after(afterMs, `${manager.name} remembers: ${text}`, () => manager.callMachine(call));
    }
    return calls.length === 0 ? undefined : `${manager.name} ${calls.length} times`;
  },
};

/**
 * A call that its manager has no right to, now or ever again: an epoch does not come back, nor does a lease that has run out. Or, under a right that lasts,
 * one that was made before: what it was made for may be over.
 */
function recall(world: World, { name, memory }: SimManager): MachineCall | undefined {
  const made = world.rng.pick(memory);
  // Without the task that it was made for: a call whose task has ended is refused for that alone, and here its right is what is tried.
  const { task: _, ...args } = made.args;
  const call = { ...made, args };
  const node = world.truth.get(NODE, idOf(NODE, call.node))?.doc;
  const { manager = name, instance } = node ?? {};
  if (node === undefined || instance === undefined || node.epoch > call.nodeEpoch)
    return world.rng.chance(0.5) || instance === undefined ? asItWas(call, node) : { ...call, manager, instance };
  if (world.rng.chance(0.4)) return made;
  switch (world.rng.below(3)) {
    case 0:
      return { ...call, manager, nodeEpoch: node.epoch, instance: `not-${instance}` };
    case 1: {
      const others = world.managers.filter((one) => one.name !== manager);
      return others.length === 0
        ? undefined
        : { ...call, nodeEpoch: node.epoch, instance, manager: world.rng.pick(others).name };
    }
    default:
      return isLapsed(world, manager, node) ? { ...call, nodeEpoch: node.epoch, instance, manager } : undefined;
  }
}

function asItWas(call: MachineCall, node: Node | undefined): MachineCall | undefined {
  return node === undefined || node.epoch > call.nodeEpoch || node.instance === undefined ? call : undefined;
}

/** By the word of the store. */
function isLapsed({ disk, truth }: World, manager: string, { managerEpoch }: Node): boolean {
  const lease = disk.state.leases.get(managerLease(manager));
  const doc: Manager | undefined = truth.get(MANAGER, idOf(MANAGER, manager))?.doc;
  const isOver = lease === undefined || lease.expiresAtMs <= disk.nowMs() || lease.epoch !== managerEpoch;
  return isOver || doc?.leaseEpoch !== managerEpoch;
}

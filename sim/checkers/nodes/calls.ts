// The calls that machines got, compared with who had the right to them: by the documents, and by the store's own word on leases.
import { idOf, type AppliedChange, type Fleet } from '../../../src/fleet/index.ts';
import { MANAGER, NODE } from '../../../src/baremetal/index.ts';
import { settleMachine } from '../../../src/baremetal/drivers/simulated/machine.ts';
import {
  MACHINE,
  MACHINE_CALL,
  type Machine,
  type MachineCallNote,
} from '../../../src/baremetal/drivers/simulated/model.ts';
import { isOpen, ITEM, itemOfTask, taskId } from '../../../src/operations/index.ts';
import { areMachinesBlind } from '../../world/managers/inventory-port.ts';
import type { World } from '../../world/world.ts';
import type { Checker } from '../checker.ts';
import { latestNowMs } from './documents.ts';
import { LeaseBook } from './lease-book.ts';

interface Call {
  readonly id: string;
  readonly note: MachineCallNote;
  readonly node: string;
}

/** Those of managers, not the claims at an inventory. */
function callsIn(applied: readonly AppliedChange[]): Call[] {
  return applied.flatMap(({ kind, before, after }) => {
    if (kind !== MACHINE_CALL.name || before !== undefined || after === undefined) return [];
    const note = after.doc as MachineCallNote;
    return note.manager === undefined || note.node === undefined ? [] : [{ id: after.id, note, node: note.node }];
  });
}

function textOf({ note: { op, node, instance, manager, epoch } }: Call): string {
  return `${op} of ${node} for ${instance} by ${manager} under ${epoch}`;
}

export const callsEntitled: Checker = {
  name: 'never: a call to a machine without the right is accepted, or one that is refused changes something',
  watch: (violated, world) => {
    const leases = new LeaseBook(world);
    return {
      onLease: (change) => leases.note(change),
      onApplied: ({ truth, applied }) => {
        for (const call of callsIn(applied)) {
          const { accepted, result } = call.note;
          const problem = accepted ? lackOfRight(truth, { world, leases, call }) : undefined;
          if (problem !== undefined) violated(`${textOf(call)}: ${problem}`);
          if (result === 'fenced' && applied.length > 1) violated(`${textOf(call)} was refused, and changed something`);
        }
      },
    };
  },
};

interface CallContext {
  readonly world: World;
  readonly leases: LeaseBook;
  readonly call: Call;
}

function lackOfRight(truth: Fleet, { world, leases, call: { id, note, node } }: CallContext): string | undefined {
  const doc = truth.get(NODE, idOf(NODE, node))?.doc;
  const { manager = '', epoch, instance } = note;
  if (doc?.manager !== manager) return `its manager is ${doc?.manager}`;
  if (doc.epoch !== epoch) return `it is at epoch ${doc.epoch}`;
  if (doc.instance !== instance) return `it is the node of ${doc.instance}`;
  const registered = truth.get(MANAGER, idOf(MANAGER, manager))?.doc.leaseEpoch;
  const { managerEpoch = 0 } = doc;
  if (registered !== managerEpoch) return `it was acquired under lease ${managerEpoch}, and this is ${registered}`;
  const overForMs = (world.machineCallsAtMs.get(id) ?? 0) - leases.untilMs(manager, managerEpoch);
  return overForMs >= 0 ? `the lease had been over for ${overForMs} ms` : undefined;
}

/** Also where machines compare nothing: there the managers' own clocks have to keep them apart. */
export const callsApart: Checker = {
  name: 'never: the calls of two managers overlap on a node: one has an effect after one under a later epoch',
  watch: (violated) => {
    const latest = new Map<string, number>();
    return {
      onApplied: ({ applied }) => {
        for (const call of callsIn(applied)) {
          const { accepted, epoch = 0 } = call.note;
          if (!accepted) continue;
          const after = latest.get(call.node) ?? 0;
          if (epoch < after) violated(`${textOf(call)}: it had been called under ${after} before`);
          latest.set(call.node, Math.max(epoch, after));
        }
      },
    };
  },
};

export const callsForOwnInstance: Checker = {
  name: 'never: a call for an instance has an effect on the machine of another',
  watch: (violated, world) => ({
    onApplied: ({ truth, applied }) => {
      for (const call of callsIn(applied)) {
        const { instance } = machineBefore(world, truth, applied, call.node);
        if (call.note.accepted && instance !== undefined && instance !== call.note.instance)
          violated(`${textOf(call)}: the machine was that of ${instance}`);
      }
    },
  }),
};

function machineBefore(world: World, truth: Fleet, applied: readonly AppliedChange[], node: string): Machine {
  const change = applied.find(({ kind, after }) => kind === MACHINE.name && after?.id === node);
  const doc = change === undefined ? truth.get(MACHINE, idOf(MACHINE, node))?.doc : change.before?.doc;
  const empty: Machine = { epoch: 0, state: 'empty', power: 'off', ports: [] };
  return settleMachine((doc as Machine | undefined) ?? empty, latestNowMs(world));
}

/** A call that comes late comes from whoever has the right: what it was sent for is over. Nothing keeps it from a machine that compares nothing. */
export const callsAwaited: Checker = {
  name: 'never: a call has an effect on a machine once nothing waits for its task any more',
  watch: (violated, world) => ({
    onApplied: ({ truth, applied }) => {
      for (const call of callsIn(applied)) {
        const task = world.machineCallTasks.get(call.id);
        if (task === undefined || call.note.result !== 'applied' || areMachinesBlind({ truth })) continue;
        const item = truth.get(ITEM, itemOfTask(task));
        if (item === undefined || !isOpen(item.doc) || taskId(item) !== task)
          violated(`${textOf(call)} for task ${task}, which is over`);
      }
    },
  }),
};

/** A manager that continues a build finds what was deployed. Only a cleaning makes room for another deploy. */
export const deployedOnce: Checker = {
  name: 'never: an instance is deployed twice to a machine that was not cleaned in between',
  watch: (violated) => {
    const deployed = new Map<string, string | undefined>();
    return {
      onApplied: ({ applied }) => {
        for (const call of callsIn(applied)) {
          const { op, result, instance } = call.note;
          if (result !== 'applied') continue;
          if (op === 'clean') deployed.delete(call.node);
          if (op !== 'deploy') continue;
          if (deployed.has(call.node)) violated(`${textOf(call)}: it has ${deployed.get(call.node)}`);
          deployed.set(call.node, instance);
        }
      },
    };
  },
};

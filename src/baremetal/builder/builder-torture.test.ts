// The operations on instances on nodes, on the torture kit: every step twice, a failure and a crash at every write, a cancel at every step. Machines are
// called once for each step whatever happens.
import { idOf, mergeChanges, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { createInstances, deleteInstances, INSTANCE, type Instance } from '../../instances/index.ts';
import { createCommand } from '../../instances/reference-fixture.ts';
import type { Decision, Request } from '../../journal/index.ts';
import { ITEM, OPERATION, type OperationId, type OperationKind } from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import type { TortureSubject } from '../../operations/torture-world.ts';
import { MACHINE_CALL } from '../drivers/simulated/model.ts';
import { NODE } from '../model.ts';
import { baremetalBuild } from './build-operation.ts';
import { baremetalDelete, baremetalRelease, failOverdue } from './delete-operation.ts';
import { BUILDERS, fixtureN, NODE_KINDS, NODE_MODELS, NodesWorld } from './nodes-world-fixture.ts';
import { baremetalPower, switchPower } from './power-operation.ts';
import { WorkingManagers } from './working-managers-fixture.ts';

const BOTH = ['db-1', 'db-2'];
const DEADLINE_MS = 36_000_000;

/** The documents of a world after this much of its life, without its operations. */
async function playGround(play: (world: NodesWorld) => Promise<void>): Promise<Change[]> {
  const world = await NodesWorld.of(fixtureN(['seg0', 'seg0', 'seg2', 'seg2']), ['m1', 'm2']);
  await play(world);
  const { kinds } = world.fleet.registry;
  const left: readonly string[] = [OPERATION.name, ITEM.name, MACHINE_CALL.name];
  const kept = [...kinds.values()].filter(({ name }) => !left.includes(name));
  return kept.flatMap((kind) => [...world.fleet.all(kind)].map(({ id, doc }) => put(kind, id, doc)));
}

interface Asking {
  readonly operation: OperationId;
  readonly by: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

interface Rack {
  readonly name: string;
  readonly kind: OperationKind;
  readonly ground: readonly Change[];
  readonly start: (fleet: FleetReader, asking: Asking) => Decision<unknown>;
  /** The expected state of each instance. */
  readonly done: Partial<Instance> | 'gone';
  /** How often each machine is called for each of them, at least and at most. */
  readonly calls: Readonly<Record<string, number>>;
  readonly cancelled?: readonly Instance['state'][];
}

function registerRack({ name, kind, ground, start, done, calls, cancelled = [] }: Rack): void {
  let managers = new WorkingManagers(NODE_KINDS);
  const subject: TortureSubject = {
    name,
    models: NODE_MODELS,
    kind,
    prepare: ground,
    drivers: () => {
      managers = new WorkingManagers(NODE_KINDS);
      for (const one of ['m1', 'm2']) managers.running.add(one);
      return new Map();
    },
    start: (operation, nowMs): Request<unknown> => ({
      by: 'test',
      decide: (fleet) => start(fleet, { operation, by: 'test', nowMs, deadlineMs: DEADLINE_MS }),
    }),
    world: async (journal, nowMs) => {
      for (const one of ['m1', 'm2']) await managers.work(journal, one, nowMs);
    },
    wrongWhenDone: (fleet) => [...BOTH.flatMap((id) => wrongState(fleet, id, done)), ...wrongCalls(fleet, calls)],
    wrongWhenCancelled: (fleet) =>
      BOTH.flatMap((id) => {
        const state = fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc.state;
        return state === undefined || cancelled.includes(state) ? [] : [`${id} is ${state}`];
      }),
  };
  torture(subject);
}

function wrongState(fleet: FleetReader, id: string, done: Rack['done']): string[] {
  const doc = fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc;
  const nodes = [...fleet.all(NODE)].filter((node) => node.doc.instance === id);
  if (done === 'gone') return doc === undefined && nodes.length === 0 ? [] : [`${id} is still there`];
  const expected = JSON.stringify({ state: done.state, power: done.power });
  const is = JSON.stringify({ state: doc?.state, power: doc?.power });
  const isPlaced = doc?.node === nodes[0]?.id && nodes.length <= 1;
  return [...(is === expected ? [] : [`${id}: ${is}`]), ...(isPlaced ? [] : [`${id} is on ${nodes.length} nodes`])];
}

function wrongCalls(fleet: FleetReader, calls: Rack['calls']): string[] {
  const made = [...fleet.all(MACHINE_CALL)].filter(({ doc }) => doc.result === 'applied');
  return Object.entries(calls).flatMap(([op, count]) => {
    const found = made.filter(({ doc }) => doc.op === op).length;
    return found === count ? [] : [`${op} was done ${found} times, not ${count}`];
  });
}

const empty = await playGround(async () => undefined);
const active = await playGround(async (world) => {
  await world.create({ count: 2 });
  await world.settle();
});
const hung = await playGround(async (world) => {
  await world.arm({ op: 'deploy', outcome: 'hang', times: 2 });
  await world.create({ count: 2 });
  await world.settle();
});

registerRack({
  name: 'baremetal-build',
  kind: baremetalBuild,
  ground: empty,
  start: (fleet, asking) =>
    createInstances(fleet, { ...createCommand('', 0, { name: 'db', flavor: 'metal', count: 2 }), ...asking }, BUILDERS),
  done: { state: 'active', power: 'on' },
  calls: { connect: 2, deploy: 2, clean: 0 },
  cancelled: ['active', 'deleting'],
});

registerRack({
  name: 'baremetal-delete',
  kind: baremetalDelete,
  ground: active,
  start: (fleet, asking) => deleteInstances(fleet, { ids: BOTH, ...asking }, BUILDERS),
  done: 'gone',
  calls: { disconnect: 2, clean: 2 },
});

registerRack({
  name: 'baremetal-power',
  kind: baremetalPower,
  ground: active,
  start: (fleet, asking) => {
    const off = switchPower(fleet, { id: 'db-1', power: 'off', ...asking });
    return off.kind === 'refuse' ? off : { ...off, changes: [...off.changes, ...alsoOff(off.changes)] };
  },
  done: { state: 'active', power: 'off' },
  calls: { 'power-off': 2 },
  cancelled: ['active'],
});

/** The same for the other one, as an item of the same operation. */
function alsoOff(changes: readonly Change[]): Change[] {
  return changes.flatMap(({ kind, id, doc }) =>
    kind === ITEM.name
      ? [{ kind, id: id.replace('db-1', 'db-2'), doc: { ...doc, target: { kind: INSTANCE.name, id: 'db-2' } } }]
      : [],
  );
}

registerRack({
  name: 'baremetal-release',
  kind: baremetalRelease,
  ground: hung,
  start: (fleet, { operation, nowMs }) => {
    const begun = BOTH.flatMap((id) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
      return instance === undefined ? [] : failOverdue(fleet, instance, id, nowMs);
    });
    return { kind: 'accept', changes: mergeChanges(joinOperations(begun, operation)), answer: null };
  },
  done: { state: 'error' },
  calls: { disconnect: 2, clean: 2 },
});

/** The kit follows one operation: the items of both belong to it. */
function joinOperations(changes: readonly Change[], operation: OperationId): Change[] {
  return changes.flatMap(({ kind, id, doc }): Change[] => {
    if (kind === OPERATION.name) return [{ kind, id: operation, doc }];
    if (kind !== ITEM.name) return [{ kind, id, doc }];
    return [{ kind, id: `${operation}.${id}`, doc: { ...doc, operation } }];
  });
}

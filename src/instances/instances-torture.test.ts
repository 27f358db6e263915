// The operations on instances on the torture kit: every step twice, a failure and a crash at every write, a cancel at every step. What runs where is
// outside the journal, and must come out the same.
import { idOf, mergeChanges, put, type Change, type FleetReader } from '../fleet/index.ts';
import type { Clock, Decision, Request } from '../journal/index.ts';
import { PORT, recordNetworkEvents, type NetworkEventReport } from '../network/index.ts';
import { NetworkDriver, SimulatedNetwork } from '../network/runtime.ts';
import { ITEM, OPERATION, type Driver, type OperationId, type OperationKind } from '../operations/index.ts';
import { torture } from '../operations/torture.ts';
import type { TortureSubject } from '../operations/torture-world.ts';
import { instanceBuild } from './build/operation.ts';
import { createInstances } from './build/create.ts';
import { instanceDelete } from './delete/delete.ts';
import { deleteInstances } from './delete/request.ts';
import { InstancesWorld } from './instances-fixture.ts';
import { Machines } from './machines-fixture.ts';
import { INSTANCE, type Instance } from './model.ts';
import { moveInstances } from './move/move.ts';
import { instanceMove } from './move/operation.ts';
import { isFencedOrRemoved } from './build/placement.ts';
import { instanceRebuild, rebuildInstances } from './shelve-rebuild/rebuild.ts';
import { createCommand, fixtureF, KINDS, MODELS } from './reference-fixture.ts';
import { shelveInstance, unshelveInstance } from './shelve-rebuild/shelve.ts';
import { instanceShelve } from './shelve-rebuild/shelve-operation.ts';

type BackEnd = Parameters<typeof fixtureF>[0];

const BOTH = ['web-1', 'web-2'];
const DEADLINE_MS = 36_000_000;

/** The result of a run: the documents, what runs on the machines, and the network's state. */
interface Ground {
  readonly documents: readonly Change[];
  readonly copies: ReadonlyMap<string, 'prepared' | 'running'>;
  readonly ports: Parameters<SimulatedNetwork['adopt']>[0];
}

async function buildGround(
  backEnd: BackEnd,
  more: (world: InstancesWorld) => Promise<void> = async () => undefined,
): Promise<Ground> {
  const world = await InstancesWorld.of(fixtureF(backEnd));
  await world.create({ count: BOTH.length });
  await world.settle();
  await more(world);
  await world.settle();
  const { kinds } = world.fleet.registry;
  const kept = [...kinds.values()].filter(({ name }) => name !== OPERATION.name && name !== ITEM.name);
  const documents = kept.flatMap((kind) => [...world.fleet.all(kind)].map(({ id, doc }) => put(kind, id, doc)));
  return { documents, copies: new Map(world.machines.copies), ports: [...world.fleet.all(PORT)] };
}

/** Time stands still at the network: no call takes any. */
const STILL: Clock = {
  nowMs: () => 0,
  sleep: (_ms, signal) => new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
  turn: async () => undefined,
};

/** The parts outside the journal, new for each run. */
class DriverWorld {
  readonly reports: NetworkEventReport[] = [];
  readonly network = new SimulatedNetwork({ clock: STILL, emit: (one) => this.reports.push(one) });
  readonly machines = new Machines(this.network.hostNetwork);

  constructor({ copies, ports }: Ground, faults: (machines: Machines, network: SimulatedNetwork) => void) {
    for (const [key, state] of copies) this.machines.copies.set(key, state);
    this.network.adopt(ports);
    faults(this.machines, this.network);
  }

  get drivers(): Map<string, Driver> {
    const backEnds = new Map([['simulated', this.network] as const]);
    return new Map([['network', new NetworkDriver({ clock: STILL, backEnds, hasCredentials: () => true })]]);
  }
}

interface Rack {
  readonly name: string;
  readonly kind: OperationKind;
  readonly ground: Ground;
  readonly ids?: readonly string[];
  readonly start: (fleet: FleetReader, command: Asking) => Decision<unknown>;
  readonly faults?: (machines: Machines, network: SimulatedNetwork) => void;
  /** The expected state of each instance. */
  readonly done: Partial<Instance> | 'gone';
  readonly cancelled?: readonly Instance['state'][];
}

interface Asking {
  readonly operation: OperationId;
  readonly by: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

function registerRack(rack: Rack): void {
  const { name, kind, ground, ids = BOTH, start, faults = () => undefined, done, cancelled = [] } = rack;
  let outside = new DriverWorld(ground, faults);
  const subject: TortureSubject = {
    name,
    models: MODELS,
    kind,
    prepare: ground.documents,
    drivers: () => (outside = new DriverWorld(ground, faults)).drivers,
    start: (operation, nowMs): Request<unknown> => ({
      by: 'test',
      decide: (fleet) => start(fleet, { operation, by: 'test', nowMs, deadlineMs: DEADLINE_MS }),
    }),
    world: async (journal, nowMs) => {
      const events = [...outside.reports];
      if (events.length > 0) {
        await journal.submit({
          by: 'network',
          decide: (fleet) => recordNetworkEvents(fleet, { events, nowMs }) as Decision<unknown>,
        });
        outside.reports.splice(0, events.length);
      }
      await outside.machines.answer(journal, KINDS, nowMs);
    },
    wrongWhenDone: (fleet) => ids.flatMap((id) => violationsOf(fleet, outside.machines, id, done)),
    wrongWhenCancelled: (fleet) =>
      ids.flatMap((id) => {
        const state = fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc.state;
        return state === undefined || cancelled.includes(state) ? [] : [`${id} is ${state}`];
      }),
  };
  torture(subject);
}

/** An instance must run at its recorded host and nowhere else; a host that was dead from the start is not checked. */
function violationsOf(fleet: FleetReader, machines: Machines, id: string, done: Rack['done']): string[] {
  const doc = fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc;
  const runs = machines.hostsRunning(id).filter((host) => !isFencedOrRemoved(fleet, host));
  if (done === 'gone') return doc === undefined && runs.length === 0 ? [] : [`${id} is still there`];
  const is = { state: doc?.state, host: doc?.host };
  const expected = { state: done.state, host: done.host };
  return [
    ...(JSON.stringify(is) === JSON.stringify(expected) ? [] : [`${id}: ${JSON.stringify(is)}`]),
    ...(String(runs) === (doc?.host ?? '') ? [] : [`${id} runs at ${runs.join(', ')}`]),
  ];
}

const emptyGround = (backEnd: BackEnd): Ground => ({
  documents: mergeChanges([...fixtureF(backEnd)]),
  copies: new Map(),
  ports: [],
});

for (const backEnd of ['embedded', 'simulated'] as const) {
  const active = await buildGround(backEnd);

  registerRack({
    name: `instance-build on ${backEnd}, with a host that fails`,
    kind: instanceBuild,
    ground: emptyGround(backEnd),
    faults: (machines) => machines.fail({ task: 'build', host: 'h2', times: 99 }),
    start: (fleet, command) =>
      createInstances(fleet, { ...createCommand('', 0, { count: BOTH.length, minCount: 1 }), ...command }),
    done: { state: 'active', host: 'h3' },
    cancelled: ['active', 'deleting'],
  });

  registerRack({
    name: `instance-delete on ${backEnd}`,
    kind: instanceDelete,
    ground: active,
    faults: (machines) => machines.fail({ task: 'destroy', times: 1 }),
    start: (fleet, command) => deleteInstances(fleet, { ids: BOTH, ...command }),
    done: 'gone',
  });

  registerRack({
    name: `instance-move on ${backEnd}, with a target that fails and one that hesitates`,
    kind: instanceMove,
    ground: active,
    faults: (machines) => {
      machines.fail({ task: 'prepare', host: 'h4', times: 99 });
      machines.fail({ task: 'activate', times: 1 });
      machines.fail({ task: 'destroy', times: 1 });
    },
    start: (fleet, command) => moveInstances(fleet, { ids: BOTH, kind: 'live', ...command }),
    done: { state: 'active', host: 'h5' },
  });

  registerRack({
    name: `instance-shelve on ${backEnd}`,
    kind: instanceShelve,
    ground: active,
    faults: (machines) => machines.fail({ task: 'destroy', times: 1 }),
    ids: ['web-1'],
    start: (fleet, command) => shelveInstance(fleet, { id: 'web-1', ...command, hasCredentials: true }),
    done: { state: 'shelved' },
  });
}

registerRack({
  name: 'instance-move on simulated, with a target that cannot connect the ports',
  kind: instanceMove,
  ground: await buildGround('simulated'),
  faults: (_machines, network) =>
    void network.faults.arm({ op: 'bind', host: 'h4', outcome: 'binding-failed', times: 99 }),
  start: (fleet, command) => moveInstances(fleet, { ids: BOTH, kind: 'live', ...command }),
  done: { state: 'active', host: 'h5' },
});

// These two use their back end as a build does.
const forcedDownGround = await buildGround('embedded', async (world) => {
  await world.disconnectHost('h2');
  await world.forceDown('h2');
});
const shelvedGround = await buildGround('embedded', async (world) => {
  const command = { operation: world.operation(), by: 'x', nowMs: world.nowMs, deadlineMs: DEADLINE_MS };
  await world.commit((fleet) => shelveInstance(fleet, { id: 'web-1', ...command, hasCredentials: true }));
});

registerRack({
  name: 'instance-rebuild, with a host that fails',
  kind: instanceRebuild,
  ground: forcedDownGround,
  faults: (machines) => machines.fail({ task: 'build', host: 'h4', times: 99 }),
  start: (fleet, command) => rebuildInstances(fleet, { ids: BOTH, ...command }),
  done: { state: 'active', host: 'h5' },
});

registerRack({
  name: 'instance-build from the shelf',
  kind: instanceBuild,
  ground: shelvedGround,
  ids: ['web-1'],
  start: (fleet, command) => unshelveInstance(fleet, { id: 'web-1', ...command, hasCredentials: true }),
  done: { state: 'active', host: 'h2' },
  cancelled: ['active', 'shelving', 'shelved'],
});

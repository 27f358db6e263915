// The operations on workers on the torture kit: each step twice, failures and crashes at every port call, cancels at each step. However it goes, no budget is broken,
// and cluster and journal agree at the end.
import { Fleet, idOf, put, Registry, type Change, type FleetReader } from '../../fleet/index.ts';
import { torture } from '../../operations/torture.ts';
import type { Driver, OperationId, OperationKind } from '../../operations/index.ts';
import type { Decision } from '../../journal/index.ts';
import { Builders, hostBuilder, INSTANCE, type Instance } from '../../instances/index.ts';
import { MemoryCluster } from '../cluster-api/simulated/memory-cluster.ts';
import { WORKER, WORKERS_BY_CLUSTER } from '../model.ts';
import { drainWorkers, removeWorkers, returnWorkers } from '../workers/decide.ts';
import {
  cluster,
  EDGE,
  joinsDriver,
  REACHED_BY_SSH,
  simulatedNode,
  worker,
  workload,
  WORKER_MODELS,
} from '../workers-fixture.ts';
import { JOINS_DRIVER } from '../join/join-order.ts';
import { MemoryMachine } from '../machines/memory-machine-fixture.ts';
import { workerDrain } from './drain-operation.ts';
import { NODES_DRIVER } from './node-order.ts';
import { NodesDriver } from './nodes-driver.ts';
import { workerRemove } from './remove-operation.ts';
import { workerReturn } from './return-operation.ts';

const NODES = ['a', 'b'];
const CORDON = { operation: 'op-0', atMs: 0, wasUnschedulable: false, wasExcluded: false, isConfirmed: true };

interface Rack {
  readonly name: string;
  readonly kind: OperationKind;
  readonly start: (fleet: FleetReader, operation: OperationId, nowMs: number) => Decision<unknown>;
  readonly isCordoned?: boolean;
  /** The machines of its workers are reached. */
  readonly hasInstances?: boolean;
  readonly wrong: (fleet: FleetReader, simulated: MemoryCluster) => readonly string[];
}

function instance(name: string): Change {
  const doc: Instance = {
    ...{ name, project: 'default', flavor: 'small', amounts: { vcpus: 1, memoryMiB: 1, diskGiB: 1 }, place: {} },
    ...{ state: 'active', nics: [], path: { create: 'conductor', bind: 'conductor' }, attempts: [], attemptsMax: 1 },
    ...{ wasActive: true, createdBy: 'ann', createdAtMs: 0, changedBy: 'ann', changedAtMs: 0 },
  };
  return put(INSTANCE, idOf(INSTANCE, name), doc);
}

/** Of the driver of machines, which looks up how these are reached. */
const CLUSTER_ALONE = new Fleet(new Registry(WORKER_MODELS));
CLUSTER_ALONE.apply(1, [cluster(REACHED_BY_SSH)]);
const PATIENT = { nowMs: () => 0, sleep: () => new Promise<never>(() => undefined), turn: async () => undefined };
let machine: MemoryMachine | undefined;

function register({ name, kind, start, isCordoned = false, hasInstances = false, wrong }: Rack): void {
  let nowMs = 1_000_000;
  let simulated = new MemoryCluster(EDGE, () => nowMs);
  const facts = isCordoned ? ({ state: 'drained', cordon: CORDON } as const) : {};
  const prepareWorker = (node: string) =>
    hasInstances ? [instance(node), worker(node, { instance: node })] : [worker(node, facts)];
  torture({
    name,
    models: WORKER_MODELS,
    kind,
    drivers: () => {
      nowMs = 1_000_000;
      simulated = new MemoryCluster(EDGE, () => nowMs);
      for (const node of [...NODES, 'c'])
        simulated.objects.nodes.put(node, simulatedNode(node, { isUnschedulable: isCordoned && node !== 'c' }));
      simulated.objects.workloads.put('web', workload('web', { replicas: 4, minAvailable: 3, startMs: 2000 }));
      simulated.look();
      const reached = new MemoryMachine(simulated);
      machine = reached;
      for (const node of NODES) reached.joined.add(node);
      const apis = { apiOf: () => simulated };
      return new Map<string, Driver>([
        [NODES_DRIVER, new NodesDriver(apis)],
        [JOINS_DRIVER, joinsDriver({ fleet: CLUSTER_ALONE }, PATIENT, apis, () => reached)],
      ]);
    },
    prepare: [cluster(hasInstances ? REACHED_BY_SSH : {}), ...NODES.flatMap(prepareWorker)],
    start: (operation, atMs) => ({ by: 'test', decide: (fleet) => start(fleet, operation, atMs) }),
    world: async (_journal, atMs) => {
      nowMs = Math.max(nowMs, atMs);
    },
    wrongWhenDone: (fleet) => [...brokenOrders(simulated), ...wrong(fleet, simulated)],
    wrongWhenCancelled: (fleet) => [...brokenOrders(simulated), ...heldVictims(fleet)],
  });
}

/** Evictions before all were cordoned, and Nodes that went before the last eviction. */
function brokenOrders({ calls }: MemoryCluster): string[] {
  const firstEviction = calls.findIndex(({ call }) => call === 'evict');
  const lastEviction = calls.findLastIndex(({ call }) => call === 'evict');
  const firstDeletion = calls.findIndex(({ call }) => call === 'deleteNode');
  const cordoned = new Set(
    calls.slice(0, firstEviction).flatMap(({ call, node }) => (call === 'markNode' ? [node] : [])),
  );
  return [
    ...(firstEviction >= 0 && cordoned.size < NODES.length
      ? ['a pod was evicted before all victims were cordoned']
      : []),
    ...(firstDeletion >= 0 && firstDeletion < lastEviction ? ['a Node was deleted before the last eviction'] : []),
  ];
}

/**
 * What a cancelled operation began with a worker is taken back by another one, which is not played here. A cancel that came after the last of them was drained
 * finds nothing to take back.
 */
function heldVictims(fleet: FleetReader): string[] {
  const held = [...fleet.find(WORKERS_BY_CLUSTER, EDGE)].filter(
    ({ doc: { cordon, state, work } }) => cordon !== undefined && state !== 'removing' && work === undefined,
  );
  const isOver = held.length === NODES.length && held.every(({ doc }) => doc.state === 'drained');
  return isOver ? [] : held.map(({ id, doc }) => `${id} is ${doc.state}`);
}

const request = (operation: OperationId, nowMs: number) => ({
  ...{ cluster: EDGE, operation, by: 'ann', nowMs, workers: { nodes: NODES } },
  policy: { deadlineMs: 24 * 3600 * 1000 },
});

register({
  name: 'worker-drain',
  kind: workerDrain,
  start: (fleet, operation, nowMs) => drainWorkers(fleet, request(operation, nowMs)),
  wrong: (fleet, simulated) =>
    NODES.flatMap((node) => [
      ...(simulated.look().readContents(node).pods.length > 0 ? [`${node} is not empty`] : []),
      ...(simulated.look().readNode(node)?.isUnschedulable === true ? [] : [`${node} is not cordoned`]),
      ...(stateOf(fleet, node) === 'drained' ? [] : [`${node} is ${stateOf(fleet, node)}`]),
    ]),
});

register({
  name: 'worker-remove',
  kind: workerRemove(new Builders([hostBuilder])),
  start: (fleet, operation, nowMs) => removeWorkers(fleet, request(operation, nowMs)),
  wrong: (fleet, simulated) => [
    ...simulated
      .look()
      .listNodes()
      .flatMap(({ name }) => (NODES.includes(name) ? [`Node ${name} is there`] : [])),
    ...NODES.flatMap((node) => (stateOf(fleet, node) === undefined ? [] : [`worker ${node} is there`])),
  ],
});

register({
  name: 'worker-remove-keeping-instances',
  kind: workerRemove(new Builders([hostBuilder])),
  hasInstances: true,
  start: (fleet, operation, nowMs) => removeWorkers(fleet, { ...request(operation, nowMs), keepsInstances: true }),
  wrong: (fleet, simulated) => [
    ...NODES.flatMap((node) => (simulated.look().readNode(node) === undefined ? [] : [`Node ${node} is there`])),
    ...NODES.flatMap((node) => (stateOf(fleet, node) === undefined ? [] : [`worker ${node} is there`])),
    ...[...(machine?.joined ?? [])].map((node) => `machine ${node} is in the cluster`),
    ...NODES.flatMap((node) => (fleet.get(INSTANCE, idOf(INSTANCE, node)) === undefined ? [`${node} is deleted`] : [])),
  ],
});

register({
  name: 'worker-return',
  kind: workerReturn,
  isCordoned: true,
  start: (fleet, operation, nowMs) =>
    returnWorkers(fleet, { cluster: EDGE, operation, by: 'ann', nowMs, nodes: NODES }),
  wrong: (fleet, simulated) =>
    NODES.flatMap((node) => [
      ...(simulated.look().readNode(node)?.isUnschedulable === false ? [] : [`${node} is cordoned`]),
      ...(stateOf(fleet, node) === 'in-service' ? [] : [`${node} is ${stateOf(fleet, node)}`]),
    ]),
});

function stateOf(fleet: FleetReader, node: string): string | undefined {
  return [...fleet.all(WORKER)].find(({ doc }) => doc.node === node)?.doc.state;
}

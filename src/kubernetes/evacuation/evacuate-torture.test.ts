// The drain of workers whose host leaves on the torture kit: each is cordoned, waits for its turn, and is emptied within its budgets, however it goes. Whoever moves
// instances and gives workers back is played beside it.
import { idOf, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { HOST } from '../../hosts/index.ts';
import { createInstances, INSTANCE } from '../../instances/index.ts';
import { createCommand, fixtureF } from '../../instances/reference-fixture.ts';
import { accept, type Journal } from '../../journal/index.ts';
import { CLAIM, claimId } from '../../network/index.ts';
import { ITEM, newOperation, OPERATION, type OperationId } from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import { MemoryCluster } from '../cluster-api/simulated/memory-cluster.ts';
import { NODES_DRIVER } from '../drain/node-order.ts';
import { NodesDriver } from '../drain/nodes-driver.ts';
import { DEFAULT_DRAIN_POLICY, WORKER, WORKERS_BY_CLUSTER, type Worker } from '../model.ts';
import { assignWork, beginLeaving, resumeService, type StoredWorker } from '../workers/transitions.ts';
import { cluster, EDGE, simulatedNode, worker, workload, WORKER_MODELS } from '../workers-fixture.ts';
import { workerEvacuate } from './evacuate-operation.ts';
import { listTurns } from './leaving-workers.ts';

const LEAVERS = ['w-1', 'w-2'];
const STAYS = 'c';
const LEAVING_HOST = 'h2';
const OTHER_HOST = 'h4';
const POLICY = { ...DEFAULT_DRAIN_POLICY, deadlineMs: 24 * 3600 * 1000 };
const BY = 'test';

const START_MS = 1_000_000;
/** For so long its cordon is not taken. */
const LATE_MS = 30_000;
const [, LATE] = LEAVERS;

let nowMs = START_MS;
let startedAtMs = START_MS;
let simulated = new MemoryCluster(EDGE, () => nowMs);
/** What was wrong while it ran. */
let wrong: string[] = [];

torture({
  name: workerEvacuate.name,
  models: WORKER_MODELS,
  kind: workerEvacuate,
  drivers: () => {
    nowMs = START_MS;
    wrong = [];
    simulated = new MemoryCluster(EDGE, () => nowMs);
    for (const node of [...LEAVERS, STAYS]) simulated.objects.nodes.put(node, simulatedNode(node));
    simulated.objects.workloads.put('web', workload('web', { replicas: 4, minAvailable: 3, startMs: 2000 }));
    simulated.look();
    // The other one is cordoned and has its turn, and has to wait all the same.
    simulated.fault = (call, node) =>
      call === 'markNode' && node === LATE && nowMs < startedAtMs + LATE_MS ? 'unreachable' : undefined;
    return new Map([[NODES_DRIVER, new NodesDriver({ apiOf: () => simulated })]]);
  },
  prepare: [...fixtureF(), cluster(), worker(STAYS)],
  start: (operation, atMs) => ({ by: BY, decide: (fleet) => accept(leave(fleet, operation, atMs), null) }),
  world: async (journal, atMs) => {
    nowMs = Math.max(nowMs, atMs);
    wrong.push(...brokenTurns(journal.fleet));
    await moveDrained(journal);
  },
  wrongWhenDone: (fleet) => {
    // The world may not have played since the last step.
    const drained = listDrained(fleet);
    return [
      ...wrong,
      ...brokenOrders(),
      ...drained.flatMap(wrongDrained),
      ...drained.flatMap(wrongPods),
      ...held(fleet),
    ];
  },
  // It is not cancelled: its host comes back, or it continues.
  wrongWhenCancelled: () => ['it was cancelled'],
});

/** The host of two workers is emptied, and their drains begin. */
function leave(fleet: FleetReader, operation: OperationId, atMs: number): Change[] {
  startedAtMs = atMs;
  const scaleIn = idOf(OPERATION, 'op-scale-in');
  const host = fleet.get(HOST, idOf(HOST, LEAVING_HOST));
  if (host === undefined) throw new Error(`there is no host ${LEAVING_HOST}`);
  const leaving = { operation: scaleIn, drain: true, by: BY, atMs };
  return [
    put(HOST, host.id, { ...host.doc, state: 'draining', leaving }),
    ...newOperation({
      ...{
        id: scaleIn,
        kind: 'scale-in',
        title: `scale in ${LEAVING_HOST}`,
        by: BY,
        nowMs: atMs,
        deadlineMs: POLICY.deadlineMs,
      },
      items: [{ key: host.id, target: { kind: HOST.name, id: host.id }, step: 'drain' }],
    }),
    ...build(fleet, atMs),
    ...LEAVERS.map((node) => leaver(node, operation, atMs)),
    ...newOperation({
      ...{ id: operation, kind: workerEvacuate.name, title: 'drain workers: their host leaves', by: BY, nowMs: atMs },
      deadlineMs: POLICY.deadlineMs,
      items: LEAVERS.map((node) => ({
        key: idOfWorker(node),
        target: { kind: WORKER.name, id: idOfWorker(node) },
        step: 'inspect',
      })),
    }),
  ];
}

function idOfWorker(node: string): string {
  return `${EDGE}.${node}`;
}

function leaver(node: string, operation: OperationId, atMs: number): Change {
  const { doc } = worker(node, { instance: node }) as { doc: Worker };
  const assigned = assignWork(doc, { operation, policy: POLICY, by: BY, nowMs: atMs });
  return put(WORKER, idOf(WORKER, idOfWorker(node)), beginLeaving(assigned, { nowMs: atMs, hasTurn: false }));
}

/** Their instances, active on the host that leaves. */
function build(fleet: FleetReader, atMs: number): Change[] {
  const created = createInstances(fleet, createCommand('op-build', atMs, { name: 'w', count: LEAVERS.length }));
  if (created.kind !== 'accept') throw new Error('the instances are refused');
  const WORK: readonly string[] = [OPERATION.name, ITEM.name];
  return created.changes.flatMap((change) => {
    if (WORK.includes(change.kind)) return [];
    if (change.kind !== INSTANCE.name || !('doc' in change)) return [change];
    return [{ ...change, doc: { ...(change.doc as object), state: 'active', wasActive: true } }];
  });
}

function listDrained(fleet: FleetReader): StoredWorker[] {
  return [...fleet.find(WORKERS_BY_CLUSTER, EDGE)].filter(({ doc }) => doc.state === 'drained');
}

/** The instances of drained workers move, and the workers are given back where they run then: the turn of the next has come. */
async function moveDrained(journal: Journal): Promise<void> {
  const drained = listDrained(journal.fleet).filter(({ doc }) => doc.work === undefined);
  wrong.push(...drained.flatMap(wrongDrained), ...drained.flatMap(wrongPods));
  for (const { doc } of drained) {
    const node = simulated.objects.nodes.get(doc.node);
    if (node !== undefined)
      simulated.objects.nodes.put(doc.node, { ...node, isUnschedulable: false, isExcludedFromLoadBalancers: false });
  }
  if (drained.length > 0)
    await journal.submit({
      by: BY,
      decide: (fleet) =>
        accept(
          drained.flatMap((one) => giveBack(fleet, one)),
          null,
        ),
    });
}

function giveBack(fleet: FleetReader, { id, doc }: StoredWorker): Change[] {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, doc.instance ?? ''));
  const claim = instance && fleet.get(CLAIM, claimId(instance.id, 'home'));
  if (instance === undefined || claim === undefined) throw new Error(`${id} has no instance`);
  return [
    put(CLAIM, claim.id, { ...claim.doc, host: OTHER_HOST }),
    put(INSTANCE, instance.id, { ...instance.doc, host: OTHER_HOST }),
    put(WORKER, id, resumeService(doc, { by: BY, nowMs, keepsLeaving: false })),
  ];
}

function wrongDrained({ id, doc }: StoredWorker): string[] {
  const { leaving, cordon } = doc;
  return leaving?.turnAtMs !== undefined && cordon?.isConfirmed === true ? [] : [`${id} was drained out of its turn`];
}

function wrongPods({ id, doc }: StoredWorker): string[] {
  const { pods } = simulated.look().readContents(doc.node);
  return pods.length === 0 ? [] : [`${id} was drained with ${pods.length} pods`];
}

/** Each of them leaves once. */
function held(fleet: FleetReader): string[] {
  return [...fleet.find(WORKERS_BY_CLUSTER, EDGE)].flatMap(({ id, doc: { state, work, node } }) =>
    work === undefined && (state === 'drained' || state === 'in-service') && (node !== STAYS || state === 'in-service')
      ? []
      : [`${id} is ${state}, in the hands of ${work?.operation}`],
  );
}

/** No more at a time than the cluster says. */
function brokenTurns(fleet: FleetReader): string[] {
  const turns = listTurns(fleet, EDGE).map(({ id }) => id);
  return turns.length > 1 ? [`it is the turn of ${turns.join(' and ')}`] : [];
}

/** One worker stays: so all that leave are cordoned before the first of them is evicted from. No Node is deleted. */
function brokenOrders(): string[] {
  const { calls } = simulated;
  const firstEviction = calls.findIndex(({ call }) => call === 'evict');
  const cordoned = new Set(
    calls.slice(0, firstEviction).flatMap(({ call, node }) => (call === 'markNode' ? [node] : [])),
  );
  const evicted = new Set(calls.flatMap(({ call, node }) => (call === 'evict' ? [node] : [])));
  return [
    ...(LEAVERS.every((node) => cordoned.has(node) && evicted.has(node))
      ? []
      : ['a pod was evicted before both were cordoned']),
    ...([...evicted].every((node) => node === undefined || LEAVERS.includes(node))
      ? []
      : ['a pod that stays was evicted']),
    ...(calls.some(({ call }) => call === 'deleteNode') ? ['a Node was deleted'] : []),
  ];
}

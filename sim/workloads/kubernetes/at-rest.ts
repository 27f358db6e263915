// What must be true of clusters and workers once all faults are over: operations are finished or wait for a reason that is true, a cordon of Muster's has an operation that
// explains it, a Node has its server, and the documents say what the clusters show.
import { idOf } from '../../../src/fleet/index.ts';
import { INSTANCE } from '../../../src/instances/index.ts';
import { WORKER } from '../../../src/kubernetes/index.ts';
import { WORKER_JOIN } from '../../../src/kubernetes/join/model.ts';
import type { Readiness, Worker } from '../../../src/kubernetes/model.ts';
import { isBusy } from '../../../src/kubernetes/workers/busy.ts';
import type { ClusterNode } from '../../../src/kubernetes/cluster-api/cluster-api.ts';
import {
  isOpen,
  isUnfinished,
  ITEMS_BY_OPERATION,
  OPERATION,
  type Operation,
  type StoredItem,
} from '../../../src/operations/index.ts';
import { MARKS, type SimCluster } from '../../world/clusters/sim-cluster.ts';
import type { World } from '../../world/world.ts';
import { checkScaleInAtRest } from '../scale-in-at-rest.ts';

export function checkKubernetesAtRest(world: World): string[] {
  return [
    ...checkScaleInAtRest(world),
    ...[...world.truth.all(OPERATION)].flatMap(({ id, doc }) => operationAtRest(world, id, doc)),
    ...[...world.truth.all(WORKER)].flatMap(({ id, doc }) => workerAtRest(world, id, doc)),
    ...world.clusters.flatMap((cluster) => [
      ...unexplainedCordons(world, cluster),
      ...nodesWithoutServer(world, cluster),
      ...leftoverTokens(world, cluster),
    ]),
  ];
}

function operationAtRest(world: World, id: string, doc: Operation): string[] {
  if (!doc.kind.startsWith('worker-') || !isUnfinished(doc)) return [];
  if (doc.stopped === true) return [`operation ${id} was stopped by a fault of the program: ${doc.reason?.code}`];
  const open = [...world.truth.find(ITEMS_BY_OPERATION, id)].filter((item) => isOpen(item.doc));
  if (open.length === 0) return [`operation ${id} has nothing left to do and is not finished`];
  return open.flatMap((item) => {
    const { state, step, reason, target } = item.doc;
    if (isTrue(world, item)) return [];
    return [`${doc.kind} of ${target.id} is ${state} at ${step} (${JSON.stringify(reason ?? 'no reason')}), untruly`];
  });
}

/** Whether what it waits for is so in the cluster and in the fleet. */
function isTrue(world: World, { doc: { reason, target } }: StoredItem): boolean {
  const { truth } = world;
  const worker = truth.get(WORKER, idOf(WORKER, target.id))?.doc;
  if (worker === undefined) return false;
  const instance = truth.get(INSTANCE, idOf(INSTANCE, worker.instance ?? ''))?.doc;
  const contents = clusterOf(world, worker)?.memory.look().readContents(worker.node);
  switch (reason?.code) {
    case 'budget-blocks':
      return contents?.pods.some(({ owner }) => owner?.name === 'web') === true;
    case 'pods-leaving':
      return contents?.pods.some(({ owner }) => owner?.kind !== 'DaemonSet') === true;
    case 'instance-building':
    case 'instance-comes-back':
      return instance !== undefined && instance.state !== 'active';
    case 'failed-instance-deleting':
    case 'instance-deleting':
      return instance !== undefined;
    case 'node-awaited':
    case 'worker-not-joined':
      return contents?.node?.readiness !== 'ready';
    case 'drains-at-once':
      return hasTurn(world, String(reason['other']));
    case 'cluster-unreachable':
      return clusterOf(world, worker)?.silentKubelets.has(worker.node) === true || !hasPower(world, instance?.host);
    // Each of those others is assessed by itself.
    case 'others-to-cordon':
    case 'others-to-check':
    case 'others-to-drain':
    case 'joins-at-once':
    case 'token-awaited':
      return [...truth.all(WORKER)].some(({ id, doc }) => id !== target.id && isBusy(truth, doc));
    default:
      return false;
  }
}

/** In this world a kubelet without power answers as its cluster does when it is away. */
function hasPower({ machines }: World, host: string | undefined): boolean {
  return machines.find(({ name }) => name === host)?.powered !== false;
}

function hasTurn({ truth }: World, id: string): boolean {
  return truth.get(WORKER, idOf(WORKER, id))?.doc.leaving?.turnAtMs !== undefined;
}

function clusterOf({ clusters }: World, { cluster }: Worker): SimCluster | undefined {
  return clusters.find(({ name }) => name === cluster);
}

function nodeOf(world: World, worker: Worker): ClusterNode | undefined {
  return clusterOf(world, worker)?.memory.look().readNode(worker.node);
}

/** Of another Node of its name nothing is shown. */
function readinessOf({ nodeUid, providerId }: Worker, node: ClusterNode | undefined): Readiness {
  if (node === undefined) return 'missing';
  const saysSo = nodeUid === undefined && (providerId === undefined || providerId === node.providerId);
  return nodeUid === node.uid || saysSo ? node.readiness : 'replaced';
}

function workerAtRest(world: World, id: string, doc: Worker): string[] {
  if (isBusy(world.truth, doc)) return [];
  const node = nodeOf(world, doc);
  const readiness = readinessOf(doc, node);
  const cluster = clusterOf(world, doc);
  const isMeddled = cluster?.meddledNodes.has(doc.node) === true;
  return [
    ...(doc.readiness === readiness ? [] : [`worker ${id} is shown as ${doc.readiness}, and its Node is ${readiness}`]),
    ...(doc.state === 'in-service' && node === undefined && !isMeddled
      ? [`worker ${id} is in service and has no Node`]
      : []),
    ...(doc.state === 'drained' &&
    node?.isUnschedulable === false &&
    cluster?.uncordoned.has(node.uid) !== true &&
    !isMeddled
      ? [`worker ${id} is drained, and nothing keeps pods from its Node`]
      : []),
  ];
}

function unexplainedCordons(world: World, cluster: SimCluster): string[] {
  return cluster.memory.objects.nodes.list().flatMap(([name, node]) => {
    const ours = MARKS.filter((mark) => node[mark] && cluster.ownerOf(node.uid, mark) === 'muster');
    if (ours.length === 0) return [];
    const worker = world.truth.get(WORKER, idOf(WORKER, `${cluster.name}.${name}`))?.doc;
    if (worker !== undefined && isCordonExplained(world, worker)) return [];
    return [`Node ${name} of ${cluster.name} has ${ours.join(' and ')}, and is ${worker?.state ?? 'no worker'}`];
  });
}

/** By a drain that was done, that is open, or that failed. */
function isCordonExplained({ truth }: World, worker: Worker): boolean {
  // Its machine is lost, and its Node was to be deleted: that was cancelled.
  if (worker.state === 'joining' || worker.state === 'removing') return true;
  if (worker.cordon === undefined) return false;
  if (worker.state === 'drained') return true;
  const operation = truth.get(OPERATION, idOf(OPERATION, worker.work?.operation ?? ''))?.doc;
  return operation !== undefined && (isUnfinished(operation) || operation.state === 'failed');
}

/** Also one that is back in service: its document says nothing of that any more. */
function wasForced({ ledger }: World, id: string): boolean {
  return ledger.entries.some(({ changes }) =>
    changes.some(
      (change) =>
        change.kind === WORKER.name && change.id === id && (change.doc as Worker | null)?.forced !== undefined,
    ),
  );
}

function nodesWithoutServer(world: World, cluster: SimCluster): string[] {
  const { truth } = world;
  return cluster.memory.objects.nodes.list().flatMap(([name, node]) => {
    if (node.providerId === undefined || cluster.meddledNodes.has(name)) return [];
    const worker = truth.get(WORKER, idOf(WORKER, `${cluster.name}.${name}`))?.doc;
    if (worker === undefined) return [`Node ${name} of ${cluster.name} is no worker any more`];
    const isLeft = wasForced(world, `${cluster.name}.${name}`) || worker.state === 'removing' || isBusy(truth, worker);
    const hasServer = truth.get(INSTANCE, idOf(INSTANCE, worker.instance ?? '')) !== undefined;
    return hasServer || isLeft ? [] : [`Node ${name} of ${cluster.name} has no server: ${worker.instance}`];
  });
}

/** Every token of an operation that joins nothing any more is revoked. */
export function leftoverTokens({ truth }: World, { memory, name }: SimCluster): string[] {
  const used = new Set(
    [...truth.all(WORKER_JOIN)].flatMap(({ doc: { operation, token } }) => {
      const doc = truth.get(OPERATION, idOf(OPERATION, operation))?.doc;
      return doc !== undefined && isUnfinished(doc) ? [token.id] : [];
    }),
  );
  return memory.objects.tokens.list().flatMap(([id]) => (used.has(id) ? [] : [`token ${id} is left in ${name}`]));
}

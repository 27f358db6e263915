// What servers do to Nodes and pods, compared with whose victims they are: by the documents, and by the clusters themselves. Pods that must leave are determined here by
// themselves, independently of the product's plan.
import { idOf, type Fleet } from '../../../src/fleet/index.ts';
import { WORKER } from '../../../src/kubernetes/index.ts';
import type { Worker } from '../../../src/kubernetes/model.ts';
import { readinessOf } from '../../../src/kubernetes/cluster-api/simulated/advance.ts';
import type { SimulatedClusterNode, SimulatedPod } from '../../../src/kubernetes/cluster-api/simulated/objects.ts';
import { ITEMS_BY_OPERATION, OPERATION } from '../../../src/operations/index.ts';
import type { ActingOrder, ClusterCall, ClusterContents } from '../../world/clusters/cluster-calls.ts';
import { MARKS, type SimCluster } from '../../world/clusters/sim-cluster.ts';
import type { World } from '../../world/world.ts';
import type { Checker } from '../checker.ts';

/** A batch is cordoned as a whole. Whose host leaves is drained alone. */
const BATCHES: readonly string[] = ['worker-drain', 'worker-remove'];

interface Victim {
  readonly id: string;
  readonly doc: Worker;
  readonly node: SimulatedClusterNode | undefined;
}

function victimsOf(truth: Fleet, cluster: SimCluster, operation: string): Victim[] {
  const items = [...truth.find(ITEMS_BY_OPERATION, idOf(OPERATION, operation))];
  return items.flatMap(({ doc: { target, state } }) => {
    const worker = truth.get(WORKER, idOf(WORKER, target.id));
    if (worker === undefined || state === 'cancelled' || worker.doc.work?.operation !== operation) return [];
    const node = cluster.memory.objects.nodes.get(worker.doc.node);
    return [{ id: worker.id, doc: worker.doc, node }];
  });
}

function kindOf(truth: Fleet, operation: string): string | undefined {
  return truth.get(OPERATION, idOf(OPERATION, operation))?.doc.kind;
}

function describe({ cluster, acting, changed, program }: ClusterCall): string {
  const what = changed.call === 'evict' ? `${changed.pod.name} on ${changed.node}` : changed.node;
  return `${changed.call} ${what} of ${cluster.name} by ${program.name} for ${acting?.operation ?? 'nobody'}`;
}

export const cordonedBeforeEvicted: Checker = {
  name: 'never: a pod is evicted before all victims of its operation are cordoned',
  watch: (violated, world) => ({
    onClusterCall: (call) => {
      const { cluster, acting, changed } = call;
      if (changed.call !== 'evict') return;
      if (acting === undefined) return violated(describe(call));
      const isBatch = BATCHES.includes(kindOf(world.truth, acting.operation) ?? '');
      const open = victimsOf(world.truth, cluster, acting.operation).find(
        ({ doc, node }) =>
          (isBatch || doc.node === acting.order.node) &&
          node !== undefined &&
          node.uid === doc.nodeUid &&
          !node.isUnschedulable &&
          !cluster.uncordoned.has(node.uid),
      );
      if (open !== undefined) violated(`${describe(call)}: ${open.id} takes pods`);
    },
  }),
};

/** From here on a victim of a removal is drained. */
const DRAINED_STEPS: readonly string[] = ['detach', 'delete-node', 'delete-instance', 'await-instance', 'confirm'];

export const drainedBeforeDeleted: Checker = {
  name: 'never: a Node is deleted before every victim of its operation is drained',
  watch: (violated, world) => ({
    onClusterCall: (call) => {
      const { acting, changed } = call;
      if (changed.call !== 'deleteNode' || acting?.order.op !== 'delete') return;
      if (kindOf(world.truth, acting.operation) !== 'worker-remove') return;
      const items = [...world.truth.find(ITEMS_BY_OPERATION, idOf(OPERATION, acting.operation))];
      const other = items.find(({ doc: { state, step } }) => state !== 'done' && !DRAINED_STEPS.includes(step));
      // One that was removed behind its own deletion, and is tried again, needs no other.
      const isRetry =
        world.truth.get(WORKER, idOf(WORKER, `${call.cluster.name}.${changed.node}`))?.doc.nodeUid === undefined;
      if (other !== undefined && !isRetry)
        violated(`${describe(call)}: ${other.doc.target.id} is ${other.doc.state} at ${other.doc.step}`);
    },
  }),
};

export const victimsOnly: Checker = {
  name: 'never: a Node is touched that is no victim of the operation',
  watch: (violated, world) => ({
    onClusterServed: (call, before) => {
      const { changed } = call;
      if (changed.call === 'heartbeatNode') return;
      const problem = lackOfRight(world, call, before);
      if (problem !== undefined) violated(`${describe(call)}: ${problem}`);
    },
  }),
};

function lackOfRight(world: World, call: ClusterCall, before: ClusterContents): string | undefined {
  const { cluster, acting, changed } = call;
  if (acting === undefined) return 'no operation asked for it';
  const name =
    changed.call === 'evict' ? before.pods.get(`${changed.pod.namespace}.${changed.pod.name}`)?.node : changed.node;
  const node = name === undefined ? undefined : before.nodes.get(name);
  if (name === undefined || node === undefined) return undefined;
  const isTouched = hasChanged(cluster, call, before);
  if (!isTouched) return undefined;
  if (name !== acting.order.node) return `the order is about ${acting.order.node}`;
  const items = [...world.truth.find(ITEMS_BY_OPERATION, idOf(OPERATION, acting.operation))];
  const target = `${cluster.name}.${name}`;
  if (!items.some(({ doc }) => doc.target.id === target)) return 'it is none of the victims';
  if (node.isControlPlane) return 'it is of the control plane';
  return isOwn(world, target, node, acting) ? undefined : `the Node with UID ${node.uid} is another`;
}

function hasChanged({ memory: { objects } }: SimCluster, { changed }: ClusterCall, before: ClusterContents): boolean {
  switch (changed.call) {
    case 'evict': {
      const id = `${changed.pod.namespace}.${changed.pod.name}`;
      const [was, is] = [before.pods.get(id), objects.pods.get(id)];
      return was?.terminating === undefined && (is === undefined || is.terminating !== undefined);
    }
    case 'markNode': {
      const [was, is] = [before.nodes.get(changed.node), objects.nodes.get(changed.node)];
      return was !== undefined && is !== undefined && MARKS.some((mark) => was[mark] !== is[mark]);
    }
    default:
      return before.nodes.get(changed.node) !== undefined && objects.nodes.get(changed.node) === undefined;
  }
}

/** One that came back after its deletion is known by what it says of itself, where it says something. */
function isOwn(world: World, id: string, node: SimulatedClusterNode, { operation, order }: ActingOrder): boolean {
  const doc = world.truth.get(WORKER, idOf(WORKER, id))?.doc;
  const uid = uidAtStart(world, id, operation);
  const saysSo = doc?.providerId === undefined || doc.providerId === node.providerId;
  if (order.op === 'confirm-deleted' || uid === undefined) return saysSo;
  return uid === node.uid;
}

/** The Node that the worker had when the operation was accepted: from then on it is about that one. */
function uidAtStart({ ledger }: World, id: string, operation: string): string | undefined {
  let uid: string | undefined;
  for (const { changes } of ledger.entries) {
    for (const change of changes)
      if (change.kind === WORKER.name && change.id === id) uid = (change.doc as Worker | null)?.nodeUid;
    if (changes.some((change) => change.kind === OPERATION.name && change.id === operation)) return uid;
  }
  return uid;
}

export const deletedEmpty: Checker = {
  name: 'never: a Node is deleted with a pod on it that must leave',
  watch: (violated, world) => ({
    onClusterServed: (call, before) => {
      const { cluster, changed, acting } = call;
      if (changed.call !== 'deleteNode' || acting === undefined || acting.order.op === 'confirm-deleted') return;
      // Its machine is lost, and its pods with it.
      if (kindOf(world.truth, acting.operation) === 'worker-rejoin') return;
      const node = before.nodes.get(changed.node);
      if (node === undefined || !hasChanged(cluster, call, before) || cluster.uncordoned.has(node.uid)) return;
      const pods = podsToLeave(cluster, node, before.pods);
      if (pods.length > 0) violated(`${describe(call)}: ${pods.map(({ name }) => name).join(', ')}`);
    },
  }),
};

/** Whoever is silent ends none: those that are on their way out there are not waited for. */
export function podsToLeave(
  cluster: SimCluster,
  node: SimulatedClusterNode,
  pods: Iterable<readonly [string, SimulatedPod]>,
): SimulatedPod[] {
  const { workloads } = cluster.memory.objects;
  const isSilent = readinessOf(node, cluster.nowMs) === 'unknown' || cluster.silentKubelets.has(node.name);
  return [...pods].flatMap(([, pod]) => {
    const stays = workloads.get(pod.workload)?.ownerKind === 'DaemonSet' || (isSilent && pod.terminating !== undefined);
    return pod.node === node.name && !stays ? [pod] : [];
  });
}

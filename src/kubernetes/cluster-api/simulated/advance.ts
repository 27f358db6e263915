// What happens in a simulated cluster by itself: deleted pods are gone after their grace, workloads make the pods that they lack, and the
// scheduler places them on nodes that take pods. Called before every answer, with the time: nothing has to run in between.
import type { ClusterNode } from '../cluster-api.ts';
import {
  podId,
  type ClusterObjects,
  type SimulatedClusterNode,
  type SimulatedPod,
  type SimulatedWorkload,
} from './objects.ts';

/** As of a controller manager: a kubelet that is silent for so long is not known to be well. */
const SILENT_AFTER_MS = 40_000;

export function readinessOf(node: SimulatedClusterNode, nowMs: number): ClusterNode['readiness'] {
  const { renewedAtMs, isSick } = node;
  if (renewedAtMs !== undefined && nowMs - renewedAtMs > SILENT_AFTER_MS) return 'unknown';
  return isSick === true ? 'not-ready' : 'ready';
}

export function advanceCluster(objects: ClusterObjects, nowMs: number): void {
  endPods(objects, nowMs);
  for (const [id, workload] of objects.workloads.list()) makePods(objects, { id, workload }, nowMs);
}

/** A kubelet that does not answer ends nothing. */
function endPods({ pods, nodes }: ClusterObjects, nowMs: number): void {
  for (const [id, pod] of pods.list()) {
    const node = pod.node === undefined ? undefined : nodes.get(pod.node);
    const isOrphan = pod.node !== undefined && node === undefined;
    const hasEnded = pod.terminating !== undefined && pod.terminating.goneAtMs <= nowMs;
    const answers = node === undefined || readinessOf(node, nowMs) !== 'unknown';
    if (isOrphan || (hasEnded && answers)) pods.remove(id);
  }
}

interface NamedWorkload {
  readonly id: string;
  readonly workload: SimulatedWorkload;
}

function makePods(objects: ClusterObjects, named: NamedWorkload, nowMs: number): void {
  const { id, workload } = named;
  const own = objects.pods.list().filter(([, pod]) => pod.workload === id);
  for (const [podKey, pod] of own) {
    if (pod.node === undefined) placePod(objects, { key: podKey, pod, workload }, nowMs);
  }
  if (workload.ownerKind === 'none') return;
  const lacking =
    workload.ownerKind === 'DaemonSet' ? listLackingDaemons(objects, own, nowMs) : listLackingReplicas(named, own);
  let { nextPod } = workload;
  for (const node of lacking) {
    const name = `${workload.name}-${nextPod}`;
    nextPod += 1;
    const { cluster, namespace } = workload;
    const pod: SimulatedPod = { cluster, namespace, name, uid: `${id}-${nextPod}`, workload: id };
    const key = podId(namespace, name);
    if (node === undefined) placePod(objects, { key, pod, workload }, nowMs);
    else objects.pods.put(key, { ...pod, node, readyAtMs: nowMs + workload.startMs });
  }
  if (nextPod !== workload.nextPod) objects.workloads.put(id, { ...workload, nextPod });
}

type NamedPods = readonly (readonly [string, SimulatedPod])[];

function listLackingReplicas({ workload }: NamedWorkload, own: NamedPods): undefined[] {
  const present = own.filter(([, pod]) => pod.terminating === undefined).length;
  return Array.from({ length: Math.max(0, workload.replicas - present) }, () => undefined);
}

/** One on each node, cordoned or not. */
function listLackingDaemons({ nodes }: ClusterObjects, own: NamedPods, nowMs: number): string[] {
  const served = new Set(own.map(([, pod]) => pod.node));
  const names = nodes.list().filter(([, node]) => readinessOf(node, nowMs) === 'ready');
  return names.map(([name]) => name).filter((name) => !served.has(name));
}

interface PlacedPod {
  readonly key: string;
  readonly pod: SimulatedPod;
  readonly workload: SimulatedWorkload;
}

/** On the node with the fewest pods; it waits where no node takes any. */
function placePod(objects: ClusterObjects, { key, pod, workload }: PlacedPod, nowMs: number): void {
  const counts = new Map<string, number>();
  for (const [, { node }] of objects.pods.list()) {
    if (node !== undefined) counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  const takers = objects.nodes
    .list()
    .filter(([, node]) => !node.isUnschedulable && !node.isControlPlane && readinessOf(node, nowMs) === 'ready')
    .map(([name]) => name)
    .toSorted((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0));
  const [node] = takers;
  const placed = node === undefined ? pod : { ...pod, node, readyAtMs: nowMs + workload.startMs };
  objects.pods.put(key, placed);
}

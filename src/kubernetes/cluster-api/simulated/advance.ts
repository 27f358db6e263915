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
  const load = new NodeLoad(objects, nowMs);
  for (const [id, workload] of objects.workloads.list()) makePods(objects, { id, workload, load }, nowMs);
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
  readonly load: NodeLoad;
}

/** How many pods each node has that takes some: counted once for all that are placed at a time, when the first is. */
class NodeLoad {
  readonly #objects: ClusterObjects;
  readonly #nowMs: number;
  #counts: Map<string, number> | undefined;

  constructor(objects: ClusterObjects, nowMs: number) {
    this.#objects = objects;
    this.#nowMs = nowMs;
  }

  /** The node with the fewest, the first by name of those; it has one more then. */
  take(): string | undefined {
    const counts = (this.#counts ??= this.#count());
    let least: string | undefined;
    for (const [name, count] of counts) if (least === undefined || count < (counts.get(least) ?? 0)) least = name;
    if (least !== undefined) this.add(least);
    return least;
  }

  add(node: string): void {
    const count = this.#counts?.get(node);
    if (count !== undefined) this.#counts?.set(node, count + 1);
  }

  #count(): Map<string, number> {
    const { nodes, pods } = this.#objects;
    const takers = nodes
      .list()
      .filter(
        ([, node]) => !node.isUnschedulable && !node.isControlPlane && readinessOf(node, this.#nowMs) === 'ready',
      );
    const counts = new Map(takers.map(([name]) => [name, 0]));
    for (const [, { node }] of pods.list()) {
      const count = node === undefined ? undefined : counts.get(node);
      if (node !== undefined && count !== undefined) counts.set(node, count + 1);
    }
    return counts;
  }
}

function makePods(objects: ClusterObjects, named: NamedWorkload, nowMs: number): void {
  const { id, workload, load } = named;
  const own = objects.pods.list().filter(([, pod]) => pod.workload === id);
  for (const [podKey, pod] of own) {
    if (pod.node === undefined) placePod(objects, { key: podKey, pod, workload, load }, nowMs);
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
    if (node === undefined) placePod(objects, { key, pod, workload, load }, nowMs);
    else {
      objects.pods.put(key, { ...pod, node, readyAtMs: nowMs + workload.startMs });
      load.add(node);
    }
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
  readonly load: NodeLoad;
}

/** On the node with the fewest pods; it waits where no node takes any. */
function placePod(objects: ClusterObjects, { key, pod, workload, load }: PlacedPod, nowMs: number): void {
  const node = load.take();
  const placed = node === undefined ? pod : { ...pod, node, readyAtMs: nowMs + workload.startMs };
  objects.pods.put(key, placed);
}

// What the API of a simulated cluster answers, as a real one would: budgets refuse evictions, two budgets on one pod are an error, an eviction that is accepted
// leaves a pod that is terminating, and a deleted Node takes its pods with it.
import type {
  BootstrapToken,
  Budget,
  ClusterNode,
  EvictionAnswer,
  LocalVolume,
  NodeContents,
  NodeMarks,
  NodeRef,
  NodeRegistration,
  Pod,
  PodEviction,
} from '../cluster-api.ts';
import { advanceCluster, readinessOf } from './advance.ts';
import {
  podId,
  type ClusterObjects,
  type SimulatedClusterNode,
  type SimulatedPod,
  type SimulatedWorkload,
} from './objects.ts';

/** How soon a pod that ends willingly is gone. */
const PROMPT_END_MS = 500;
const LOCAL_CLAIM = 'local-data';

export class SimulatedCalls {
  readonly #objects: ClusterObjects;
  readonly #nowMs: number;

  constructor(objects: ClusterObjects, nowMs: number) {
    this.#objects = objects;
    this.#nowMs = nowMs;
    advanceCluster(objects, nowMs);
  }

  listNodes(): readonly ClusterNode[] {
    return this.#objects.nodes.list().map(([, node]) => describeNode(node, this.#nowMs));
  }

  readNode(name: string): ClusterNode | undefined {
    const node = this.#objects.nodes.get(name);
    return node === undefined ? undefined : describeNode(node, this.#nowMs);
  }

  markNode({ name, uid }: NodeRef, marks: NodeMarks): ClusterNode | undefined {
    const node = this.#objects.nodes.get(name);
    if (node === undefined || node.uid !== uid) return undefined;
    this.#objects.nodes.put(name, { ...node, ...marks, revision: node.revision + 1 });
    return this.readNode(name);
  }

  deleteNode({ name, uid }: NodeRef): 'deleted' | 'gone' {
    const { nodes, pods } = this.#objects;
    if (nodes.get(name)?.uid !== uid) return 'gone';
    nodes.remove(name);
    for (const [id, pod] of pods.list()) if (pod.node === name) pods.remove(id);
    return 'deleted';
  }

  readContents(name: string): NodeContents {
    const pods = this.#objects.pods.list().flatMap(([, pod]) => (pod.node === name ? [pod] : []));
    return {
      node: this.readNode(name),
      pods: pods.map((pod) => this.#describePod(pod)),
      budgets: this.#objects.workloads.list().flatMap(([id, workload]) => this.#budgetsOf(id, workload)),
      localVolumes: pods.flatMap((pod) => this.#localVolumesOf(pod)),
    };
  }

  evict({ namespace, name, uid, graceSeconds }: PodEviction): EvictionAnswer {
    const id = podId(namespace, name);
    const pod = this.#objects.pods.get(id);
    if (pod === undefined || pod.uid !== uid) return { kind: 'gone' };
    if (pod.terminating !== undefined) return { kind: 'accepted' };
    const workload = this.#workloadOf(pod);
    const budgets = this.#budgetsOf(pod.workload, workload);
    if (budgets.length > 1)
      return { kind: 'two-budgets', text: 'This pod has more than one PodDisruptionBudget, which is not supported' };
    const [budget] = budgets;
    if (budget !== undefined && budget.disruptionsAllowed === 0) {
      const text = `Cannot evict pod as it would violate the pod's disruption budget ${budget.name}`;
      return { kind: 'budget', budget: budget.name, text };
    }
    this.#objects.pods.put(id, { ...pod, terminating: { goneAtMs: this.#endOf(workload, graceSeconds) } });
    advanceCluster(this.#objects, this.#nowMs);
    return { kind: 'accepted' };
  }

  countVolumeAttachments(node: string): number {
    return this.#objects.nodes.get(node)?.attachedVolumes ?? 0;
  }

  createBootstrapToken({ id, expiresAtMs }: BootstrapToken): void {
    this.#objects.tokens.put(id, { cluster: this.#objects.cluster, expiresAtMs });
  }

  revokeBootstrapToken(id: string): void {
    this.#objects.tokens.remove(id);
  }

  heartbeatNode({ name, providerId }: NodeRegistration, uid: () => string): ClusterNode {
    const { nodes, cluster } = this.#objects;
    const before = nodes.get(name);
    const node: SimulatedClusterNode = before ?? {
      ...{ cluster, name, uid: uid(), revision: 1, createdAtMs: this.#nowMs },
      ...{ isUnschedulable: false, isExcludedFromLoadBalancers: false, isControlPlane: false, attachedVolumes: 0 },
      ...(providerId !== undefined && { providerId }),
    };
    nodes.put(name, { ...node, renewedAtMs: this.#nowMs });
    return describeNode({ ...node, renewedAtMs: this.#nowMs }, this.#nowMs);
  }

  #endOf({ ends, graceSeconds: own }: SimulatedWorkload, asked: number | undefined): number {
    const graceMs = (asked ?? own) * 1000;
    switch (ends) {
      case 'never':
        return Number.MAX_SAFE_INTEGER;
      case 'at-grace':
        return this.#nowMs + graceMs;
      default:
        return this.#nowMs + Math.min(graceMs, PROMPT_END_MS);
    }
  }

  #workloadOf(pod: SimulatedPod): SimulatedWorkload {
    const workload = this.#objects.workloads.get(pod.workload);
    if (workload === undefined) throw new Error(`pod ${pod.name} is of no workload`);
    return workload;
  }

  #isReady({ readyAtMs, terminating, node }: SimulatedPod): boolean {
    const at = node === undefined ? undefined : this.#objects.nodes.get(node);
    const isServed = at !== undefined && readinessOf(at, this.#nowMs) === 'ready';
    return isServed && terminating === undefined && readyAtMs !== undefined && readyAtMs <= this.#nowMs;
  }

  #budgetsOf(id: string, workload: SimulatedWorkload): Budget[] {
    const { namespace, name, minAvailable, hasSecondBudget } = workload;
    if (minAvailable === undefined) return [];
    const pods = this.#objects.pods.list().filter(([, pod]) => pod.workload === id);
    const ready = pods.filter(([, pod]) => this.#isReady(pod)).length;
    const selector = { matchLabels: { app: name } };
    const budget: Budget = { namespace, name, selector, disruptionsAllowed: Math.max(0, ready - minAvailable) };
    return hasSecondBudget === true ? [budget, { ...budget, name: `${name}-second` }] : [budget];
  }

  #describePod(pod: SimulatedPod): Pod {
    const workload = this.#workloadOf(pod);
    const { ownerKind, name: app, graceSeconds, hasEmptyDir, hasLocalVolume } = workload;
    const { namespace, name, uid } = pod;
    return {
      ...{ namespace, name, uid, labels: { app }, graceSeconds },
      ...(ownerKind !== 'none' && { owner: { kind: ownerKind, name: app, uid: pod.workload } }),
      isMirror: false,
      isFinished: false,
      isTerminating: pod.terminating !== undefined,
      isReady: this.#isReady(pod),
      hasEmptyDir: hasEmptyDir === true,
      claims: hasLocalVolume === true ? [LOCAL_CLAIM] : [],
    };
  }

  #localVolumesOf(pod: SimulatedPod): LocalVolume[] {
    const { hasLocalVolume } = this.#workloadOf(pod);
    const { namespace, name } = pod;
    return hasLocalVolume === true ? [{ namespace, claim: LOCAL_CLAIM, volume: `local-${name}` }] : [];
  }
}

function describeNode(node: SimulatedClusterNode, nowMs: number): ClusterNode {
  const { name, uid, revision, isUnschedulable, isExcludedFromLoadBalancers, isControlPlane, providerId } = node;
  return {
    ...{ name, uid, isUnschedulable, isExcludedFromLoadBalancers, isControlPlane, createdAtMs: node.createdAtMs },
    resourceVersion: String(revision),
    readiness: readinessOf(node, nowMs),
    ...(providerId !== undefined && { providerId }),
    kubeletVersion: 'v0.0.0-simulated',
  };
}

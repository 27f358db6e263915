// A Kubernetes cluster of the world: the simulated cluster in memory that ships with the product, the way to it, and what its own operators do there past Muster. It
// remembers whose mark each Node has: the cluster itself does not.
import { MemoryCluster } from '../../../src/kubernetes/cluster-api/simulated/memory-cluster.ts';
import type { SimulatedClusterNode, SimulatedWorkload } from '../../../src/kubernetes/cluster-api/simulated/objects.ts';
import { WORLD_BEGINS_MS } from '../../kernel/clock.ts';
import type { Rng } from '../../kernel/rng.ts';
import { NetworkPath } from '../network-path.ts';
import type { World } from '../world.ts';

export type Mark = 'isUnschedulable' | 'isExcludedFromLoadBalancers';
export const MARKS: readonly Mark[] = ['isUnschedulable', 'isExcludedFromLoadBalancers'];
export type MarkOwner = 'operator' | 'muster';

const LONG_AGO_MS = 10 * 60 * 1000;

export class SimCluster {
  readonly name: string;
  readonly memory: MemoryCluster;
  readonly path = new NetworkPath();
  readonly rng: Rng;
  /** How many of a hundred calls are answered by a status instead. */
  errorPercent = 0;
  /** How many of a hundred answers of the driver of nodes are lost, whatever it did. */
  lostReplyPercent = 0;
  /** Their kubelets say nothing. */
  readonly silentKubelets = new Set<string>();
  /** The Nodes that an operator has taken a cordon from, by UID: pods may come to them behind Muster's back. */
  readonly uncordoned = new Set<string>();
  /** The Nodes that an operator deleted or registered anew, by name. */
  readonly meddledNodes = new Set<string>();
  readonly #world: World;
  readonly #owners = new Map<string, MarkOwner>();
  #registered = 0;

  constructor(name: string, world: World) {
    this.name = name;
    this.#world = world;
    this.rng = world.rng.fork();
    this.memory = new MemoryCluster(name, () => this.nowMs);
  }

  get nowMs(): number {
    return WORLD_BEGINS_MS + this.#world.scheduler.nowMs;
  }

  heal(): void {
    this.path.heal();
    this.errorPercent = 0;
    this.lostReplyPercent = 0;
    for (const node of [...this.silentKubelets]) this.wakeKubelet(node);
    for (const [name, node] of this.memory.objects.nodes.list()) {
      const { isSick: _, ...well } = node;
      this.memory.objects.nodes.put(name, well);
    }
    this.endStuckPods();
  }

  /** What became of its marks by a call or by an operator. */
  noteMarks(before: SimulatedClusterNode | undefined, after: SimulatedClusterNode | undefined, owner: MarkOwner): void {
    if (before === undefined || after === undefined || before.uid !== after.uid) return;
    for (const mark of MARKS) {
      if (before[mark] === after[mark]) continue;
      const key = `${after.uid} ${mark}`;
      if (after[mark]) this.#owners.set(key, owner);
      else this.#owners.delete(key);
      if (mark !== 'isUnschedulable') continue;
      if (!after[mark] && owner === 'operator') this.uncordoned.add(after.uid);
      else this.uncordoned.delete(after.uid);
    }
  }

  ownerOf(uid: string, mark: Mark): MarkOwner | undefined {
    return this.#owners.get(`${uid} ${mark}`);
  }

  /** As `kubectl cordon`, `kubectl uncordon` and `kubectl label` do. */
  markByOperator(name: string, mark: Mark, isSet: boolean): void {
    const before = this.memory.objects.nodes.get(name);
    if (before === undefined) return;
    this.#world.scheduler.note('kubectl', `${mark} ${isSet ? 'set on' : 'taken from'} ${name}`);
    const after = { ...before, [mark]: isSet, revision: before.revision + 1 };
    this.memory.objects.nodes.put(name, after);
    this.noteMarks(before, after, 'operator');
    this.memory.look();
  }

  deleteByOperator(name: string): void {
    const node = this.memory.objects.nodes.get(name);
    if (node === undefined) return;
    this.memory.look().deleteNode(node);
    this.meddledNodes.add(name);
  }

  /** A kubelet that is started anew registers its Node again, under another UID. */
  registerAgain(name: string, providerId: string | undefined): void {
    if (this.memory.objects.nodes.get(name) !== undefined) return;
    this.#registered += 1;
    this.putNode(name, { uid: `again-${name}-${this.#registered}`, ...(providerId !== undefined && { providerId }) });
    this.meddledNodes.add(name);
  }

  putNode(name: string, facts: Partial<SimulatedClusterNode> = {}): void {
    this.memory.objects.nodes.put(name, {
      ...{ cluster: this.name, name, uid: `uid-${this.name}-${name}`, revision: 1, createdAtMs: this.nowMs },
      ...{ isUnschedulable: false, isExcludedFromLoadBalancers: false, isControlPlane: false, attachedVolumes: 0 },
      ...facts,
    });
  }

  putWorkload(name: string, facts: Partial<SimulatedWorkload>): void {
    const { cluster, objects } = { cluster: this.name, objects: this.memory.objects };
    objects.workloads.put(name, {
      ...{ cluster, namespace: 'default', name, ownerKind: 'ReplicaSet' as const, replicas: 1, graceSeconds: 2 },
      ...{ startMs: 1000, nextPod: 0, ...facts },
    });
    this.memory.look();
  }

  silenceKubelet(name: string): void {
    const node = this.memory.objects.nodes.get(name);
    if (node === undefined) return;
    this.silentKubelets.add(name);
    this.memory.objects.nodes.put(name, { ...node, renewedAtMs: this.nowMs - LONG_AGO_MS });
  }

  /** One that Muster does not renew is well from now on by itself. */
  wakeKubelet(name: string): void {
    this.silentKubelets.delete(name);
    const node = this.memory.objects.nodes.get(name);
    if (node === undefined) return;
    const { renewedAtMs: _, ...rest } = node;
    const isRenewed = node.providerId !== undefined;
    this.memory.objects.nodes.put(name, isRenewed ? { ...rest, renewedAtMs: this.nowMs } : rest);
  }

  /** Pods that would never end do now. */
  endStuckPods(): void {
    const { workloads, pods } = this.memory.objects;
    for (const [name, workload] of workloads.list()) {
      if (workload.ends !== 'never') continue;
      const { ends: _, ...rest } = workload;
      workloads.put(name, rest);
    }
    for (const [id, pod] of pods.list())
      if (pod.terminating !== undefined && pod.terminating.goneAtMs === Number.MAX_SAFE_INTEGER)
        pods.put(id, { ...pod, terminating: { goneAtMs: this.nowMs } });
  }
}

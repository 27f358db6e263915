// What others do at a cluster behind Muster's back: Nodes are cordoned, labelled, deleted and registered again, workloads are scaled, pods without a controller come.
import { idOf } from '../../../src/fleet/index.ts';
import { WORKER } from '../../../src/kubernetes/index.ts';
import { isBusy } from '../../../src/kubernetes/workers/busy.ts';
import { podId } from '../../../src/kubernetes/cluster-api/simulated/objects.ts';
import type { Rng } from '../../kernel/rng.ts';
import type { SimCluster } from '../../world/clusters/sim-cluster.ts';
import type { World } from '../../world/world.ts';

interface Act {
  readonly weight: number;
  readonly act: (cluster: SimCluster, node: string) => void;
}

export class Kubectl {
  readonly #world: World;
  readonly #rng: Rng;
  #pods = 0;

  constructor(world: World) {
    this.#world = world;
    this.#rng = world.rng.fork();
  }

  next(): void {
    const rng = this.#rng;
    const cluster = rng.pick(this.#world.clusters);
    const names = cluster.memory.objects.nodes.list().map(([name]) => name);
    const { act } = rng.pickWeighted<Act>([
      { weight: 6, act: (at, node) => this.#mark(at, node, 'isUnschedulable') },
      { weight: 8, act: (at, node) => at.markByOperator(node, 'isUnschedulable', false) },
      { weight: 3, act: (at, node) => this.#mark(at, node, 'isExcludedFromLoadBalancers') },
      { weight: 3, act: (at, node) => at.markByOperator(node, 'isExcludedFromLoadBalancers', false) },
      { weight: 2, act: (at, node) => this.#delete(at, node) },
      { weight: 4, act: (at) => this.#registerAgain(at) },
      { weight: 6, act: (at) => this.#scale(at) },
      { weight: 4, act: (at, node) => this.#bare(at, node) },
      { weight: 3, act: (at) => this.#removeBare(at) },
    ]);
    act(cluster, rng.pick(names));
  }

  /**
   * Not a Node that Muster has in hand: nothing in the cluster distinguishes a cordon that an operator makes there from one of Muster's, and `kubectl cordon` of a cordoned Node is
   * none.
   */
  #mark(cluster: SimCluster, node: string, mark: 'isUnschedulable' | 'isExcludedFromLoadBalancers'): void {
    const worker = this.#world.truth.get(WORKER, idOf(WORKER, `${cluster.name}.${node}`))?.doc;
    if (worker !== undefined && (worker.cordon !== undefined || isBusy(this.#world.truth, worker))) return;
    cluster.markByOperator(node, mark, true);
  }

  #delete(cluster: SimCluster, node: string): void {
    // Where pods can always go.
    if (cluster.memory.objects.nodes.get(node)?.isControlPlane === true || node === 'other') return;
    this.#world.scheduler.note('kubectl', `delete node ${node}`);
    cluster.deleteByOperator(node);
  }

  /** Of a worker, or one that was to be adopted. */
  #registerAgain(cluster: SimCluster): void {
    const { nodes } = cluster.memory.objects;
    const missing = [...cluster.meddledNodes].filter((name) => nodes.get(name) === undefined);
    if (missing.length === 0) return;
    const name = this.#rng.pick(missing);
    const worker = this.#world.truth.get(WORKER, idOf(WORKER, `${cluster.name}.${name}`))?.doc;
    this.#world.scheduler.note('kubectl', `registered again ${name}`);
    cluster.registerAgain(name, worker?.providerId);
  }

  #scale(cluster: SimCluster): void {
    const rng = this.#rng;
    const { workloads } = cluster.memory.objects;
    const name = rng.pick(['web', 'cache']);
    const workload = workloads.get(name);
    if (workload === undefined) return;
    const replicas = rng.between(2, 6);
    // Never so tight that no eviction is allowed for good.
    const budget =
      workload.minAvailable === undefined ? {} : { minAvailable: Math.max(0, replicas - rng.between(1, 2)) };
    workloads.put(name, { ...workload, replicas, ...budget });
    cluster.memory.look();
  }

  #bare(cluster: SimCluster, node: string): void {
    const at = cluster.memory.objects.nodes.get(node);
    if (at === undefined || at.isControlPlane || at.isUnschedulable) return;
    this.#pods += 1;
    const name = `bare-${this.#pods}`;
    cluster.memory.objects.pods.put(podId('default', name), {
      ...{ cluster: cluster.name, namespace: 'default', name, uid: `uid-${name}`, workload: 'bare', node },
      readyAtMs: cluster.nowMs,
    });
  }

  #removeBare(cluster: SimCluster): void {
    const { pods } = cluster.memory.objects;
    for (const [id, { workload }] of pods.list()) if (workload === 'bare') pods.remove(id);
  }
}

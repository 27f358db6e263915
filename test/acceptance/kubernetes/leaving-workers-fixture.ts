// Hosts that leave with workers of a simulated cluster on them. Whatever happens, no instance of a worker may begin to move while a pod is on its Node.
import { onTestFinished } from 'vitest';
import { accept } from '../../../src/journal/index.ts';
import { idOf, put, type AppliedChange, type Change } from '../../../src/fleet/index.ts';
import { INSTANCE, type Instance } from '../../../src/instances/index.ts';
import {
  CLUSTER,
  FleetObjects,
  registerCluster,
  SIMULATED_NODE,
  SIMULATED_POD,
  SIMULATED_WORKLOAD,
  SimulatedCalls,
  WORKER,
  type Cluster,
  type SimulatedClusterNode,
  type SimulatedPod,
  type SimulatedWorkload,
  type Worker,
} from '../../../src/kubernetes/decisions-fixture.ts';
import { ITEM, type Item } from '../../../src/operations/index.ts';
import { scaleInWorld, type ScaleInAcceptanceWorld, type ScaleInFixture } from '../scale-in/world-fixture.ts';

export const EDGE = 'edge';
const CHANGED = { changedBy: 'ann', changedAtMs: 0 };

export interface LeavingFixture {
  /** The host of each worker, in their order: `node-1` is on instance `w1`, and so on. */
  readonly workers: readonly string[];
  /** Nodes of the cluster that are no workers. */
  readonly otherNodes?: number;
  readonly pods?: { readonly replicas: number; readonly minAvailable?: number };
  readonly cluster?: Pick<Partial<Cluster>, 'whenHostLeaves' | 'drainsAtOnce'>;
  readonly world?: ScaleInFixture;
}

export class LeavingWorkers {
  readonly world: ScaleInAcceptanceWorld;
  /** Breaches of what must never be. */
  readonly breaches: string[] = [];
  /** What happened, in its order. */
  readonly timeline: string[] = [];
  /** How many workers were out of service at their turn, and how many Nodes were cordoned, at once at most. */
  outAtMost = 0;
  cordonedAtMost = 0;

  private constructor(world: ScaleInAcceptanceWorld) {
    this.world = world;
  }

  static async start({ workers, otherNodes = 0, pods, cluster, world: how }: LeavingFixture): Promise<LeavingWorkers> {
    const world = await scaleInWorld(how);
    const fixture = new LeavingWorkers(world);
    for (const [nth, host] of workers.entries()) await world.place(`w${nth + 1}`, host);
    const simulated = {
      nodes: workers.length + otherNodes,
      ...(pods !== undefined && { workloads: [{ name: 'web', ...pods }] }),
    };
    const change = { by: 'ann', nowMs: world.nowMs };
    await world.commit((fleet) =>
      registerCluster(fleet, { name: EDGE, kind: 'simulated', simulated, ...cluster }, change),
    );
    await world.put(...workers.map((_, nth) => fixture.#composeWorker(nth + 1)));
    await world.until('the cluster has answered', () => fixture.clusterDoc().state === 'reachable');
    await world.clock.pass(10_000);
    world.onCommit((applied) => fixture.#check(applied));
    onTestFinished(() => {
      if (fixture.breaches.length > 0) throw new Error(fixture.breaches.join('; '));
    });
    return fixture;
  }

  #composeWorker(nth: number): Change {
    const { nowMs } = this.world;
    const node = `node-${nth}`;
    const doc: Worker = {
      ...{ cluster: EDGE, node, nodeUid: `${EDGE}-${node}`, instance: `w${nth}`, state: 'in-service' },
      ...{ stateSinceMs: nowMs, readiness: 'ready', readinessSinceMs: nowMs, createdAtMs: nowMs, ...CHANGED },
    };
    return put(WORKER, idOf(WORKER, `${EDGE}.${node}`), doc);
  }

  #check(applied: readonly AppliedChange[]): void {
    for (const change of applied) {
      this.timeline.push(...describeChange(change));
      const { kind, before, after } = change;
      const [was, is] = [before?.doc as Instance | undefined, after?.doc as Instance | undefined];
      if (kind !== INSTANCE.name || was?.state !== 'active' || is?.state !== 'moving') continue;
      const isForced = this.worker(Number(after?.id.slice(1))).forced !== undefined;
      if (isForced || this.clusterDoc().whenHostLeaves === 'move') continue;
      const left = this.podsOn(`node-${after?.id.slice(1)}`);
      if (left.length > 0) this.breaches.push(`instance ${after?.id} moves with ${left.join()}`);
    }
    const cordoned = [...this.world.fleet.all(SIMULATED_NODE)].filter(({ doc }) => doc.isUnschedulable).length;
    this.cordonedAtMost = Math.max(this.cordonedAtMost, cordoned);
    const out = [...this.world.fleet.all(WORKER)].filter(({ doc }) => doc.leaving?.turnAtMs !== undefined);
    this.outAtMost = Math.max(this.outAtMost, out.filter(({ doc }) => doc.state !== 'in-service').length);
  }

  clusterDoc(): Cluster {
    const found = this.world.fleet.get(CLUSTER, idOf(CLUSTER, EDGE));
    if (found === undefined) throw new Error('there is no cluster');
    return found.doc;
  }

  worker(nth: number): Worker {
    const found = this.world.fleet.get(WORKER, idOf(WORKER, `${EDGE}.node-${nth}`));
    if (found === undefined) throw new Error(`there is no worker ${nth}`);
    return found.doc;
  }

  states(...nths: readonly number[]): string[] {
    return nths.map((nth) => this.worker(nth).state);
  }

  hostsOf(...nths: readonly number[]): (string | undefined)[] {
    return nths.map((nth) => this.world.instance(`w${nth}`).host);
  }

  #calls(): SimulatedCalls {
    return new SimulatedCalls(new FleetObjects(this.world.fleet, EDGE), this.world.nowMs);
  }

  podsOn(node: string): string[] {
    return this.#calls()
      .readContents(node)
      .pods.map(({ name }) => name);
  }

  isCordoned(nth: number): boolean | undefined {
    return this.#calls().readNode(`node-${nth}`)?.isUnschedulable;
  }

  hasNode(nth: number): boolean {
    return this.#calls().readNode(`node-${nth}`) !== undefined;
  }

  /** A change in the cluster that Muster does not make. */
  async change(edit: (objects: FleetObjects) => void): Promise<void> {
    await this.world.commit((fleet) => {
      const objects = new FleetObjects(fleet, EDGE);
      edit(objects);
      return accept(objects.changes(), null);
    });
  }

  async deploy(facts: Partial<SimulatedWorkload>): Promise<void> {
    const id = idOf(SIMULATED_WORKLOAD, `${EDGE}.web`);
    const before = this.world.fleet.get(SIMULATED_WORKLOAD, id)?.doc;
    if (before === undefined) throw new Error('nothing is deployed');
    await this.world.put(put(SIMULATED_WORKLOAD, id, { ...before, ...facts }));
  }

  /** The item of the last drain of a worker. */
  drainItem(nth: number): Item | undefined {
    const id = `${EDGE}.node-${nth}`;
    const operation = this.worker(nth).work?.operation;
    return this.world.fleet.get(ITEM, idOf(ITEM, `${operation}.${id}`))?.doc;
  }

  pendingPods(): string[] {
    return [...this.world.fleet.all(SIMULATED_POD)].flatMap(({ doc }) => (doc.node === undefined ? [doc.name] : []));
  }

  async cordonByHand(nth: number): Promise<void> {
    await this.change(({ nodes }) => {
      const node = nodes.get(`node-${nth}`);
      if (node !== undefined) nodes.put(`node-${nth}`, { ...node, isUnschedulable: true });
    });
  }

  async setReach(reach: Cluster['reach']): Promise<void> {
    await this.world.put(put(CLUSTER, idOf(CLUSTER, EDGE), { ...this.clusterDoc(), reach }));
  }

  /** Its kubelet registers it, as after a join by others. */
  async joinByHand(nth: number): Promise<void> {
    const name = `node-${nth}`;
    const uid = this.world.ids.next('uid');
    await this.change((objects) => new SimulatedCalls(objects, this.world.nowMs).heartbeatNode({ name }, () => uid));
  }

  async untilReturned(...nths: readonly number[]): Promise<void> {
    await this.world.until(`workers ${nths.join()} are back`, () =>
      nths.every((nth) => this.worker(nth).state === 'in-service' && this.worker(nth).leaving === undefined),
    );
  }
}

function describeChange({ kind, before, after }: AppliedChange): string[] {
  if (before === undefined || after === undefined) return [];
  if (kind === SIMULATED_NODE.name) {
    const [was, is] = [before.doc as SimulatedClusterNode, after.doc as SimulatedClusterNode];
    return was.isUnschedulable === is.isUnschedulable
      ? []
      : [`${is.isUnschedulable ? 'cordon' : 'uncordon'} ${is.name}`];
  }
  if (kind === SIMULATED_POD.name) {
    const [was, is] = [before.doc as SimulatedPod, after.doc as SimulatedPod];
    return was.terminating === undefined && is.terminating !== undefined ? [`evict ${is.name} from ${is.node}`] : [];
  }
  const [was, is] = [before.doc as Instance, after.doc as Instance];
  if (kind !== INSTANCE.name || was.host === is.host || is.host === undefined) return [];
  return [`move ${after.id} from ${was.host ?? 'nowhere'} to ${is.host}`];
}

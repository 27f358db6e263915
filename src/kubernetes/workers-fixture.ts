// A small control plane for tests of workers: a simulated cluster that outlives its servers, with a web service under a budget on its nodes, and every invariant
// checked after every commit.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../fleet/index.ts';
import type { Clock } from '../journal/index.ts';
import { TestWorld, type StartedServer } from '../hosts/world-fixture.ts';
import { hostBuilder, Builders, createInstances, INSTANCE } from '../instances/index.ts';
import { Machines } from '../instances/machines-fixture.ts';
import { createCommand, fixtureF, KINDS, MODELS } from '../instances/reference-fixture.ts';
import { NetworkDriver, SimulatedNetwork, simulatedBackEnds } from '../network/runtime.ts';
import {
  cancelOperation,
  retryOperation,
  type Driver,
  type OperationId,
  type OperationKind,
} from '../operations/index.ts';
import { OperationsController } from '../operations/runtime.ts';
import { MemoryCluster } from './cluster-api/simulated/memory-cluster.ts';
import type { SimulatedClusterNode, SimulatedWorkload } from './cluster-api/simulated/objects.ts';
import { workerDrain } from './drain/drain-operation.ts';
import { NODES_DRIVER } from './drain/node-order.ts';
import { NodesDriver, type ClusterApis } from './drain/nodes-driver.ts';
import { workerRemove } from './drain/remove-operation.ts';
import { workerReturn } from './drain/return-operation.ts';
import { kubernetesModel } from './fleet-model.ts';
import {
  CLUSTER,
  DEFAULT_DRAIN_POLICY,
  DRAIN_REPORT,
  WORKER,
  type Cluster,
  type DrainReport,
  type Worker,
} from './model.ts';
import { Secret } from '../access/index.ts';
import { workerAdd } from './join/add-operation.ts';
import type { AddWorkers, JoinInstances } from './join/decide.ts';
import { JOINS_DRIVER } from './join/join-order.ts';
import { JoinsDriver, type JoinsOptions } from './join/joins-driver.ts';
import { TokensController } from './join/tokens-controller.ts';
import { MemoryMachine } from './machines/memory-machine-fixture.ts';
import { SimulatedKubeletsController } from './machines/simulated-kubelets-controller.ts';
import { WORKER_JOIN, type WorkerJoin } from './join/model.ts';
import { returnWorkers, type DrainRequest, type RemoveRequest, type WorkersAnswer } from './workers/decide.ts';
import { workerLifecycle } from './workers/lifecycle.ts';

const BUILDERS = new Builders([hostBuilder]);
const LIFECYCLE = workerLifecycle(BUILDERS);

const WORKER_KINDS: ReadonlyMap<string, OperationKind> = new Map([
  ...KINDS,
  ...[workerAdd(BUILDERS), workerDrain, workerRemove(BUILDERS), workerReturn].map((kind) => [kind.name, kind] as const),
]);

export const WORKER_MODELS = [...MODELS, kubernetesModel];

const CHANGED = { changedBy: 'test', changedAtMs: 0 };
export const EDGE = 'edge';

export function cluster(facts: Partial<Cluster> = {}): Change {
  const doc: Cluster = {
    ...{ name: EDGE, kind: 'simulated', reach: 'none', drainPolicy: DEFAULT_DRAIN_POLICY },
    ...{ whenHostLeaves: 'drain', drainsAtOnce: 1, state: 'reachable', sinceMs: 0, ...CHANGED },
    ...facts,
  };
  return put(CLUSTER, idOf(CLUSTER, doc.name), doc);
}

export function worker(node: string, facts: Partial<Worker> = {}): Change {
  const doc: Worker = {
    ...{ cluster: EDGE, node, nodeUid: `uid-${node}`, state: 'in-service', stateSinceMs: 0, readiness: 'ready' },
    ...{ readinessSinceMs: 0, createdAtMs: 0, ...CHANGED },
    ...facts,
  };
  return put(WORKER, idOf(WORKER, `${doc.cluster}.${node}`), doc);
}

export function simulatedNode(name: string, facts: Partial<SimulatedClusterNode> = {}): SimulatedClusterNode {
  return {
    ...{ cluster: EDGE, name, uid: `uid-${name}`, revision: 1, isUnschedulable: false, createdAtMs: 0 },
    ...{ isExcludedFromLoadBalancers: false, isControlPlane: false, attachedVolumes: 0, ...facts },
  };
}

export function workload(name: string, facts: Partial<SimulatedWorkload> = {}): SimulatedWorkload {
  return {
    ...{ cluster: EDGE, namespace: 'default', name, ownerKind: 'ReplicaSet', replicas: 2, graceSeconds: 30 },
    ...{ startMs: 0, nextPod: 0, ...facts },
  };
}

/** Opens to what tests join by: it is sealed by no key. */
export const SEALED_TOKEN = `sealed.0000000000000000.${'A'.repeat(38)}`;
const TOKEN_SECRET = '0123456789abcdef';
const LOGIN = JSON.stringify({ kind: 'password', password: 'of-the-test' });
const OPENED = {
  unseal: ({ kind }: { readonly kind: string }) => ({
    kind: 'secret' as const,
    secret: new Secret(kind === CLUSTER.name ? LOGIN : TOKEN_SECRET),
  }),
};

/** A cluster whose machines are reached by SSH. */
export const REACHED_BY_SSH: Partial<Cluster> = {
  ...{ reach: 'ssh', caPin: `sha256:${'0'.repeat(64)}`, joinEndpoint: 'edge:6443' },
  ssh: {
    ...{ user: 'root', port: 22, address: '{node}.lan', hostKeys: 'pinned', knownHosts: [], proof: 'password' },
    credentials: SEALED_TOKEN,
  },
};

export const TEMPLATE = {
  ...{ flavor: 'small', project: 'default', place: {}, networks: [{ network: 'n' }] },
  ...{ admin: true, hasCredentials: true },
};

export class WorkersWorld extends TestWorld {
  readonly cluster = new MemoryCluster(EDGE, () => this.clock.now);
  readonly network = new SimulatedNetwork({ clock: this.clock, emit: () => undefined });
  /** Stands for the machines of all workers of a cluster that reaches them by SSH. */
  readonly machine = new MemoryMachine(this.cluster);
  readonly machines = new Machines(this.network.hostNetwork);

  /** Nodes a, b, c and so on, of which all are workers, and a web service on them. */
  static async of(nodes: readonly string[], ...workloads: readonly SimulatedWorkload[]): Promise<WorkersWorld> {
    const world = new WorkersWorld(WORKER_MODELS);
    await world.restart();
    await world.put(...fixtureF(), cluster(), ...nodes.map((node) => worker(node)));
    for (const node of nodes) world.cluster.objects.nodes.put(node, simulatedNode(node));
    for (const one of workloads) world.cluster.objects.workloads.put(one.name, one);
    world.cluster.look();
    return world;
  }

  #tokens: TokensController | undefined;
  #kubelets: SimulatedKubeletsController | undefined;

  /** A cluster that new workers join, and no Node in it yet. */
  static async joinable(facts: Partial<Cluster> = {}): Promise<WorkersWorld> {
    const world = await WorkersWorld.of([]);
    await world.put(cluster({ reach: 'simulated', ...facts }));
    return world;
  }

  protected override get tickMs(): number {
    return 1000;
  }

  protected override begin({ journal, clock, log }: StartedServer): OperationsController {
    const apis = { apiOf: (name: string) => (name === EDGE ? this.cluster : undefined) };
    const drivers = new Map<string, Driver>([
      ['network', new NetworkDriver({ clock, backEnds: simulatedBackEnds(this.network), hasCredentials: () => true })],
      ['views', { carryOut: async () => ({ kind: 'applied' }) }],
      [NODES_DRIVER, new NodesDriver(apis)],
    ]);
    // A cluster that answers at once is not too late: sleeps of tests are over at once.
    const patient = { ...clock, nowMs: () => clock.nowMs(), sleep: () => Promise.withResolvers<never>().promise };
    drivers.set(
      JOINS_DRIVER,
      joinsDriver(journal, patient, apis, () => this.machine),
    );
    this.#tokens = new TokensController({ journal, clock, log, apis });
    this.#kubelets = new SimulatedKubeletsController({ journal, clock, log, apis });
    return new OperationsController({ journal, clock: patient, kinds: WORKER_KINDS, drivers, log });
  }

  override async tick(): Promise<void> {
    await this.pass();
    await this.machines.answer(this.journal, WORKER_KINDS, this.nowMs);
    await this.#tokens?.reconcile();
    await this.#kubelets?.reconcile();
  }

  async ticks(count: number): Promise<void> {
    for (let nth = 0; nth < count; nth += 1) await this.tick();
  }

  /** Until the operation has ended, or `ticks` seconds have passed. */
  async runOperation(id: string, ticks = 400): Promise<string | undefined> {
    for (let nth = 0; nth < ticks && this.operationDoc(id)?.finishedAtMs === undefined; nth += 1) await this.tick();
    return this.operationDoc(id)?.state;
  }

  /** An instance for a node, active. */
  async build(name: string): Promise<void> {
    await this.buildInstance(name);
    await this.put(worker(name, { instance: name }));
  }

  /** One that is no worker. */
  async buildInstance(name: string): Promise<void> {
    const command = createCommand(this.operation(), this.nowMs, { name });
    await this.commit((fleet) => createInstances(fleet, command));
    await this.settle();
  }

  hasInstance(name: string): boolean {
    return this.fleet.get(INSTANCE, idOf(INSTANCE, name)) !== undefined;
  }

  #added = 0;

  addRequest(facts: Partial<AddWorkers> = {}): AddWorkers {
    const { count = 1 } = facts;
    this.#added += 1;
    const ids = Array.from({ length: count }, (_, nth) => `w-${this.#added}${String(nth).padStart(7, '0')}`);
    return {
      ...{ cluster: EDGE, operation: this.operation(), by: 'ann', nowMs: this.nowMs, count, ids },
      ...{ template: TEMPLATE, token: { id: 'abcdef', sealedSecret: SEALED_TOKEN } },
      ...facts,
    };
  }

  async add(facts: Partial<AddWorkers> = {}): Promise<WorkersAnswer> {
    const request = this.addRequest(facts);
    return this.commit((fleet) => LIFECYCLE.join(fleet, request));
  }

  refuseAdd(facts: Partial<AddWorkers>): Promise<Refusal> {
    const request = this.addRequest(facts);
    return this.refusal((fleet) => LIFECYCLE.join(fleet, request));
  }

  async join(workers: JoinInstances['workers']): Promise<WorkersAnswer> {
    const request = this.#joinRequest(workers);
    return this.commit((fleet) => LIFECYCLE.join(fleet, request));
  }

  refuseJoin(workers: JoinInstances['workers']): Promise<Refusal> {
    const request = this.#joinRequest(workers);
    return this.refusal((fleet) => LIFECYCLE.join(fleet, request));
  }

  #joinRequest(workers: JoinInstances['workers']): JoinInstances {
    const { ids: _, count: __, template: ___, ...request } = this.addRequest();
    return { ...request, workers };
  }

  joinDoc(operation: string): WorkerJoin | undefined {
    return this.fleet.get(WORKER_JOIN, idOf(WORKER_JOIN, operation))?.doc;
  }

  instances(): string[] {
    return [...this.fleet.all(INSTANCE)].map(({ id }) => id);
  }

  async drain(nodes: readonly string[], facts: Partial<DrainRequest> = {}): Promise<OperationId> {
    const request = this.#request({ workers: { nodes }, ...facts });
    return (await this.commit((fleet) => LIFECYCLE.drain(fleet, request))).operation;
  }

  refuseDrain(facts: Partial<DrainRequest>): Promise<Refusal> {
    return this.refusal((fleet) => LIFECYCLE.drain(fleet, this.#request(facts)));
  }

  async remove(nodes: readonly string[], facts: Partial<RemoveRequest> = {}): Promise<OperationId> {
    const request = this.#request({ workers: { nodes }, ...facts });
    return (await this.commit((fleet) => LIFECYCLE.leave(fleet, request))).operation;
  }

  async giveBack(nodes: readonly string[]): Promise<OperationId> {
    const request = { ...this.#request({}), nodes };
    return (await this.commit((fleet) => returnWorkers(fleet, request))).operation;
  }

  async cancel(id: string): Promise<void> {
    await this.commit((fleet) => cancelOperation(fleet, { id, kinds: WORKER_KINDS, nowMs: this.nowMs }));
  }

  async retry(id: string): Promise<void> {
    await this.commit((fleet) => retryOperation(fleet, { id, kinds: WORKER_KINDS, nowMs: this.nowMs }));
  }

  worker(node: string): Worker | undefined {
    return this.fleet.get(WORKER, idOf(WORKER, `${EDGE}.${node}`))?.doc;
  }

  report(node: string): DrainReport | undefined {
    return this.fleet.get(DRAIN_REPORT, idOf(DRAIN_REPORT, `${EDGE}.${node}`))?.doc;
  }

  podsOn(node: string): string[] {
    return this.cluster
      .look()
      .readContents(node)
      .pods.map(({ name }) => name);
  }

  isCordoned(node: string): boolean | undefined {
    return this.cluster.look().readNode(node)?.isUnschedulable;
  }

  /** `evict a default/web-0`: what changed something, in its order. */
  effects(): string[] {
    const changing: readonly string[] = ['markNode', 'deleteNode', 'evict'];
    return this.cluster.calls.flatMap(({ call, node, what }) =>
      changing.includes(call) ? [`${call} ${node} ${what}`] : [],
    );
  }

  #request(facts: Partial<RemoveRequest>): RemoveRequest {
    const base = { cluster: EDGE, operation: this.operation(), by: 'ann', nowMs: this.nowMs, workers: { nodes: [] } };
    return { ...base, ...facts };
  }
}

export function joinsDriver(
  journal: { readonly fleet: FleetReader },
  clock: Clock,
  apis: ClusterApis,
  reachBySsh: JoinsOptions['reachBySsh'] = () => {
    throw new Error('no machine of this test is reached by SSH');
  },
): JoinsDriver {
  return new JoinsDriver({ journal, clock, apis, secrets: OPENED, reachBySsh, defaultScript: () => 'exit 0' });
}

// Kubernetes workers under load: they are added, adopted, drained, removed and given back while their hosts leave and die, their instances are moved, and the clusters'
// own operators do as they please.
import { readCluster } from '../../../src/kubernetes/cluster-api/read-cluster.ts';
import type { ClusterNode } from '../../../src/kubernetes/cluster-api/cluster-api.ts';
import { DEFAULT_DRAIN_POLICY } from '../../../src/kubernetes/model.ts';
import { WORKER } from '../../../src/kubernetes/index.ts';
import { CLUSTER_APIS } from '../../../src/kubernetes/service-keys.ts';
import { adoptNodes } from '../../../src/kubernetes/workers/adopt.ts';
import { previewWorker } from '../../../src/kubernetes/workers/preview.ts';
import { idOf } from '../../../src/fleet/index.ts';
import { INSTANCE } from '../../../src/instances/index.ts';
import { refuse } from '../../../src/journal/index.ts';
import type { OperatorCommand, Operator } from '../../world/operator.ts';
import type { World } from '../../world/world.ts';
import type { Workload } from '../workload.ts';
import { KubernetesActions } from './actions.ts';
import { checkKubernetesAtRest } from './at-rest.ts';
import { leftoverWorkers, removeAllWorkers } from './clean-up.ts';
import { HostActions } from './host-actions.ts';
import { Kubectl } from './kubectl.ts';
import { ADOPTABLE, KubernetesSetup } from './setup.ts';

interface Person {
  readonly name: string;
  readonly next: (tag: string) => OperatorCommand<unknown> | undefined;
  readonly pauseMs: number;
}

/** Longer than builds and joins take while nothing fails. */
const WORKERS_WAITED_MS = 30_000;
const WORKERS_FIRST = 4;

/** Some workers are in service before anything fails. */
async function prepare(world: World, setup: KubernetesSetup, workers: KubernetesActions): Promise<void> {
  await setup.create();
  const { operator } = setup.admin;
  for (const command of workers.firstRequests()) await setup.admin.insist(command);
  const untilMs = world.scheduler.nowMs + WORKERS_WAITED_MS;
  const inService = (): number => [...world.truth.all(WORKER)].filter(({ doc }) => doc.state === 'in-service').length;
  for (let count = 1; inService() < WORKERS_FIRST && world.scheduler.nowMs < untilMs; count += 1) {
    for (const node of ADOPTABLE)
      if (world.truth.get(INSTANCE, idOf(INSTANCE, node))?.doc.state === 'active')
        await adopt(world, operator, { tag: `first-adopt-${node}-${count}`, cluster: 'edge', node });
    await operator.pause(1000);
  }
}

async function run(world: World, workers: KubernetesActions, ready: Promise<void>): Promise<void> {
  await ready;
  const hosts = new HostActions(world);
  const people: Person[] = [
    { name: 'operator1', next: (tag) => workers.nextOfOperator(tag), pauseMs: 2500 },
    { name: 'operator2', next: (tag) => workers.nextOfOperator(tag), pauseMs: 6000 },
    { name: 'user', next: (tag) => workers.nextOfUser(tag), pauseMs: 4000 },
    { name: 'keeper', next: (tag) => hosts.next(tag), pauseMs: 7000 },
  ];
  await Promise.all([...people.map((person) => act(world, person)), adoptNow(world), meddle(world)]);
}

async function act(world: World, { name, next, pauseMs }: Person): Promise<void> {
  const operator = world.newOperator(name);
  for (let count = 1; world.isTroubled; count += 1) {
    const command = next(`${name}-${count}`);
    if (command !== undefined) await operator.ask(command);
    await operator.pause(world.rng.between(50, pauseMs));
  }
}

/** Nodes that are there are adopted, and what would become of workers' pods is looked at. */
async function adoptNow(world: World): Promise<void> {
  const operator = world.newOperator('adopter');
  for (let count = 1; world.isTroubled; count += 1) {
    if (world.rng.chance(0.6)) await adoptSome(world, operator, `adopter-${count}`);
    else await preview(world, operator, `previewer-${count}`);
    await operator.pause(world.rng.between(500, 8000));
  }
}

async function adoptSome(world: World, operator: Operator, tag: string): Promise<void> {
  const { rng, truth } = world;
  const { name: cluster, memory } = rng.pick(world.clusters);
  const free = memory.objects.nodes.list().flatMap(([node, { isControlPlane }]) => {
    const isOther = node === 'other' || (isControlPlane && rng.chance(0.8));
    const worker = truth.get(WORKER, idOf(WORKER, `${cluster}.${node}`))?.doc;
    // Of one that was registered again it is said that it is the same machine.
    const isKnown = worker !== undefined && worker.readiness !== 'replaced';
    return isOther || isKnown ? [] : [node];
  });
  if (free.length > 0) await adopt(world, operator, { tag, cluster, node: rng.pick(free) });
}

interface Adoption {
  readonly tag: string;
  readonly cluster: string;
  readonly node: string;
}

async function adopt(world: World, operator: Operator, { tag, cluster, node }: Adoption): Promise<void> {
  const { truth } = world;
  if (truth.get(WORKER, idOf(WORKER, `${cluster}.${node}`)) !== undefined) return;
  const hasInstance = truth.get(INSTANCE, idOf(INSTANCE, node))?.doc.state === 'active';
  const adopted = { node, ...(hasInstance && { instance: node }) };
  await operator.askServer({
    tag,
    serve: async (life) => {
      const found = await readCluster(life.runtime.get(CLUSTER_APIS), cluster, {
        look: (api) => api.listNodes(ALONE),
        ...ALONE,
      });
      if ('code' in found) return { kind: 'refused', refusal: found, revision: life.journal.fleet.revision };
      const seen = new Map(found.seen.map((one: ClusterNode) => [one.name, one]));
      const nowMs = life.clock.nowMs();
      const command = { cluster, nodes: [adopted], seen, canSeeInstance: () => true, by: tag, nowMs };
      return life.journal.submit({ by: tag, decide: (fleet) => adoptNodes(fleet, command) });
    },
  });
}

const ALONE = { signal: new AbortController().signal };

async function preview(world: World, operator: Operator, tag: string): Promise<void> {
  const workers = [...world.truth.all(WORKER)];
  if (workers.length === 0) return;
  const worker = world.rng.pick(workers);
  await operator.askServer({
    tag,
    serve: async (life) => {
      const how = { policy: DEFAULT_DRAIN_POLICY, signal: ALONE.signal };
      const apis = life.runtime.get(CLUSTER_APIS);
      const found = await readCluster(apis, worker.doc.cluster, {
        look: (api) => previewWorker(api, worker, how),
        ...ALONE,
      });
      return life.journal.submit({
        by: tag,
        decide: () =>
          refuse('code' in found ? found : { kind: 'conflict', code: 'only-shown', message: 'Only shown.' }),
      });
    },
  });
}

async function meddle(world: World): Promise<void> {
  const operator = world.newOperator('meddler');
  const kubectl = new Kubectl(world);
  while (world.isTroubled) {
    kubectl.next();
    await operator.pause(world.rng.between(300, 6000));
  }
}

export const kubernetes: Workload = {
  name: 'kubernetes',
  start: (world) => {
    const setup = new KubernetesSetup(world);
    const workers = new KubernetesActions(world);
    const ready = prepare(world, setup, workers);
    return {
      ready,
      done: run(world, workers, ready),
      atRest: () => checkKubernetesAtRest(world),
      undo: () => removeAllWorkers(world),
      atEnd: () => leftoverWorkers(world),
    };
  },
};

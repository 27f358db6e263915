// The initial objects of a world with Kubernetes: a handful of hosts, a network, and one or two clusters with Nodes that Muster is to adopt, others that it has nothing to do with,
// and pods of every kind on them. All of it is drawn.
import { registerCluster } from '../../../src/kubernetes/clusters/decide.ts';
import { CLUSTER } from '../../../src/kubernetes/index.ts';
import { idOf, type FleetReader } from '../../../src/fleet/index.ts';
import { SCALE_IN, type HostSpec } from '../../../src/hosts/index.ts';
import type { Rng } from '../../kernel/rng.ts';
import { SimCluster } from '../../world/clusters/sim-cluster.ts';
import type { World } from '../../world/world.ts';
import { once, plain } from '../commands.ts';
import { InstanceSetup, type SetupPlan } from '../instance-setup.ts';
import { changeSettingTo } from '../scale-in-setup.ts';

export const LAN = 'lan';
/** They are in a cluster from the beginning, and run on instances of the same names where there are such. */
export const ADOPTABLE = ['m1', 'm2', 'm3'];
/** It is never adopted, and pods find a place there. */
const BYSTANDER = 'other';
const CONTROL_PLANE = 'plane';

export class KubernetesSetup extends InstanceSetup {
  readonly #world: World;
  readonly #rng: Rng;

  constructor(world: World) {
    super(world, drawPlan);
    this.#world = world;
    this.#rng = world.rng.fork();
    const names = this.#rng.chance(0.3) ? ['edge', 'core'] : ['edge'];
    for (const name of names) world.clusters.push(drawCluster(this.#rng, new SimCluster(name, world)));
  }

  override async create(): Promise<void> {
    const rng = this.#rng;
    const joined = super.create();
    const tag = this.admin.tag('set-scale-in');
    const budgets = { movesAtOnce: rng.between(1, 4), movesPerHostAtOnce: rng.between(1, 3) };
    await this.admin.insist(plain(tag, changeSettingTo(SCALE_IN, { ...SCALE_IN.defaultValue, ...budgets }, tag)));
    for (const { name } of this.#world.clusters) await this.#register(name);
    await joined;
  }

  async #register(name: string): Promise<void> {
    const rng = this.#rng;
    const tag = this.admin.tag(`cluster-${name}`);
    const isThere = (fleet: FleetReader): boolean => fleet.get(CLUSTER, idOf(CLUSTER, name)) !== undefined;
    const spec = {
      ...{ name, kind: 'simulated' as const },
      ...{ whenHostLeaves: rng.chance(0.8) ? ('drain' as const) : ('move' as const), drainsAtOnce: rng.between(1, 2) },
      drainPolicy: { deadlineMs: rng.pick([20_000, 60_000, 300_000]), evictBare: rng.chance(0.7) },
    };
    await this.admin.insist(once(tag, isThere, (fleet, nowMs) => registerCluster(fleet, spec, { by: tag, nowMs })));
  }
}

function drawCluster(rng: Rng, cluster: SimCluster): SimCluster {
  cluster.putNode(CONTROL_PLANE, { isControlPlane: true });
  cluster.putNode(BYSTANDER);
  // A name of an instance is in one cluster only.
  if (cluster.name === 'edge') for (const name of ADOPTABLE) cluster.putNode(name);
  else cluster.putNode('n1');
  const replicas = rng.between(3, 6);
  cluster.putWorkload('web', {
    ...{ replicas, minAvailable: replicas - rng.between(1, 2), graceSeconds: rng.between(1, 5) },
    ...{ startMs: rng.pick([200, 1000, 4000]) },
  });
  cluster.putWorkload('cache', { replicas: rng.between(1, 3), hasEmptyDir: true });
  cluster.putWorkload('agent', { ownerKind: 'DaemonSet', replicas: 0 });
  if (rng.chance(0.5)) cluster.putWorkload('slow', { replicas: 2, ends: 'at-grace', graceSeconds: rng.between(2, 8) });
  if (rng.chance(0.15)) cluster.putWorkload('disk', { replicas: 1, hasLocalVolume: true });
  if (rng.chance(0.15)) cluster.putWorkload('twice', { replicas: 2, minAvailable: 0, hasSecondBudget: true });
  cluster.putWorkload('bare', { ownerKind: 'none', replicas: 0 });
  return cluster;
}

const HOSTS_MIN = 4;
const HOSTS_MAX = 6;

function drawPlan(rng: Rng): SetupPlan {
  const count = rng.between(HOSTS_MIN, HOSTS_MAX);
  const subnet = { name: `${LAN}-v4`, cidr: '10.1.0.0/26', first: '10.1.0.10', last: '10.1.0.50' };
  return {
    modern: true,
    networks: [{ name: LAN, backEnd: 'embedded', segments: new Map(), subnets: [subnet] }],
    hosts: Array.from({ length: count }, (_, at) => drawHost(rng, at + 1)),
  };
}

function drawHost(rng: Rng, nth: number): HostSpec {
  return {
    ...{ name: `h${nth}`, site: 'central', physicalNetworks: ['p1'], tunnelAddress: `192.0.2.${nth}` },
    capacity: { vcpus: 4, memoryMiB: rng.pick([1024, 4096]), diskGiB: 40, ratios: { vcpus: 2, memory: 1, disk: 1 } },
  };
}

// The initial objects of a world with instances: networks of every kind with few addresses, hosts with little capacity on some physical
// networks, flavors, groups, users' ports. All of it is drawn, so that every world differs.
import { idOf, type FleetReader } from '../../src/fleet/index.ts';
import { DESIGNATIONS_VERSION, HOST, type HostSpec } from '../../src/hosts/index.ts';
import { createFlavor, createGroup } from '../../src/instances/decisions-fixture.ts';
import { FLAVOR, GROUP } from '../../src/instances/index.ts';
import { createNetwork, createSegment, createSubnet } from '../../src/network/decisions-fixture.ts';
import { bandwidthClass, NETWORK, SEGMENT, SUBNET, type BackEndName } from '../../src/network/index.ts';
import type { Rng } from '../kernel/rng.ts';
import { HostMachine } from '../world/machine.ts';
import type { World } from '../world/world.ts';
import { Admin, SITES } from './admin.ts';
import { once } from './commands.ts';

export const PROJECT = 'default';
const PHYSICAL_NETWORKS = ['p1', 'p2', 'p3'];
export const FLAVORS = ['tiny', 'wide'];
export const GROUPS = ['apart', 'rather-apart', 'near'] as const;

interface SubnetPlan {
  readonly name: string;
  readonly segment?: string;
  readonly cidr: string;
  readonly first: string;
  readonly last: string;
  readonly dhcp?: boolean;
}

export interface NetworkPlan {
  readonly name: string;
  readonly backEnd: BackEndName;
  readonly minBandwidthKbps?: number;
  readonly external?: boolean;
  /** Their physical networks, by name. */
  readonly segments: ReadonlyMap<string, string>;
  readonly subnets: readonly SubnetPlan[];
}

/** The plan, before any of it is created. */
export interface SetupPlan {
  readonly networks: readonly NetworkPlan[];
  readonly hosts: readonly HostSpec[];
  /** Agents have the newest version or the previous one, and their switches run BFD with each other. */
  readonly modern?: true;
}

/** How long hosts may take to come into service before users start all the same. */
const HOSTS_WAITED_MS = 20_000;

export class InstanceSetup {
  readonly networks: readonly NetworkPlan[];
  readonly hosts: readonly HostSpec[];
  readonly admin: Admin;
  readonly #world: World;
  readonly #rng: Rng;
  readonly #modern: boolean;

  constructor(world: World, draw: (rng: Rng) => SetupPlan = drawSetup) {
    this.#world = world;
    this.#rng = world.rng.fork();
    this.admin = new Admin(world);
    const { networks, hosts, modern = false } = draw(this.#rng);
    this.networks = networks;
    this.hosts = hosts;
    this.#modern = modern;
  }

  async create(): Promise<void> {
    await this.admin.prepare();
    const joined = this.#join();
    await this.#sizes();
    for (const network of this.networks) await this.#network(network);
    await joined;
    const { operator } = this.admin;
    const untilMs = this.#world.scheduler.nowMs + HOSTS_WAITED_MS;
    const ready = (): boolean =>
      [...this.#world.truth.all(HOST)].filter(({ doc }) => doc.state === 'active').length === this.hosts.length;
    while (this.#world.isTroubled && !ready() && this.#world.scheduler.nowMs < untilMs) await operator.pause(500);
  }

  async #join(): Promise<void> {
    const { machines, scheduler } = this.#world;
    const known = (): boolean => this.#world.truth.count(HOST) > 0;
    // A caller that got no answer to its request checks whether the hosts join.
    while (this.#world.isTroubled && (await this.admin.join(this.hosts, 300_000)) === undefined && !known());
    const mixed = this.#rng.chance(0.5) && !this.#modern;
    for (const { name, site = '' } of this.hosts) {
      const machine = new HostMachine(name, site, this.#world, { listens: this.#modern });
      machines.push(machine);
      if (mixed) machine.serviceVersion = this.#rng.between(1, 3);
      if (this.#modern && this.#rng.chance(0.1)) machine.serviceVersion = DESIGNATIONS_VERSION - 1;
      void this.admin.giveToken(machine);
      scheduler.after(this.#rng.between(0, 2000), `${name} is switched on`, () => machine.start());
    }
  }

  async #sizes(): Promise<void> {
    const sizes = [
      { name: 'tiny', vcpus: 1, memoryMiB: 512, diskGiB: 1 },
      { name: 'wide', vcpus: 2, memoryMiB: 2048, diskGiB: 4 },
    ];
    for (const size of sizes) {
      const there = (fleet: FleetReader): boolean => fleet.get(FLAVOR, idOf(FLAVOR, size.name)) !== undefined;
      await this.#make(`flavor-${size.name}`, there, (fleet, by, nowMs) => createFlavor(fleet, { ...size, by, nowMs }));
    }
    for (const name of GROUPS) {
      const policy = ({ apart: 'anti-affinity', 'rather-apart': 'soft-anti-affinity', near: 'affinity' } as const)[
        name
      ];
      const there = (fleet: FleetReader): boolean => fleet.get(GROUP, idOf(GROUP, name)) !== undefined;
      await this.#make(`group-${name}`, there, (fleet, by, nowMs) =>
        createGroup(fleet, { name, project: PROJECT, policy, by, nowMs }),
      );
    }
  }

  async #network({ segments, subnets, ...facts }: NetworkPlan): Promise<void> {
    const { name } = facts;
    const there = (fleet: FleetReader): boolean => fleet.get(NETWORK, idOf(NETWORK, name)) !== undefined;
    await this.#make(`network-${name}`, there, (fleet, by, nowMs) =>
      createNetwork(fleet, { ...facts, admin: true, by, nowMs }),
    );
    for (const [id, physicalNetwork] of segments) {
      const made = (fleet: FleetReader): boolean => fleet.get(SEGMENT, idOf(SEGMENT, id)) !== undefined;
      const wire = { type: 'vlan' as const, physicalNetwork };
      await this.#make(`segment-${id}`, made, (fleet, by, nowMs) =>
        createSegment(fleet, { name: id, network: name, ...wire, by, nowMs }),
      );
    }
    for (const { first, last, ...subnet } of subnets) {
      const made = (fleet: FleetReader): boolean => fleet.get(SUBNET, idOf(SUBNET, subnet.name)) !== undefined;
      await this.#make(`subnet-${subnet.name}`, made, (fleet, by, nowMs) =>
        createSubnet(fleet, { ...subnet, network: name, pools: [{ first, last }], by, nowMs }),
      );
    }
  }

  async #make(
    what: string,
    there: (fleet: FleetReader) => boolean,
    decide: (fleet: FleetReader, by: string, nowMs: number) => ReturnType<Parameters<typeof once>[2]>,
  ): Promise<void> {
    const tag = this.admin.tag(what);
    await this.admin.insist(once(tag, there, (fleet, nowMs) => decide(fleet, tag, nowMs)));
  }
}

function drawSetup(rng: Rng): SetupPlan {
  const networks = drawNetworks(rng);
  // In some worlds capacity is short, in others addresses are: neither must hide the effects of the other.
  const room = rng.pick([1, 2, 3]);
  return { networks, hosts: Array.from({ length: rng.between(3, 6) }, (_, at) => drawHost(rng, `h${at + 1}`, room)) };
}

/** Always those of the external back end, and some of the others. */
function drawNetworks(rng: Rng): NetworkPlan[] {
  const plans: [backEnd: BackEndName, routed: boolean][] = [
    ['simulated', true],
    [rng.chance(0.5) ? 'simulated' : 'simulated-single', false],
    ['embedded', true],
    ['embedded', false],
    ['host-local', true],
    ['host-local', false],
  ];
  return plans.flatMap(([backEnd, routed], nth) =>
    backEnd.startsWith('simulated') || rng.chance(0.4) ? [drawNetwork(rng, backEnd, routed, nth + 1)] : [],
  );
}

function drawNetwork(rng: Rng, backEnd: BackEndName, routed: boolean, nth: number): NetworkPlan {
  const name = `${routed ? 'routed' : 'plain'}-${backEnd}`;
  if (!routed) return { name, backEnd, segments: new Map(), subnets: [subnetPlan(rng, name, nth, 0)] };
  const segments = new Map<string, string>();
  const subnets: SubnetPlan[] = [];
  for (const [at, physicalNetwork] of PHYSICAL_NETWORKS.slice(0, rng.between(2, 3)).entries()) {
    const segment = `${name}-s${at + 1}`;
    segments.set(segment, physicalNetwork);
    subnets.push({ ...subnetPlan(rng, segment, nth, at + 1), segment });
    if (rng.chance(0.2)) subnets.push({ ...subnetPlan6(rng, segment, nth, at + 1), segment });
  }
  return { name, backEnd, ...(rng.chance(0.3) && { minBandwidthKbps: 1000 }), segments, subnets };
}

/** So few that they run out. */
function subnetPlan(rng: Rng, name: string, nth: number, at: number): SubnetPlan {
  const net = `10.${nth}.${at}`;
  return { name: `${name}-v4`, cidr: `${net}.0/26`, first: `${net}.10`, last: `${net}.${9 + rng.between(2, 7)}` };
}

function subnetPlan6(rng: Rng, name: string, nth: number, at: number): SubnetPlan {
  const net = `fd00:${nth}:${at}:`;
  return { name: `${name}-v6`, cidr: `${net}:/64`, first: `${net}:10`, last: `${net}:1${rng.between(2, 5)}` };
}

export function drawPhysicalNetworks(rng: Rng): string[] {
  return PHYSICAL_NETWORKS.filter(() => rng.chance(0.75));
}

function drawHost(rng: Rng, name: string, room: number): HostSpec {
  const capacity = {
    vcpus: room * rng.between(2, 4),
    memoryMiB: room * 2048 * rng.between(1, 3),
    diskGiB: room * rng.between(5, 20),
    ratios: { vcpus: rng.between(1, 2), memory: 1, disk: 1 },
  };
  return {
    name,
    site: rng.pick(SITES),
    capacity,
    physicalNetworks: drawPhysicalNetworks(rng),
    resources: Object.fromEntries(PHYSICAL_NETWORKS.map((one) => [bandwidthClass(one), 1000 * rng.between(1, 4)])),
    ...(rng.chance(0.1) && { bindsAt: 'driver' as const }),
  };
}

// The initial objects of a world whose hosts leave and join: a handful of hosts in one site with tunnels between them, internal networks
// with DHCP, an external one, routers that lead there, and tight budgets, so that they matter.
import { ELECTION } from '../../src/election/index.ts';
import { idOf, put, SETTING, type FleetReader, type Setting } from '../../src/fleet/index.ts';
import { SCALE_IN, type HostSpec } from '../../src/hosts/index.ts';
import { accept } from '../../src/journal/index.ts';
import { createRouter } from '../../src/network/routers/decide.ts';
import { createTransportZone } from '../../src/network/tunnels/decide-transport-zone.ts';
import { ROUTER, TRANSPORT_ZONE } from '../../src/network/index.ts';
import type { Rng } from '../kernel/rng.ts';
import type { World } from '../world/world.ts';
import { once, plain, type Decide } from './commands.ts';
import { InstanceSetup, type SetupPlan, type NetworkPlan } from './instance-setup.ts';

export const OUTSIDE = 'outside';
/** Few, so that they are created again while something of the previous one may be left. */
export const ROUTERS = ['r1', 'r2', 'r3'];
/** The second one does not exist from the start. */
export const ZONES = ['default', 'far'];
/** Two silent hosts of this many are not a silent site. */
const HOSTS_MIN = 5;
const HOSTS_MAX = 8;

function hasZone(fleet: FleetReader): boolean {
  return fleet.get(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default')) !== undefined;
}

export class ScaleInSetup extends InstanceSetup {
  readonly inside: readonly NetworkPlan[];
  readonly #world: World;
  readonly #rng: Rng;

  constructor(world: World) {
    super(world, drawScaleInSetup);
    this.#world = world;
    this.#rng = world.rng.fork();
    this.inside = this.networks.filter(({ external }) => external !== true);
  }

  get subnets(): string[] {
    return this.inside.flatMap(({ subnets }) => subnets.map(({ name }) => name));
  }

  override async create(): Promise<void> {
    const mesh = this.#rng.pick(['full', 'needed'] as const);
    const drain = { movesAtOnce: this.#rng.between(1, 4), movesPerHostAtOnce: this.#rng.between(1, 3) };
    const hand = { handoverDrainMs: this.#rng.pick([0, 1000]), handoversAtOnce: this.#rng.pick([1, 2, 256]) };
    const laid = super.create();
    const tag = this.admin.tag('zone');
    await this.admin.insist(
      once(tag, hasZone, (fleet, nowMs) => createTransportZone(fleet, { name: 'default', mesh, by: tag, nowMs })),
    );
    await this.#set(SCALE_IN, { ...SCALE_IN.defaultValue, ...drain });
    await this.#set(ELECTION, { ...ELECTION.defaultValue, ...hand });
    await laid;
    await this.#routers();
  }

  async #set<T>(setting: Setting<T>, value: T): Promise<void> {
    const tag = this.admin.tag(`set-${setting.name}`);
    await this.admin.insist(plain(tag, changeSettingTo(setting, value, tag)));
  }

  async #routers(): Promise<void> {
    for (const [at, subnet] of this.subnets.slice(0, 2).entries()) {
      const tag = this.admin.tag('router');
      const name = ROUTERS[at] ?? '';
      const there = (fleet: FleetReader): boolean => fleet.get(ROUTER, idOf(ROUTER, name)) !== undefined;
      const request = { name, subnets: [subnet], externalNetwork: OUTSIDE, admin: true, by: tag };
      await this.admin.insist(
        once(tag, there, (fleet, nowMs, { ids }) =>
          createRouter(fleet, { ...request, portId: ids.next('port'), nowMs }),
        ),
      );
    }
    if (this.#world.isTroubled) await this.admin.operator.pause(500);
  }
}

export function changeSettingTo<T>({ name }: Setting<T>, value: T, by: string): Decide {
  return (_fleet, nowMs) => accept([put(SETTING, name, { value, changedBy: by, changedAtMs: nowMs })], null);
}

function drawScaleInSetup(rng: Rng): SetupPlan {
  const count = rng.between(HOSTS_MIN, HOSTS_MAX);
  return {
    modern: true,
    networks: [
      outside(),
      inside('t1', 1, 'embedded', rng.chance(0.7)),
      inside('t2', 2, 'embedded', rng.chance(0.5)),
      inside('t3', 3, 'simulated', rng.chance(0.5)),
    ],
    hosts: Array.from({ length: count }, (_, at) => drawHost(rng, at + 1)),
  };
}

function outside(): NetworkPlan {
  const segment = `${OUTSIDE}-s`;
  const subnet = {
    name: `${OUTSIDE}-v4`,
    segment,
    cidr: '203.0.113.0/26',
    first: '203.0.113.10',
    last: '203.0.113.30',
  };
  return {
    name: OUTSIDE,
    backEnd: 'embedded',
    external: true,
    segments: new Map([[segment, 'p1']]),
    subnets: [subnet],
  };
}

function inside(name: string, nth: number, backEnd: NetworkPlan['backEnd'], dhcp: boolean): NetworkPlan {
  const net = `10.${nth}.0`;
  const subnet = { name: `${name}-v4`, cidr: `${net}.0/26`, first: `${net}.10`, last: `${net}.30`, dhcp };
  return { name, backEnd, segments: new Map(), subnets: [subnet] };
}

function drawHost(rng: Rng, nth: number): HostSpec {
  return {
    name: `h${nth}`,
    site: 'central',
    capacity: { vcpus: 4, memoryMiB: rng.pick([4096, 8192]), diskGiB: 40, ratios: { vcpus: 2, memory: 1, disk: 1 } },
    physicalNetworks: rng.chance(0.8) ? ['p1'] : [],
    ...(rng.chance(0.95) && { tunnelAddress: `192.0.2.${nth}` }),
    ...(rng.chance(0.1) && { transportZone: 'far' }),
    baseWeight: rng.pick([0, 0, 0, 1, 2]),
  };
}

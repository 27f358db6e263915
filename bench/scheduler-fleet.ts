// The fleet that the scheduler is measured on: two host sizes in a hundred segments and three zones, with instances of six
// flavors at random. Every run sees the same one.
import { Fleet, Registry, SETTING, type Id } from '../src/fleet/index.ts';
import { HOST, hostsModel, type Host } from '../src/hosts/index.ts';
import { CLAIM, networkModel, SEGMENT, SUBNET, type Claim, type PoolChoice } from '../src/network/index.ts';
import { SCHEDULER, schedulerModel, type Amounts, type SchedulerSettings } from '../src/scheduler/index.ts';
import { sitesModel } from '../src/sites/index.ts';
import { sampleHost, sampleHostId } from './sample-hosts.ts';

export const SEGMENTS = 100;
const CHANGED = { changedBy: 'bench', changedAtMs: Date.UTC(2025, 0, 1) };

/** From one vcpu to 2 GiB up to one to 16 GiB. */
export const FLAVORS: readonly Amounts[] = [
  { vcpus: 1, memoryMiB: 2_048, diskGiB: 10 },
  { vcpus: 2, memoryMiB: 4_096, diskGiB: 20 },
  { vcpus: 4, memoryMiB: 16_384, diskGiB: 20 },
  { vcpus: 2, memoryMiB: 16_384, diskGiB: 40 },
  { vcpus: 8, memoryMiB: 65_536, diskGiB: 80 },
  { vcpus: 2, memoryMiB: 32_768, diskGiB: 40 },
];

const SMALL = { vcpus: 32, memoryMiB: 131_072, diskGiB: 8_000, ratios: { vcpus: 1, memory: 1, disk: 1 } };
const LARGE = { vcpus: 64, memoryMiB: 524_288, diskGiB: 8_000, ratios: { vcpus: 1, memory: 1, disk: 1 } };

/** Random numbers from a seed, below 1. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function benchHost(nth: number): Host {
  return {
    ...sampleHost(nth),
    zone: `zone-${(nth % SEGMENTS) % 3}`,
    capacity: Math.floor(nth / SEGMENTS) % 2 === 0 ? SMALL : LARGE,
    physicalNetworks: [`segment-${nth % SEGMENTS}`],
  };
}

export const CHOICES: readonly PoolChoice[] = Array.from({ length: SEGMENTS }, (_, nth) => ({
  pool: `segment:segment-${nth}`,
  physicalNetwork: `segment-${nth}`,
  takes: [4],
}));

export function emptyFleet(hosts: number, settings?: SchedulerSettings): Fleet {
  const fleet = new Fleet(new Registry([{ kinds: [SETTING] }, sitesModel, hostsModel, networkModel, schedulerModel]));
  const load = (kind: { readonly name: string }, id: string, doc: object): void =>
    fleet.load(kind.name, { id: id as Id<string>, revision: 1, doc });
  if (settings !== undefined) load(SETTING, SCHEDULER.name, { value: settings, ...CHANGED });
  for (let nth = 0; nth < SEGMENTS; nth += 1) {
    const facts = { name: `segment-${nth}`, network: 'tenants', ...CHANGED };
    load(SEGMENT, facts.name, { ...facts, type: 'vlan', physicalNetwork: facts.name, dynamic: false });
    const pools = [{ first: `10.${nth}.0.2`, last: `10.${nth}.255.254` }];
    load(SUBNET, `${facts.name}-v4`, { ...facts, segment: facts.name, cidr: `10.${nth}.0.0/16`, version: 4, pools });
  }
  for (let nth = 0; nth < hosts; nth += 1) load(HOST, sampleHostId(nth), benchHost(nth));
  fleet.finishLoad(1);
  return fleet;
}

export function claimOn(host: string, instance: string, amounts: Amounts): Claim {
  return { instance, role: 'home', host, ...amounts, addresses: [], sinceMs: CHANGED.changedAtMs };
}

/** The least that the random load leaves on every host. */
const LEFT = { vcpus: 4, memoryMiB: 16_384 };

/**
 * A fleet in use: about half of it taken, a little left on every host. The last host is empty; of the others none has both
 * three quarters of a large host's vcpus and three quarters of its memory left, though many have one of them.
 */
export function loadedFleet(hosts: number): Fleet {
  const fleet = emptyFleet(hosts);
  const random = seeded(hosts);
  let instances = 0;
  const take = (nth: number, amounts: Amounts): void => {
    const id = `loaded-${(instances += 1)}`;
    fleet.load(CLAIM.name, { id: id as Id<string>, revision: 1, doc: claimOn(sampleHostId(nth), id, amounts) });
  };
  for (let nth = 0; nth < hosts - 1; nth += 1) {
    const { capacity } = benchHost(nth);
    const left = { vcpus: capacity.vcpus, memoryMiB: capacity.memoryMiB };
    if (capacity === LARGE) {
      const lopsided = nth % 2 === 0 ? { vcpus: 17, memoryMiB: 2_048 } : { vcpus: 1, memoryMiB: 135_168 };
      take(nth, { ...lopsided, diskGiB: 20 });
      left.vcpus -= lopsided.vcpus;
      left.memoryMiB -= lopsided.memoryMiB;
    }
    for (let wanted = Math.floor(random() * 8); wanted > 0; wanted -= 1) {
      const amounts = FLAVORS[Math.floor(random() * FLAVORS.length)]!;
      if (left.vcpus - amounts.vcpus < LEFT.vcpus || left.memoryMiB - amounts.memoryMiB < LEFT.memoryMiB) continue;
      take(nth, amounts);
      left.vcpus -= amounts.vcpus;
      left.memoryMiB -= amounts.memoryMiB;
    }
  }
  return fleet;
}

/** Fits on the last host of a loaded fleet alone. */
export const FOR_THE_LAST_HOST: Amounts = {
  vcpus: LARGE.vcpus * 0.75,
  memoryMiB: LARGE.memoryMiB * 0.75,
  diskGiB: 100,
};

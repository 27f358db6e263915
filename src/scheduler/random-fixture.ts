// Fleets, changes and requests at random, from a seed: small numbers, so that hosts are often equally good, pools often
// empty and limits often met exactly.
import { idOf, put, remove, type Change, type Fleet, type FleetReader } from '../fleet/index.ts';
import { HOST, type Host } from '../hosts/index.ts';
import { CLAIM, type NicRequirements } from '../network/index.ts';
import { BUILD_FAILURES } from './build-failures.ts';
import { GROUP_POLICIES, type Amounts, type ScheduleRequest } from './request.ts';
import { choice, claim, host, segment, settings } from './scheduler-fixture.ts';

export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 up to below `end`. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  of<T>(things: readonly T[]): T {
    return things[this.below(things.length)] as T;
  }

  some<T>(things: readonly T[], percent: number): T[] {
    return things.filter(() => this.chance(percent));
  }
}

const SEGMENTS = ['s0', 's1', 's2', 's3'];
const NETWORK_OF = (name: string): string => (name === 's3' ? 'm' : 'n');
const ZONES = ['z1', 'z2'];
const SITES = ['central', 'edge'];
const TRAITS = ['ssd', 'gpu', 'old'];
const AGGREGATES = ['a', 'b'];
const GROUPS = ['g1', 'g2'];

const hostName = (nth: number): string => `h${String(nth).padStart(4, '0')}`;

const RESOURCES = {
  gpus: 2,
  'bandwidth-kbps:p-s0': 1000,
  'bandwidth-kbps:p-s1': 500,
  'bandwidth-kbps': 600,
  'pci:vf': 2,
};

function randomHost(dice: Dice, nth: number): Change {
  const size = dice.of([8, 16]);
  return host(hostName(nth), {
    vcpus: size,
    memoryMiB: size * 1024,
    diskGiB: dice.of([20, 40]),
    ratios: { vcpus: dice.of([1, 1.15]), memory: 1, disk: dice.of([1, 1.5]) },
    zone: dice.of(ZONES),
    site: dice.of(SITES),
    traits: dice.some(TRAITS, 40),
    aggregates: dice.some(AGGREGATES, 50),
    physicalNetworks: dice.some(SEGMENTS, 60).map((name) => `p-${name}`),
    serviceVersion: dice.of([2, 3, 3, 3]),
    ...(dice.chance(50) && { resources: RESOURCES }),
    ...(dice.chance(10) && { degraded: [{ type: 'switch', code: 'unreachable', message: 'x', sinceMs: 0 }] }),
    ...(dice.chance(10) && { disabled: { reason: 'x', by: 'x', atMs: 0 } }),
    ...(dice.chance(5) && { connection: { state: 'down', sinceMs: 0 } }),
    ...(dice.chance(5) && { state: 'draining' }),
  });
}

function randomSegments(dice: Dice): Change[] {
  return SEGMENTS.flatMap((name, nth) => segment(name, NETWORK_OF(name), dice.below(12), nth));
}

const FLAVORS: readonly Amounts[] = [
  { vcpus: 1, memoryMiB: 1024, diskGiB: 1 },
  { vcpus: 4, memoryMiB: 2048, diskGiB: 5 },
  { vcpus: 2, memoryMiB: 8192, diskGiB: 1 },
  { vcpus: 1, memoryMiB: 1024, diskGiB: 0, resources: { gpus: 1 } },
];

function randomNic(dice: Dice): NicRequirements {
  const kbps = {
    ...(dice.chance(20) && { minBandwidthKbps: 400 }),
    ...(dice.chance(10) && { pciRequest: 'vf' }),
  };
  if (dice.chance(15)) return { network: 'n', choices: [choice(dice.of(SEGMENTS), { takes: [] })], ...kbps };
  if (dice.chance(20)) return { network: 'm', choices: [choice('s3')], ...kbps };
  if (dice.chance(10)) return { network: 'plain', choices: [{ pool: 'network:plain', takes: [] }], ...kbps };
  return { network: 'n', choices: ['s0', 's1', 's2'].map((name) => choice(name)), ...kbps };
}

export function randomRequest(dice: Dice, hosts: number): ScheduleRequest {
  const anyHost = (): string => hostName(dice.below(hosts));
  const plain = dice.chance(30);
  const maybe = (percent: number): boolean => !plain && dice.chance(percent);
  return {
    amounts: dice.of(FLAVORS),
    nics: Array.from({ length: plain ? dice.below(2) : dice.below(4) }, () => randomNic(dice)),
    ...(maybe(30) && { serviceVersion: dice.of([1, 2, 3, 4]) }),
    ...(maybe(20) && { zone: dice.of(ZONES) }),
    ...(maybe(20) && { site: dice.of(SITES) }),
    ...(maybe(20) && { requiredTraits: [dice.of(TRAITS)] }),
    ...(maybe(20) && { forbiddenTraits: [dice.of(TRAITS)] }),
    ...(maybe(20) && { aggregates: [dice.of(AGGREGATES)] }),
    ...(maybe(5) && { onlyHost: anyHost() }),
    ...(maybe(20) && { excludedHosts: [anyHost(), anyHost(), anyHost()] }),
    ...(maybe(10) && { excludedPools: [`segment:${dice.of(SEGMENTS)}` as const] }),
    ...(maybe(40) && {
      group: { id: dice.of(GROUPS), policy: dice.of(GROUP_POLICIES) },
    }),
  };
}

/** One change of anything that the index follows. */
export function randomChange(dice: Dice, fleet: FleetReader, hosts: number): Change {
  const nth = dice.below(hosts);
  const id = hostName(nth);
  switch (dice.below(10)) {
    case 0:
      return randomHost(dice, nth);
    case 1:
      return dice.chance(30) ? remove(HOST, idOf(HOST, id)) : randomHost(dice, nth);
    case 2:
      return editHost(fleet, id, dice) ?? randomHost(dice, nth);
    case 3:
      return put(BUILD_FAILURES, idOf(BUILD_FAILURES, id), { host: id, count: 1 + dice.below(3), lastAtMs: 0 });
    case 4:
      return remove(BUILD_FAILURES, idOf(BUILD_FAILURES, id));
    case 5:
    case 6:
      return remove(CLAIM, idOf(CLAIM, `i${dice.below(30)}`));
    case 7:
      return dice.chance(20) ? randomSettings(dice) : randomClaim(dice, id);
    default:
      return randomClaim(dice, id);
  }
}

function editHost(fleet: FleetReader, id: string, dice: Dice): Change | undefined {
  const stored = fleet.get(HOST, idOf(HOST, id));
  if (stored === undefined) return undefined;
  const edits: Partial<Host>[] = [
    { connection: { state: dice.of(['up', 'down']), sinceMs: 1 } },
    { traits: dice.some(TRAITS, 50) },
    { zone: dice.of(ZONES) },
    { state: dice.of(['active', 'removed', 'draining']) },
    { resources: { gpus: dice.below(4), 'pci:vf': dice.below(3) } },
    { serviceVersion: dice.of([2, 3, 4]) },
  ];
  return put(HOST, stored.id, { ...stored.doc, ...dice.of(edits) });
}

function randomClaim(dice: Dice, at: string): Change {
  return claim(`i${dice.below(30)}`, at, {
    ...dice.of(FLAVORS),
    ...(dice.chance(50) && { group: dice.of(GROUPS) }),
    ...(dice.chance(30) && { addresses: [{ pool: `segment:${dice.of(SEGMENTS)}`, version: 4, count: 1 }] }),
  });
}

function randomSettings(dice: Dice): Change {
  const any = (): number => dice.of([-2, -1, 0, 1, 3]);
  const weights = { memory: any(), vcpus: any(), disk: any(), spread: any(), balance: any(), stock: any() };
  const soft = { failures: any(), softAffinity: any() };
  return settings({ ...weights, ...soft }, { instancesPerHostMax: dice.of([0, 0, 2]) });
}

/** `alike`: all of one site, zone and reach. `unlike`: each reaches a physical network of its own beside the others. */
export type Variety = 'varied' | 'alike' | 'unlike';

export function randomFleet(dice: Dice, fleet: Fleet, hosts: number, variety: Variety = 'varied'): void {
  const changes = Array.from({ length: hosts }, (_, nth) => {
    const change = randomHost(dice, nth);
    const doc = change.doc as Host;
    if (variety === 'varied') return change;
    if (variety === 'unlike')
      return { ...change, doc: { ...doc, physicalNetworks: [...doc.physicalNetworks, `p-${nth}`] } };
    return { ...change, doc: { ...doc, zone: 'z1', site: 'central', physicalNetworks: ['p-s0', 'p-s1', 'p-s2'] } };
  });
  // In no order: where a host has its slot must not matter.
  const shuffled = changes.map((change) => ({ change, key: dice.below(2 ** 30) })).sort((a, b) => a.key - b.key);
  fleet.apply(fleet.revision + 1, [...randomSegments(dice), ...shuffled.map(({ change }) => change)]);
}

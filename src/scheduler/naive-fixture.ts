// The scheduler in its simplest form, without regard for speed: over documents, host by host, every assignment of NICs.
import { valueOf, type AnyDoc, type FleetReader, type Kind, type Stored } from '../fleet/index.ts';
import { HOST, type Host } from '../hosts/index.ts';
import { bandwidthClass, CLAIM, stockOf, type Claim, type PoolChoice, type PoolKey } from '../network/index.ts';
import { BUILD_FAILURES } from './build-failures.ts';
import type { ScheduleRequest } from './request.ts';
import { SCHEDULER, type Weights } from './settings.ts';

export interface NaiveAnswer {
  readonly host: string;
  readonly pools: readonly PoolKey[];
  /** In units of 2^-30. */
  readonly score: number;
}

interface HostSnapshot {
  readonly id: string;
  readonly doc: Host;
  readonly claims: readonly Claim[];
  /** Memory, vcpus, disk, instances, failures. */
  readonly figures: readonly number[];
}

export function naiveBest(fleet: FleetReader, request: ScheduleRequest): NaiveAnswer | undefined {
  const { weights, instancesPerHostMax } = valueOf(fleet, SCHEDULER);
  const all = snapshotHosts(fleet);
  const tally = tallyOf(fleet, request);
  const schedulable = all.filter(({ doc }) => isSchedulable(doc));
  const ends = endsOf(schedulable);
  const answers = schedulable.flatMap((seen): NaiveAnswer[] => {
    if (!isFitting(seen, request) || !isAllowedByGroup(seen, request, tally)) return [];
    if (instancesPerHostMax > 0 && seen.claims.length >= instancesPerHostMax) return [];
    const place = findNicPlacement(fleet, seen, request, weights);
    if (place === undefined) return [];
    const score = scoreOf(seen, ends, request, weights) + place.term + groupTerm(seen, tally, request, weights);
    return [{ host: seen.id, pools: place.pools, score }];
  });
  return answers.sort((one, other) => other.score - one.score || (one.host < other.host ? -1 : 1))[0];
}

const listOf = <K extends string, D extends AnyDoc>(fleet: FleetReader, kind: Kind<K, D>): Stored<K, D>[] => [
  ...fleet.all(kind),
];

function snapshotHosts(fleet: FleetReader): HostSnapshot[] {
  const claims = Map.groupBy(
    listOf(fleet, CLAIM).map(({ doc }) => doc),
    ({ host }) => host,
  );
  const failures = new Map(listOf(fleet, BUILD_FAILURES).map(({ doc }) => [doc.host, doc.count]));
  return listOf(fleet, HOST).flatMap(({ id, doc }) => {
    if (doc.state === 'removed') return [];
    const own = claims.get(id) ?? [];
    const { vcpus, memoryMiB, diskGiB, ratios } = doc.capacity;
    const sum = (amount: (claim: Claim) => number): number => own.reduce((all, one) => all + amount(one), 0);
    const figures = [
      whole(memoryMiB * ratios.memory) - sum((one) => one.memoryMiB),
      whole(vcpus * ratios.vcpus) - sum((one) => one.vcpus),
      whole(diskGiB * ratios.disk) - sum((one) => one.diskGiB),
      own.length,
      failures.get(id) ?? 0,
    ];
    return [{ id, doc, claims: own, figures }];
  });
}

/** The ratios of the tests have at most two decimals. */
function whole(product: number): number {
  return Math.floor(Math.round(product * 100) / 100);
}

function isSchedulable({ state, connection, disabled, forcedDown, degraded }: Host): boolean {
  const isUp = connection.state === 'up' && disabled === undefined && forcedDown === undefined;
  return state === 'active' && isUp && degraded === undefined;
}

function leftOf({ doc, claims }: HostSnapshot, resource: string): number {
  const taken = claims.reduce((sum, one) => sum + (one.resources?.[resource] ?? 0), 0);
  return (doc.resources?.[resource] ?? 0) - taken;
}

function isFitting(seen: HostSnapshot, request: ScheduleRequest): boolean {
  const { id, doc, figures } = seen;
  const { amounts, site, zone, aggregates = [], requiredTraits = [], forbiddenTraits = [] } = request;
  const { memoryMiB, vcpus, diskGiB, resources = {} } = amounts;
  return (
    doc.serviceVersion >= (request.serviceVersion ?? 0) &&
    (request.onlyHost ?? id) === id &&
    request.excludedHosts?.includes(id) !== true &&
    (site ?? doc.site) === doc.site &&
    (zone ?? doc.zone) === doc.zone &&
    aggregates.every((one) => doc.aggregates.includes(one)) &&
    requiredTraits.every((one) => doc.traits.includes(one)) &&
    !forbiddenTraits.some((one) => doc.traits.includes(one)) &&
    [memoryMiB, vcpus, diskGiB].every((wanted, at) => wanted <= (figures[at] ?? 0)) &&
    Object.entries(resources).every(([name, wanted]) => wanted <= leftOf(seen, name))
  );
}

/** How many claims of the request's group are on each host, whether or not there is such a host. */
function tallyOf(fleet: FleetReader, { group }: ScheduleRequest): ReadonlyMap<string, number> {
  const members = listOf(fleet, CLAIM).filter(({ doc }) => group !== undefined && doc.group === group.id);
  const byHost = Map.groupBy(members, ({ doc }) => doc.host);
  return new Map([...byHost].map(([host, claims]) => [host, claims.length]));
}

type Tally = ReadonlyMap<string, number>;

function isAllowedByGroup({ id }: HostSnapshot, request: ScheduleRequest, tally: Tally): boolean {
  if (request.group?.policy === 'anti-affinity') return !tally.has(id);
  if (request.group?.policy !== 'affinity') return true;
  return tally.has(id) || tally.size === 0;
}

function groupTerm({ id }: HostSnapshot, tally: Tally, request: ScheduleRequest, weights: Weights): number {
  const { policy = 'affinity' } = request.group ?? {};
  if (!policy.startsWith('soft') || tally.size === 0) return 0;
  const sign = policy === 'soft-affinity' ? 1 : -1;
  const most = Math.max(...tally.values());
  return Math.floor((sign * weights.softAffinity * 2 ** 30 * (tally.get(id) ?? 0)) / most + 0.5);
}

/** The minimum and the maximum of each figure. */
type Ends = readonly (readonly [low: number, high: number])[];

function endsOf(among: readonly HostSnapshot[]): Ends {
  return [0, 1, 2, 3, 4].map((at) => {
    const values = among.map(({ figures }) => figures[at] ?? 0);
    return [Math.min(...values), Math.max(...values)];
  });
}

function scoreOf({ doc, figures }: HostSnapshot, ends: Ends, request: ScheduleRequest, weights: Weights): number {
  const multipliers = [weights.memory, weights.vcpus, weights.disk, -weights.spread, -weights.failures];
  let sum = 0;
  for (const [at, [low, high]] of ends.entries()) {
    if (low === high) continue;
    const factor = ((multipliers[at] ?? 0) / (high - low)) * 2 ** 30;
    sum += factor * ((figures[at] ?? 0) - (at < 3 ? low : high));
  }
  const { capacity } = doc;
  const [memoryLeft = 0, vcpusLeft = 0] = figures;
  const { memoryMiB, vcpus } = request.amounts;
  const memory = whole(capacity.memoryMiB * capacity.ratios.memory);
  const cpus = whole(capacity.vcpus * capacity.ratios.vcpus);
  const before = Math.abs(shareOf(memoryLeft, memory) - shareOf(vcpusLeft, cpus));
  const after = Math.abs(shareOf(memoryLeft - memoryMiB, memory) - shareOf(vcpusLeft - vcpus, cpus));
  return Math.floor(sum + weights.balance * 2 ** 30 * (before - after) + 0.5);
}

function shareOf(amount: number, total: number): number {
  return total > 0 ? amount * (1 / total) : 0;
}

interface NaivePlace {
  readonly pools: readonly PoolKey[];
  readonly term: number;
}

function findNicPlacement(
  fleet: FleetReader,
  seen: HostSnapshot,
  request: ScheduleRequest,
  weights: Weights,
): NaivePlace | undefined {
  const stock = stockOf(fleet);
  const leftIn = ({ pool, takes }: PoolChoice): number =>
    Math.min(...takes.map((version) => Number(stock.free(pool, version))));
  const allowed = request.nics.map(({ choices }) =>
    choices
      .filter(({ pool }) => request.excludedPools?.includes(pool) !== true)
      .sort(
        (one, other) =>
          (weights.stock < 0 ? 1 : -1) * (leftIn(one) === leftIn(other) ? 0 : leftIn(one) - leftIn(other)) ||
          (one.pool < other.pool ? -1 : 1),
      ),
  );
  const near = allowed.map((choices) =>
    choices.filter(
      (one) => one.physicalNetwork === undefined || seen.doc.physicalNetworks.includes(one.physicalNetwork),
    ),
  );
  for (const chosen of assignments(near)) {
    if (!isServed(fleet, seen, request, chosen)) continue;
    const shares = chosen.flatMap((one, nic): number[] => {
      if (one.takes.length === 0) return [];
      const lefts = (allowed[nic] ?? []).filter(({ takes }) => takes.length > 0).map(leftIn);
      const [low, high] = [Math.min(...lefts), Math.max(...lefts)];
      return [high > low ? (leftIn(one) - low) / (high - low) : 0];
    });
    const sum = shares.reduce((all, one) => all + one, 0);
    const term = shares.length === 0 ? 0 : Math.floor((weights.stock * 2 ** 30 * sum) / shares.length + 0.5);
    return { pools: chosen.map(({ pool }) => pool), term };
  }
  return undefined;
}

function* assignments(choices: readonly (readonly PoolChoice[])[]): Iterable<readonly PoolChoice[]> {
  const [first, ...rest] = choices;
  if (first === undefined) yield [];
  else for (const one of first) for (const further of assignments(rest)) yield [one, ...further];
}

function isServed(
  fleet: FleetReader,
  seen: HostSnapshot,
  { nics }: ScheduleRequest,
  chosen: readonly PoolChoice[],
): boolean {
  const stock = stockOf(fleet);
  const demand = new Map<string, { readonly has: number; wants: number }>();
  const want = (key: string, has: number, amount: number): void => {
    demand.set(key, { has, wants: (demand.get(key)?.wants ?? 0) + amount });
  };
  for (const { pciRequest } of nics) {
    if (pciRequest !== undefined) want(`pci:${pciRequest}`, leftOf(seen, `pci:${pciRequest}`), 1);
  }
  for (const [at, { pool, takes, physicalNetwork }] of chosen.entries()) {
    for (const version of takes) want(`${pool}|${version}`, Number(stock.free(pool, version)), 1);
    const kbps = nics[at]?.minBandwidthKbps;
    if (kbps === undefined) continue;
    const resource = bandwidthClass(physicalNetwork);
    want(resource, leftOf(seen, resource), kbps);
  }
  return [...demand.values()].every(({ has, wants }) => wants <= has);
}

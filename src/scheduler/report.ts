// Why nothing fits: one pass over all hosts, each of them counted at the first filter that stops it. The only thing here that
// costs as much as the fleet is large, and only a request that failed pays it. It tells counts, never the names of hosts.
import type { FleetReader } from '../fleet/index.ts';
import { askOf, type Ask } from './ask.ts';
import type { Reach } from './clusters.ts';
import { DISK, FIGURES, INSTANCES, MEMORY, STANDINGS, VCPUS } from './host-table.ts';
import { bandwidthFault, PlaceFaults } from './place-faults.ts';
import type { ReportStage, ScheduleReport, ScheduleRequest } from './request.ts';

/** A filter that a host did not pass, and why. */
export interface Fault {
  readonly filter: Filter;
  readonly cause: string;
  readonly facts?: Readonly<Record<string, string | number>>;
  /** What the host had left of what was asked: the report tells the most that any had. */
  readonly left?: number;
}

/** In the order in which they are applied. */
const FILTERS = [
  'up-and-enabled',
  'in-service',
  'version',
  'only-host',
  'excluded-hosts',
  'site',
  'zone',
  'aggregates',
  'required-traits',
  'forbidden-traits',
  'vcpus',
  'memory',
  'disk',
  'resources',
  'group',
  'segments',
  'excluded-segments',
  'addresses',
  'bandwidth',
  'instance-cap',
] as const;
export type Filter = (typeof FILTERS)[number];

/** So many stages are kept with an instance. */
const STAGES_MAX = 40;

export function reportOn(fleet: FleetReader, request: ScheduleRequest): ScheduleReport {
  const ask = askOf(fleet, request);
  const faults = new PlaceFaults(ask.places);
  const losses = new Map<string, { readonly fault: Fault; lost: number; most: number }>();
  for (const slot of ask.index.slots()) {
    const fault = faultAt(ask, faults, slot);
    if (fault === undefined) continue;
    const key = `${fault.filter} ${fault.cause} ${JSON.stringify(fault.facts ?? {})}`;
    const loss = losses.get(key) ?? { fault, lost: 0, most: -Infinity };
    loss.lost += 1;
    loss.most = Math.max(loss.most, fault.left ?? -Infinity);
    losses.set(key, loss);
  }
  const found = [...losses.entries()].sort(([one, { lost }], [other, { lost: otherLost }]) =>
    lost === otherLost ? (one < other ? -1 : 1) : otherLost - lost,
  );
  return {
    hosts: ask.index.size,
    stages: chained(
      ask,
      found.map(([, loss]) => loss),
    ),
  };
}

interface Loss {
  readonly fault: Fault;
  readonly lost: number;
  readonly most: number;
}

/** One stage after the other, each with the hosts that the one before left. */
function chained(ask: Ask, losses: readonly Loss[]): ReportStage[] {
  const stages: ReportStage[] = [];
  let before = ask.index.size;
  for (const filter of FILTERS.filter((one) => isAskedFor(one, ask))) {
    const own = losses.filter(({ fault }) => fault.filter === filter);
    if (own.length === 0) stages.push({ filter, before, after: before });
    for (const { fault, lost, most } of own) {
      const left = most === -Infinity ? {} : { most: Math.max(0, most) };
      const facts = { ...fault.facts, ...left };
      const told = Object.keys(facts).length > 0 ? { facts } : {};
      stages.push({ filter, before, after: before - lost, cause: fault.cause, ...told });
      before -= lost;
    }
  }
  return shortened(stages);
}

/** Stages that lost nothing go first; if there are still too many, the last ones are told as one. */
function shortened(stages: readonly ReportStage[]): ReportStage[] {
  if (stages.length <= STAGES_MAX) return [...stages];
  const telling = stages.filter(({ cause }) => cause !== undefined);
  const rest = telling.slice(STAGES_MAX - 1);
  const [first, last] = [rest[0], rest.at(-1)];
  if (first === undefined || last === undefined || rest.length === 1) return telling;
  const further = { filter: 'further', before: first.before, after: last.after, cause: 'several-causes' };
  return [...telling.slice(0, STAGES_MAX - 1), further];
}

function isAskedFor(filter: Filter, { request, amounts, settings, group }: Ask): boolean {
  const asked: Partial<Record<Filter, boolean>> = {
    version: request.serviceVersion !== undefined,
    'only-host': request.onlyHost !== undefined,
    'excluded-hosts': (request.excludedHosts?.length ?? 0) > 0,
    site: request.site !== undefined,
    zone: request.zone !== undefined,
    aggregates: (request.aggregates?.length ?? 0) > 0,
    'required-traits': (request.requiredTraits?.length ?? 0) > 0,
    'forbidden-traits': (request.forbiddenTraits?.length ?? 0) > 0,
    resources: amounts.resources !== undefined,
    group: group !== undefined,
    segments: request.nics.length > 0,
    'excluded-segments': (request.excludedPools?.length ?? 0) > 0,
    addresses: request.nics.some(({ choices }) => choices.some(({ takes }) => takes.length > 0)),
    bandwidth: request.nics.some(({ minBandwidthKbps }) => minBandwidthKbps !== undefined),
    'instance-cap': settings.instancesPerHostMax > 0,
  };
  return asked[filter] ?? true;
}

/** The first filter that a host does not pass. */
function faultAt(ask: Ask, faults: PlaceFaults, slot: number): Fault | undefined {
  return (
    standingFault(ask, slot) ??
    versionFault(ask, slot) ??
    nameFault(ask, slot) ??
    wordFault(ask, slot) ??
    amountFault(ask, slot) ??
    groupFault(ask, slot) ??
    faults.of(ask.index.table.reaches[slot] as Reach) ??
    bandwidthFault(ask, slot) ??
    capFault(ask, slot)
  );
}

function standingFault({ index: { table } }: Ask, slot: number): Fault | undefined {
  const standing = STANDINGS[table.standings[slot] as number] as (typeof STANDINGS)[number];
  if (standing === 'schedulable') return undefined;
  const down = standing === 'forced-down' || standing === 'disabled' || standing === 'not-up';
  return { filter: down ? 'up-and-enabled' : 'in-service', cause: 'host-not-available', facts: { standing } };
}

function versionFault(
  { index: { table }, request: { serviceVersion: needs = 0 } }: Ask,
  slot: number,
): Fault | undefined {
  const has = table.hosts[slot]?.serviceVersion ?? 0;
  return has < needs ? { filter: 'version', cause: 'host-too-old', facts: { needs } } : undefined;
}

function nameFault({ index: { table }, request, excludedHosts }: Ask, slot: number): Fault | undefined {
  const host = table.ids[slot] as string;
  if (request.onlyHost !== undefined && request.onlyHost !== host) {
    return { filter: 'only-host', cause: 'host-excluded' };
  }
  return excludedHosts.has(host) ? { filter: 'excluded-hosts', cause: 'host-excluded' } : undefined;
}

function wordFault({ index, request }: Ask, slot: number): Fault | undefined {
  const { site, zone, aggregates = [], requiredTraits = [], forbiddenTraits = [] } = request;
  const has = (bits: { has: (slot: number) => boolean } | undefined): boolean => bits?.has(slot) === true;
  if (site !== undefined && !has(index.sites.get(site)))
    return { filter: 'site', cause: 'wrong-site', facts: { site } };
  if (zone !== undefined && !has(index.zones.get(zone)))
    return { filter: 'zone', cause: 'wrong-zone', facts: { zone } };
  const aggregate = aggregates.find((name) => !has(index.aggregates.get(name)));
  if (aggregate !== undefined) return { filter: 'aggregates', cause: 'not-in-aggregate', facts: { aggregate } };
  const missing = requiredTraits.find((name) => !has(index.traits.get(name)));
  if (missing !== undefined) return { filter: 'required-traits', cause: 'trait-missing', facts: { trait: missing } };
  const forbidden = forbiddenTraits.find((name) => has(index.traits.get(name)));
  if (forbidden === undefined) return undefined;
  return { filter: 'forbidden-traits', cause: 'trait-forbidden', facts: { trait: forbidden } };
}

function amountFault({ index: { table }, amounts }: Ask, slot: number): Fault | undefined {
  const { vcpus, memoryMiB, diskGiB, resources = {} } = amounts;
  const left = (figure: number): number => table.figures[slot * FIGURES + figure] as number;
  const fault =
    short('vcpus', vcpus, left(VCPUS)) ??
    short('memory', memoryMiB, left(MEMORY)) ??
    short('disk', diskGiB, left(DISK));
  if (fault !== undefined) return fault;
  for (const [resource, asked] of Object.entries(resources)) {
    const has = table.leftOf(resource, slot);
    if (has < asked) return { filter: 'resources', cause: 'resource-short', facts: { resource, asked }, left: has };
  }
  return undefined;
}

function short(filter: Filter, asked: number, has: number): Fault | undefined {
  return has < asked ? { filter, cause: `${filter}-short`, facts: { asked }, left: has } : undefined;
}

function groupFault({ index: { table }, request, group }: Ask, slot: number): Fault | undefined {
  if (group?.forbids(table.ids[slot] as string) !== true) return undefined;
  return { filter: 'group', cause: `${group.policy}-broken`, facts: { group: request.group?.id ?? '' } };
}

function capFault({ index: { table }, settings }: Ask, slot: number): Fault | undefined {
  const most = settings.instancesPerHostMax;
  if (most === 0 || (table.figures[slot * FIGURES + INSTANCES] as number) < most) return undefined;
  return { filter: 'instance-cap', cause: 'instance-cap', facts: { instancesPerHostMax: most } };
}

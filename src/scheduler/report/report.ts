// Why no host fits: one pass over all hosts, each counted at the first filter that excludes it. This alone costs O(fleet), and only a request that
// failed pays it. It has counts; the only hosts that it may name are those that the request itself excludes.
import type { FleetReader } from '../../fleet/index.ts';
import { prepareRequest, type PreparedRequest } from '../search/prepared-request.ts';
import type { NetworkReach } from '../host-index/bay-groups.ts';
import { DISK, FIGURES, INSTANCES, MEMORY, AVAILABILITIES, VCPUS } from '../host-index/host-table.ts';
import { bandwidthRejection, NicRejections } from './nic-rejections.ts';
import { lossFacts, Losses, type FilterLoss } from './losses.ts';
import type { ReportStage, ScheduleReport, ScheduleRequest } from '../request.ts';

/** A filter that a host did not pass, and why. */
export interface FilterRejection {
  readonly filter: FilterName;
  readonly cause: string;
  readonly facts?: Readonly<Record<string, string | number>>;
  /** The free amount of the host: the report has the maximum over all hosts. */
  readonly left?: number;
  /** The host, where the request excludes it by name. */
  readonly host?: string;
}

/** In the order in which they are applied. */
const FILTERS = [
  // First, so that all later stages count hosts of the requested site only.
  'site',
  'up-and-enabled',
  'in-service',
  'version',
  'only-host',
  'excluded-hosts',
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
export type FilterName = (typeof FILTERS)[number];

/** The number of stages that are kept with an instance. */
const STAGES_MAX = 40;

/** Hosts between two yields: well below a millisecond. */
const HOSTS_PER_STEP = 512;

export function composeReport(fleet: FleetReader, request: ScheduleRequest): ScheduleReport {
  const steps = reportInSteps(fleet, request);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/**
 * The same in steps. Other requests may use the scheduler between two of them, so nothing of a request is cached: hosts that join or leave meanwhile
 * may be counted or not.
 */
export function* reportInSteps(fleet: FleetReader, request: ScheduleRequest): Generator<undefined, ScheduleReport> {
  const losses = new Losses();
  let prepared = prepareRequest(fleet, request);
  let faults = new NicRejections(prepared.places);
  let hosts = 0;
  for (const slot of prepared.index.slots()) {
    hosts += 1;
    const fault = firstRejection(prepared, faults, slot);
    if (fault !== undefined) losses.count(fault);
    if (hosts % HOSTS_PER_STEP !== 0) continue;
    yield;
    prepared = prepareRequest(fleet, request);
    faults = new NicRejections(prepared.places);
  }
  return { hosts, stages: composeStages(prepared, hosts, losses.rank()) };
}

/** The report for callers who see only the requested site: the number of hosts elsewhere is not in it. */
export function scopeReportToSite<S extends ReportStage>(report: {
  readonly hosts: number;
  readonly stages: readonly S[];
}): { hosts: number; stages: S[] } {
  const outside = report.stages.find(({ filter }) => filter === 'site');
  if (outside === undefined) return { hosts: report.hosts, stages: [...report.stages] };
  return { hosts: outside.after, stages: report.stages.filter((stage) => stage !== outside) };
}

/** One stage after the other, each with the remaining hosts of the one before. */
function composeStages(prepared: PreparedRequest, hosts: number, losses: readonly FilterLoss[]): ReportStage[] {
  const stages: ReportStage[] = [];
  let before = hosts;
  for (const filter of FILTERS.filter((one) => isApplied(one, prepared))) {
    const own = losses.filter(({ rejection }) => rejection.filter === filter);
    if (own.length === 0) stages.push({ filter, before, after: before });
    for (const loss of own) {
      const facts = lossFacts(loss);
      const optional = Object.keys(facts).length > 0 ? { facts } : {};
      stages.push({ filter, before, after: before - loss.lost, cause: loss.rejection.cause, ...optional });
      before -= loss.lost;
    }
  }
  return limitStages(stages);
}

/** Stages without losses are dropped; if there are still too many, the last ones are merged. */
function limitStages(stages: readonly ReportStage[]): ReportStage[] {
  if (stages.length <= STAGES_MAX) return [...stages];
  const rejectingStages = stages.filter(({ cause }) => cause !== undefined);
  const rest = rejectingStages.slice(STAGES_MAX - 1);
  const [first, last] = [rest[0], rest.at(-1)];
  if (first === undefined || last === undefined || rest.length === 1) return rejectingStages;
  const further = { filter: 'further', before: first.before, after: last.after, cause: 'several-causes' };
  return [...rejectingStages.slice(0, STAGES_MAX - 1), further];
}

function isApplied(filter: FilterName, { request, amounts, settings, group }: PreparedRequest): boolean {
  const isActive: Partial<Record<FilterName, boolean>> = {
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
  return isActive[filter] ?? true;
}

/** The first filter that a host does not pass. */
function firstRejection(prepared: PreparedRequest, faults: NicRejections, slot: number): FilterRejection | undefined {
  return (
    siteRejection(prepared, slot) ??
    availabilityRejection(prepared, slot) ??
    versionRejection(prepared, slot) ??
    nameRejection(prepared, slot) ??
    tagRejection(prepared, slot) ??
    amountRejection(prepared, slot) ??
    groupRejection(prepared, slot) ??
    faults.rejectionFor(prepared.index.table.reaches[slot] as NetworkReach) ??
    bandwidthRejection(prepared, slot) ??
    capRejection(prepared, slot)
  );
}

function availabilityRejection({ index: { table } }: PreparedRequest, slot: number): FilterRejection | undefined {
  const standing = AVAILABILITIES[table.availabilities[slot] as number] as (typeof AVAILABILITIES)[number];
  if (standing === 'schedulable') return undefined;
  const down =
    standing === 'forced-down' || standing === 'disabled' || standing === 'not-up' || standing === 'degraded';
  return { filter: down ? 'up-and-enabled' : 'in-service', cause: 'host-not-available', facts: { standing } };
}

function versionRejection(
  { index: { table }, request: { serviceVersion: needs = 0 } }: PreparedRequest,
  slot: number,
): FilterRejection | undefined {
  const has = table.hosts[slot]?.serviceVersion ?? 0;
  return has < needs ? { filter: 'version', cause: 'host-too-old', facts: { needs } } : undefined;
}

function nameRejection(
  { index: { table }, request, excludedHosts }: PreparedRequest,
  slot: number,
): FilterRejection | undefined {
  const host = table.ids[slot] as string;
  if (request.onlyHost !== undefined && request.onlyHost !== host) {
    return { filter: 'only-host', cause: 'host-excluded' };
  }
  if (!excludedHosts.has(host)) return undefined;
  const why = request.exclusionReasons?.get(host);
  const excluded = { filter: 'excluded-hosts', cause: 'host-excluded' } as const;
  return why === undefined ? excluded : { ...excluded, facts: { ...why }, host };
}

function siteRejection({ index, request: { site } }: PreparedRequest, slot: number): FilterRejection | undefined {
  if (site === undefined || index.sites.get(site)?.has(slot) === true) return undefined;
  return { filter: 'site', cause: 'wrong-site', facts: { site } };
}

function tagRejection({ index, request }: PreparedRequest, slot: number): FilterRejection | undefined {
  const { zone, aggregates = [], requiredTraits = [], forbiddenTraits = [] } = request;
  const has = (bits: { has: (slot: number) => boolean } | undefined): boolean => bits?.has(slot) === true;
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

function amountRejection({ index: { table }, amounts }: PreparedRequest, slot: number): FilterRejection | undefined {
  const { vcpus, memoryMiB, diskGiB, resources = {} } = amounts;
  const freeAmount = (figure: number): number => table.figures[slot * FIGURES + figure] as number;
  const fault =
    shortageRejection('vcpus', vcpus, freeAmount(VCPUS)) ??
    shortageRejection('memory', memoryMiB, freeAmount(MEMORY)) ??
    shortageRejection('disk', diskGiB, freeAmount(DISK));
  if (fault !== undefined) return fault;
  for (const [resource, requested] of Object.entries(resources)) {
    const has = table.leftOf(resource, slot);
    if (has < requested)
      return { filter: 'resources', cause: 'resource-short', facts: { resource, asked: requested }, left: has };
  }
  return undefined;
}

function shortageRejection(filter: FilterName, requested: number, has: number): FilterRejection | undefined {
  return has < requested ? { filter, cause: `${filter}-short`, facts: { asked: requested }, left: has } : undefined;
}

function groupRejection(
  { index: { table }, request, group }: PreparedRequest,
  slot: number,
): FilterRejection | undefined {
  if (group?.isForbidden(table.ids[slot] as string) !== true) return undefined;
  return { filter: 'group', cause: `${group.policy}-broken`, facts: { group: request.group?.id ?? '' } };
}

function capRejection({ index: { table }, settings }: PreparedRequest, slot: number): FilterRejection | undefined {
  const most = settings.instancesPerHostMax;
  if (most === 0 || (table.figures[slot * FIGURES + INSTANCES] as number) < most) return undefined;
  return { filter: 'instance-cap', cause: 'instance-cap', facts: { instancesPerHostMax: most } };
}

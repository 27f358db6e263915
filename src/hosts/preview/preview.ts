// What a scale-in would do, before it is started: tried with all its hosts tombstoned, by the same evacuators that would carry it out. It
// writes nothing, and its result must not depend on the order in which the hosts are named.
import type { FleetReader, Refusal, Steps } from '../../fleet/index.ts';
import type { StoredHost } from '../decide.ts';
import { runAllSteps, type PlannedEvacuation, type Evacuation, type Evacuator, type Tenant } from '../evacuator.ts';
import type { ConnectionState, HostState } from '../model.ts';
import { estimateOf, type Budgets, type Estimate } from './estimate.ts';
import { denyChangedPlan, planHashOf, type Hash } from './plan-hash.ts';
import { siteToStayIn } from './drains-under-way.ts';
import { leaversOf } from './leavers.ts';
import { loadsOf, type Loads } from './loads.ts';
import type { Slices } from './plan-slices.ts';
import { planBatch, planBatchInSteps, type EvacuatorPlan } from './batch-plan.ts';
import type { Strays } from '../strays-schema.ts';

export interface PreviewScaleIn {
  /** In any form; the same one twice counts once. */
  readonly hosts: readonly string[];
  /** Hosts of other sites are unknown to a caller that is bound to one. */
  readonly site?: string | undefined;
  readonly nowMs: number;
  readonly hash: Hash;
  readonly budgets: Budgets;
  /** For how many tenants without a target the reasons of every host are listed; none by default. */
  readonly explained?: number;
}

export interface ScaleInPreview {
  /** Sorted by name. */
  readonly hosts: readonly HostPreview[];
  /** Tenants without a target now. */
  readonly blocked: readonly PlannedEvacuation[];
  /** Services that are handed over, and those that end with their host. */
  readonly designations: readonly DesignationMove[];
  readonly loads: Loads;
  readonly interruptions: readonly InterruptionCount[];
  readonly estimate: Estimate;
  readonly planHash: string;
}

export interface HostPreview {
  readonly host: string;
  readonly state: HostState;
  readonly connection: ConnectionState;
  /** Moving off it, or drained on it, just now. */
  readonly underWay: number;
  /** No evacuator moves them: they block its removal. */
  readonly strays?: Strays;
  /** Sorted by evacuator, then by id. */
  readonly tenants: readonly TenantPlan[];
}

export interface TenantPlan {
  readonly tenant: Tenant;
  readonly evacuation: Evacuation;
}

export interface DesignationMove {
  readonly tenant: Tenant;
  readonly from: string;
  /** Absent when no other host has presence: the service stays, degraded, and ends with the host. */
  readonly to?: string;
}

/** `none`: not noticeable. `brief`: less than a second. `restart`: stopped and started. `ends`: for good. */
export type InterruptionKind = 'none' | 'brief' | 'restart' | 'ends';

export interface InterruptionCount {
  readonly kind: string;
  readonly by: Evacuation['kind'];
  readonly how?: string;
  readonly count: number;
  readonly interruption: InterruptionKind;
}

/** In one go, for callers that hold up nothing else. */
export function previewScaleIn(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  request: PreviewScaleIn,
): ScaleInPreview | Refusal {
  const hosts = leaversOf(fleet, request.hosts, request.site);
  if ('code' in hosts) return hosts;
  const { nowMs, explained = 0 } = request;
  const planned = planBatch(fleet, evacuators, {
    hosts,
    siteToStayIn: siteOf(fleet, request),
    readIn: request.site,
    nowMs,
    explained,
  });
  return runAllSteps(assemble({ fleet, evacuators, hosts, planned }, request));
}

/** The same in slices: the first and the last part may be planned on different revisions of the fleet. */
export function* planPreviewInSteps(
  slices: Slices,
  evacuators: readonly Evacuator[],
  request: PreviewScaleIn,
): Steps<ScaleInPreview | Refusal> {
  const { fleet } = slices;
  const hosts = leaversOf(fleet, request.hosts, request.site);
  if ('code' in hosts) return hosts;
  const { nowMs, explained = 0 } = request;
  const how = { hosts, siteToStayIn: siteOf(fleet, request), readIn: request.site, nowMs, explained };
  const planned = yield* planBatchInSteps(slices, evacuators, how);
  return yield* assemble({ fleet, evacuators, hosts, planned }, request);
}

/** A caller without a site starts drains that may leave the host's site. One with a site starts drains within it, and does not narrow those under way. */
function siteOf(fleet: FleetReader, { site }: Pick<PreviewScaleIn, 'site'>): (host: StoredHost) => string | undefined {
  return ({ id }) => (site === undefined ? undefined : siteToStayIn(fleet, id, site));
}

interface PreviewInput {
  readonly fleet: FleetReader;
  readonly evacuators: readonly Evacuator[];
  readonly hosts: readonly StoredHost[];
  readonly planned: readonly EvacuatorPlan[];
}

function* assemble(
  { fleet, evacuators, hosts, planned }: PreviewInput,
  { hash, budgets }: PreviewScaleIn,
): Steps<ScaleInPreview> {
  const all = planned.flatMap(({ evacuating }) => evacuating);
  const byHost = { evacuators, all: Map.groupBy(all, ({ host }) => host) };
  const previews: HostPreview[] = [];
  for (const host of hosts) {
    previews.push(hostPreview(fleet, host, byHost));
    yield;
  }
  const loads = loadsOf(fleet, planned);
  yield;
  const interruptions = interruptionsOf(all);
  const estimate = estimateOf(fleet, planned, budgets);
  yield;
  return {
    hosts: previews,
    blocked: all.filter(({ evacuation }) => evacuation.kind === 'wait'),
    designations: listPromisedEvacuations(planned).flatMap(designationMove),
    loads,
    interruptions,
    estimate,
    planHash: hashOf(hosts, planned, hash),
  };
}

export interface PinnedPlan {
  readonly hosts: readonly string[];
  readonly site?: string | undefined;
  /** The plan that a preview showed. */
  readonly plan: string;
  readonly nowMs: number;
  readonly hash: Hash;
}

/** For a start that is bound to a preview: planned again, in its own commit. Undefined when it is the same plan. */
export function planProblem(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { hosts: names, site, plan, nowMs, hash }: PinnedPlan,
): Refusal | undefined {
  const hosts = leaversOf(fleet, names, site);
  if ('code' in hosts) return hosts;
  const planned = planBatch(fleet, evacuators, { hosts, siteToStayIn: siteOf(fleet, { site }), nowMs });
  return denyChangedPlan(plan, hashOf(hosts, planned, hash));
}

/** The same in steps, before the commit; returns the plan, too. */
export function* planPinnedInSteps(
  slices: Slices,
  evacuators: readonly Evacuator[],
  { hosts, site, plan, nowMs, hash }: Omit<PinnedPlan, 'hosts'> & { readonly hosts: readonly StoredHost[] },
): Steps<{ readonly planned: readonly EvacuatorPlan[]; readonly problem?: Refusal }> {
  const how = { hosts, siteToStayIn: siteOf(slices.fleet, { site }), nowMs };
  const planned = yield* planBatchInSteps(slices, evacuators, how);
  const problem = denyChangedPlan(plan, hashOf(hosts, planned, hash));
  yield;
  return { planned, ...(problem !== undefined && { problem }) };
}

function hashOf(hosts: readonly StoredHost[], planned: readonly EvacuatorPlan[], hash: Hash): string {
  const all = planned.flatMap(({ evacuating }) => evacuating);
  return planHashOf({ hosts: hosts.map(({ id }) => id), all, promised: listPromisedEvacuations(planned) }, hash);
}

function listPromisedEvacuations(planned: readonly EvacuatorPlan[]): PlannedEvacuation[] {
  return planned.flatMap(({ evacuator, evacuating }) => (evacuator.leavesFirst === true ? evacuating : []));
}

function hostPreview(
  fleet: FleetReader,
  { id, doc }: StoredHost,
  {
    evacuators,
    all,
  }: { readonly evacuators: readonly Evacuator[]; readonly all: ReadonlyMap<string, PlannedEvacuation[]> },
): HostPreview {
  return {
    host: id,
    state: doc.state,
    connection: doc.connection.state,
    underWay: evacuators.reduce(
      (sum, one) => sum + one.countLeaving(fleet, id) + (one.countDraining?.(fleet, id) ?? 0),
      0,
    ),
    ...(doc.strays !== undefined && { strays: doc.strays }),
    tenants: (all.get(id) ?? []).map(({ tenant, evacuation }) => ({ tenant, evacuation })),
  };
}

function designationMove({ host: from, tenant, evacuation }: PlannedEvacuation): DesignationMove[] {
  switch (evacuation.kind) {
    case 'move':
    case 'rebuild':
      return [{ tenant, from, to: evacuation.to }];
    case 'ends':
      return [{ tenant, from }];
    case 'drain':
    case 'wait':
      return [];
  }
}

function interruptionsOf(all: readonly PlannedEvacuation[]): InterruptionCount[] {
  const counts = new Map<string, InterruptionCount>();
  for (const { tenant, evacuation } of all) {
    const how = evacuation.kind === 'move' ? evacuation.how : undefined;
    const key = [tenant.kind, evacuation.kind, how].join(' ');
    const interruption = interruptionOf(evacuation);
    const { count } = counts.get(key) ?? { count: 0 };
    const by = { kind: tenant.kind, by: evacuation.kind, ...(how !== undefined && { how }) };
    counts.set(key, { ...by, count: count + 1, interruption });
  }
  return [...counts].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one);
}

/** Kinds of moves that a running tenant notices. In a handover the new path works before the old one ends. */
const NOTICED: Readonly<Record<string, InterruptionKind>> = { live: 'brief', cold: 'restart' };

function interruptionOf(evacuation: Evacuation): InterruptionKind {
  switch (evacuation.kind) {
    case 'move':
      return NOTICED[evacuation.how] ?? 'none';
    // What lives in it is started elsewhere.
    case 'drain':
    case 'rebuild':
      return 'restart';
    case 'ends':
      return 'ends';
    case 'wait':
      return 'none';
  }
}

// Plans for hosts that leave together, as if they were all leaving already, and beside those that others are draining. It changes nothing outside
// its trial.
import { runTrial, put, type FleetReader, type Trial, type Steps } from '../../fleet/index.ts';
import type { StoredHost } from '../decide.ts';
import {
  runAllSteps,
  planEvacuation,
  type PlannedEvacuation,
  type Evacuator,
  type LeavingTenants,
  type OpenTrial,
  type PlanOptions,
  type PlanSteps,
} from '../evacuator.ts';
import { HOST, isTombstoned } from '../model.ts';
import { findDrainingHosts, listRemainingTenants, siteToStayIn } from './drains-under-way.ts';
import type { Slices } from './plan-slices.ts';

export interface EvacuatorPlan {
  readonly evacuator: Evacuator;
  readonly evacuating: readonly PlannedEvacuation[];
}

export interface BatchPlanRequest extends Omit<PlanOptions, 'isExplained'> {
  /** Those that the plan is about. What is left on hosts that drain already is planned with it, and not reported. */
  readonly hosts: readonly StoredHost[];
  /** The site that instances of a host must stay in; undefined when they may move anywhere. */
  readonly siteToStayIn: (host: StoredHost) => string | undefined;
  /** The whole inventory, unless only tenants that are not moving yet are requested, or the first of them. */
  readonly tenantsOf?: (
    evacuator: Evacuator,
    fleet: FleetReader,
    host: string,
  ) => Iterable<LeavingTenants['tenants'][number]>;
}

const INVENTORY: NonNullable<BatchPlanRequest['tenantsOf']> = (evacuator, fleet, host) =>
  evacuator.inventory(fleet, host);

/** As a start would plan it: with all of them tombstoned. Costs O(tenants). */
export function planBatch(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  request: BatchPlanRequest,
): EvacuatorPlan[] {
  const how = explainNamedOnly(request);
  return runTrial(fleet, (trial) => {
    runAllSteps(tombstone(trial, request.hosts));
    return evacuators.map((evacuator) => {
      const leavers = runAllSteps(collectLeavers(trial, evacuator, request));
      return { evacuator, evacuating: ofNamedHosts(planEvacuation(trial, evacuator, leavers, how), request) };
    });
  });
}

/** The hosts whose tenants such a plan looks at. Costs O(hosts that are draining). */
export function hostsPlannedWith(fleet: FleetReader, evacuator: Evacuator, hosts: readonly string[]): string[] {
  return [...hosts, ...otherDrains(fleet, evacuator, new Set(hosts)).map(({ id }): string => id)];
}

/** Services are placed by what they mean to a host, not by its room: those of other drains take nothing from these. */
function otherDrains(fleet: FleetReader, evacuator: Evacuator, named: ReadonlySet<string>): StoredHost[] {
  return evacuator.leavesFirst === true ? [] : findDrainingHosts(fleet).filter(({ id }) => !named.has(id));
}

function explainNamedOnly(request: BatchPlanRequest): PlanOptions {
  const { nowMs, explained = 0, readIn } = request;
  const named = namesOf(request);
  return { nowMs, explained, readIn, isExplained: (host) => named.has(host) };
}

function ofNamedHosts(planned: readonly PlannedEvacuation[], request: BatchPlanRequest): readonly PlannedEvacuation[] {
  const named = namesOf(request);
  return planned.filter(({ host }) => named.has(host));
}

function namesOf({ hosts }: BatchPlanRequest): ReadonlySet<string> {
  return new Set(hosts.map(({ id }) => id));
}

/** The same in steps. Each evacuator has a trial of its own, which is dropped afterwards: undoing it all would be one long step. */
export function* planBatchInSteps(
  slices: Slices,
  evacuators: readonly Evacuator[],
  request: BatchPlanRequest,
): Steps<EvacuatorPlan[]> {
  const planned: EvacuatorPlan[] = [];
  for (const evacuator of evacuators)
    planned.push({ evacuator, evacuating: yield* planOne(slices, evacuator, request) });
  return planned;
}

function* planOne(slices: Slices, evacuator: Evacuator, request: BatchPlanRequest): PlanSteps {
  const leavers = yield* collectLeavers(slices.fleet, evacuator, request);
  const named = namesOf(request);
  if (leavers.every(({ host, tenants }) => !named.has(host) || tenants.length === 0)) return [];
  const { open } = openTombstonedTrials(slices, (trial) => tombstone(trial, request.hosts));
  return ofNamedHosts(yield* evacuator.plan(open, leavers, explainNamedOnly(request)), request);
}

/** Opens the trials of plans that are made in slices. What is begun by a plan is begun on its trial. */
export function openTombstonedTrials(
  slices: Slices,
  tombstoneIn: (trial: Trial) => Steps<void>,
): { readonly open: OpenTrial; readonly last: () => FleetReader } {
  let last: FleetReader = slices.fleet;
  return {
    *open(...kinds) {
      const trial = slices.newTrial([HOST.name, ...kinds]);
      last = trial;
      yield;
      yield* tombstoneIn(trial);
      return trial;
    },
    last: () => last,
  };
}

/** In the order of ids, so that the same tenants get the places whichever of the hosts are named. */
function* collectLeavers(
  fleet: FleetReader,
  evacuator: Evacuator,
  { hosts, siteToStayIn: siteOf, tenantsOf = INVENTORY }: BatchPlanRequest,
): Steps<readonly LeavingTenants[]> {
  const leavers: LeavingTenants[] = [];
  for (const host of hosts) {
    leavers.push({ host: host.id, tenants: [...tenantsOf(evacuator, fleet, host.id)], within: siteOf(host) });
    yield;
  }
  for (const { id } of otherDrains(fleet, evacuator, new Set(hosts.map((host) => host.id)))) {
    const tenants = listRemainingTenants(evacuator, fleet, id);
    leavers.push({ host: id, tenants, within: siteToStayIn(fleet, id) });
    yield;
  }
  return leavers.sort((one, other) => (one.host < other.host ? -1 : 1));
}

function* tombstone(trial: Trial, hosts: readonly StoredHost[]): Steps<void> {
  for (const { id, doc } of hosts) {
    if (!isTombstoned(doc)) trial.add([put(HOST, id, { ...doc, state: 'draining' })]);
    yield;
  }
}

/** The host of a tenant afterwards; undefined for one that stays or ends. */
export function targetOf({ evacuation }: PlannedEvacuation): string | undefined {
  return evacuation.kind === 'move' || evacuation.kind === 'rebuild' ? evacuation.to : undefined;
}

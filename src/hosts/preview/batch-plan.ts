// Plans for hosts that leave together, as if they were all leaving already. It changes nothing outside its trial.
import { runTrial, put, type FleetReader, type Trial } from '../../fleet/index.ts';
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
import type { Slices, Steps } from './plan-slices.ts';

export interface EvacuatorPlan {
  readonly evacuator: Evacuator;
  readonly evacuating: readonly PlannedEvacuation[];
}

export interface BatchPlanRequest extends PlanOptions {
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
  return runTrial(fleet, (trial) => {
    runAllSteps(tombstone(trial, request.hosts));
    return evacuators.map((evacuator) => {
      const leavers = runAllSteps(collectLeavers(trial, evacuator, request));
      return { evacuator, evacuating: planEvacuation(trial, evacuator, leavers, request) };
    });
  });
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
  if (leavers.every(({ tenants }) => tenants.length === 0)) return [];
  const { open } = tombstonedTrials(slices, (trial) => tombstone(trial, request.hosts));
  return yield* evacuator.plan(open, leavers, request);
}

/** Opens the trials of plans that are made in slices. What is begun by a plan is begun on its trial. */
export function tombstonedTrials(
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

function* collectLeavers(
  fleet: FleetReader,
  evacuator: Evacuator,
  { hosts, siteToStayIn, tenantsOf = INVENTORY }: BatchPlanRequest,
): Steps<readonly LeavingTenants[]> {
  const leavers: LeavingTenants[] = [];
  for (const host of hosts) {
    leavers.push({ host: host.id, tenants: [...tenantsOf(evacuator, fleet, host.id)], within: siteToStayIn(host) });
    yield;
  }
  return leavers;
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

// Planning for hosts that leave together, as if they were leaving already.
import { runTrial, put, type FleetReader, type Trial } from '../fleet/index.ts';
import type { StoredHost } from './decide.ts';
import {
  allSteps,
  planOn,
  type Evacuating,
  type Evacuator,
  type Leavers,
  type PlanHow,
  type PlanSteps,
} from './evacuator.ts';
import { HOST, isTombstoned } from './model.ts';
import type { Slices, Steps } from './plan-slices.ts';

export interface PlannedBy {
  readonly evacuator: Evacuator;
  readonly evacuating: readonly Evacuating[];
}

export interface PlanTogether extends PlanHow {
  readonly hosts: readonly StoredHost[];
  /** The site that instances of a host must stay in; they may go anywhere when it says none. */
  readonly within: (host: StoredHost) => string | undefined;
  /** All that lives on them, unless only what is not on its way yet is asked for, or the first of it. */
  readonly listed?: (evacuator: Evacuator, fleet: FleetReader, host: string) => Iterable<Leavers['tenants'][number]>;
}

const INVENTORY: NonNullable<PlanTogether['listed']> = (evacuator, fleet, host) => evacuator.inventory(fleet, host);

/** As a start would plan it: with all of them tombstoned. Costs what lives on them. */
export function planTogether(fleet: FleetReader, evacuators: readonly Evacuator[], asked: PlanTogether): PlannedBy[] {
  return runTrial(fleet, (trial) => {
    allSteps(tombstone(trial, asked.hosts));
    return evacuators.map((evacuator) => {
      const leavers = allSteps(leaversFor(trial, evacuator, asked));
      return { evacuator, evacuating: runTrial(trial, (own) => allSteps(planOn(evacuator, own, leavers, asked))) };
    });
  });
}

/** The same in steps. Each evacuator has a trial of its own, which is left behind: to take it all back would be one long step. */
export function* planTogetherSteps(
  slices: Slices,
  evacuators: readonly Evacuator[],
  asked: PlanTogether,
): Steps<PlannedBy[]> {
  const planned: PlannedBy[] = [];
  for (const evacuator of evacuators) planned.push({ evacuator, evacuating: yield* planOne(slices, evacuator, asked) });
  return planned;
}

function* planOne(slices: Slices, evacuator: Evacuator, asked: PlanTogether): PlanSteps {
  const leavers = yield* leaversFor(slices.fleet, evacuator, asked);
  if (leavers.every(({ tenants }) => tenants.length === 0)) return [];
  const trial = slices.newTrial([HOST.name, ...(evacuator.triesOut ?? [])]);
  yield;
  yield* tombstone(trial, asked.hosts);
  return yield* planOn(evacuator, trial, leavers, asked);
}

function* leaversFor(
  fleet: FleetReader,
  evacuator: Evacuator,
  { hosts, within, listed = INVENTORY }: PlanTogether,
): Steps<readonly Leavers[]> {
  const leavers: Leavers[] = [];
  for (const host of hosts) {
    leavers.push({ host: host.id, tenants: [...listed(evacuator, fleet, host.id)], within: within(host) });
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

/** The host that it would be on afterwards; undefined for what stays or ends. */
export function targetOf({ evacuation }: Evacuating): string | undefined {
  return evacuation.kind === 'move' || evacuation.kind === 'rebuild' ? evacuation.to : undefined;
}

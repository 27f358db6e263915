// Starts the handovers of leaving hosts in the commit that tombstones them, for all hosts together: a start does what its preview showed, not
// the result of planning one host after the other. Handovers beyond the budget are started by the drains.
import { runTrial, type Change, type FleetReader, type Trial } from '../../fleet/index.ts';
import type { OperationId } from '../../operations/index.ts';
import {
  planEvacuation,
  type BeginEvacuation,
  type PreparedEvacuation,
  type PlannedEvacuation,
  type Evacuator,
  type LeavingTenants,
} from '../evacuator.ts';
import { HOST } from '../model.ts';
import { basisOf, isPlanBasisUnchanged, type PlanBasis } from '../preview/plan-basis.ts';
import type { Slices, Steps } from '../preview/plan-slices.ts';
import { targetOf } from '../preview/batch-plan.ts';
import { MOVE_DEADLINE_MS } from './drain.ts';

interface HandoverStart {
  /** All hosts of the request, also those that leave already: a preview plans for all of them. */
  readonly hosts: readonly string[];
  /** The changes that tombstone them. */
  readonly changes: readonly Change[];
  readonly operation: OperationId;
  readonly by: string;
  readonly nowMs: number;
}

export function startHandovers(fleet: FleetReader, evacuators: readonly Evacuator[], leaving: HandoverStart): Change[] {
  const { hosts, changes, nowMs } = leaving;
  const how = howToBegin(leaving);
  return runTrial(fleet, (trial) => {
    trial.add([...changes]);
    return evacuators
      .filter((one) => one.leavesFirst === true)
      .flatMap((evacuator) => {
        const leavers = hosts.map((host) => ({ host, tenants: evacuator.inventory(trial, host) }));
        const startable = evacuator.plan(trial, leavers, nowMs).filter((one) => targetOf(one) !== undefined);
        if (startable.length === 0) return [];
        const begun = evacuator.begin(trial, startable, how);
        // The drains report why.
        return 'code' in begun ? [] : begun.changes;
      });
  });
}

/** The same in steps, before the commit that tombstones them: the prepared handovers of each evacuator, and whether they still hold. */
export function* startHandoversInSteps(
  slices: Slices,
  evacuators: readonly Evacuator[],
  leaving: HandoverStart,
): Steps<PreparedHandovers[]> {
  const { hosts, changes, nowMs } = leaving;
  const begun: PreparedHandovers[] = [];
  for (const evacuator of evacuators) {
    if (evacuator.leavesFirst !== true) continue;
    const basis = basisOf(slices.fleet, [evacuator], hosts);
    const leavers: LeavingTenants[] = [];
    for (const host of hosts) {
      leavers.push({ host, tenants: evacuator.inventory(slices.fleet, host) });
      yield;
    }
    const trial = slices.newTrial([HOST.name, ...(evacuator.trialKinds ?? [])]);
    yield;
    for (const change of changes) {
      if (change.kind === HOST.name) trial.add([change]);
      yield;
    }
    const planned = yield* planEvacuation(evacuator, trial, leavers, { nowMs });
    const startable = planned.filter((one) => targetOf(one) !== undefined);
    if (startable.length === 0) continue;
    const how = howToBegin(leaving);
    begun.push({ evacuator, ...(yield* prepareBatch(trial, { evacuator, startable, how, basis })) });
  }
  return begun;
}

interface HandoverBatch {
  readonly evacuator: Evacuator;
  readonly startable: readonly PlannedEvacuation[];
  readonly how: BeginEvacuation;
  readonly basis: PlanBasis;
}

/** In steps if the evacuator supports them; else the plan holds while nothing of the hosts changes. */
function* prepareBatch(trial: Trial, { evacuator, startable, how, basis }: HandoverBatch): Steps<PreparedEvacuation> {
  if (evacuator.beginInSteps !== undefined) return yield* evacuator.beginInSteps(trial, startable, how);
  const begun = evacuator.begin(trial, startable, how);
  if ('code' in begun) return { changes: [], operations: [], targets: new Map(), isStillValid: () => true };
  const targets = new Map(startable.map((one) => [one.tenant.id, targetOf(one) ?? '']));
  return { ...begun, targets, isStillValid: (fleet) => isPlanBasisUnchanged(fleet, basis) };
}

export interface PreparedHandovers extends PreparedEvacuation {
  readonly evacuator: Evacuator;
}

function howToBegin({ hosts, operation, by, nowMs }: HandoverStart): BeginEvacuation {
  const what = hosts.length === 1 ? `host ${hosts[0]}` : `${hosts.length} hosts`;
  return {
    operation: `hand-over-${operation}` as OperationId,
    by,
    why: `scale-in of ${what}`,
    nowMs,
    deadlineMs: MOVE_DEADLINE_MS,
  };
}

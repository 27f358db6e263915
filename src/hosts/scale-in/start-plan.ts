// What a start does besides tombstoning its hosts: planned in its commit when it is small, before it when it is large; and whether the plan is
// the one that the start is bound to. A start must never carry out another plan than that.
import { notPrepared, type RefusalAnswer } from '../../access/index.ts';
import { mark, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { refuse } from '../../journal/index.ts';
import type { Evacuator } from '../evacuator.ts';
import { hostsPlannedWith } from '../preview/batch-plan.ts';
import { malformedPlan } from '../preview/plan-hash.ts';
import { planProblem } from '../preview/preview.ts';
import { selectHandingOver, startHandovers } from './handover-start.ts';
import type { StartScaleIn } from './decide.ts';

/** Planned before the commit that it is for. */
export interface PreparedStart {
  /** The refusal when the plan differs from the one that the start is bound to. */
  readonly problem?: Refusal;
  /** The started handovers. */
  readonly first: readonly Change[];
  /** Whether it may be committed for these hosts. Costs O(its inputs). */
  readonly isStillValid: (fleet: FleetReader, hosts: readonly string[]) => boolean;
}

interface StartInput {
  readonly command: StartScaleIn;
  readonly hosts: readonly string[];
  /** The changes that tombstone them. */
  readonly changes: readonly Change[];
  /** Whether any of them was not leaving before. */
  readonly isNew: boolean;
}

interface PlannedStart {
  readonly kind: 'planned';
  readonly first: () => readonly Change[];
}

/** The handovers, unless the plan is not the one that the start is bound to. */
export function planStart(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { command, hosts, changes, isNew }: StartInput,
): PlannedStart | RefusalAnswer {
  const { plan, prepared, plannedHereMax = Infinity, ...request } = command;
  if (plan === undefined && !isNew) return { kind: 'planned', first: () => [] };
  const malformed = plan === undefined ? undefined : malformedPlan(plan.plan);
  if (malformed !== undefined) return refuseChangedPlan(malformed);
  if (prepared !== undefined) {
    if (!prepared.isStillValid(fleet, hosts)) return notPrepared();
    return prepared.problem === undefined
      ? { kind: 'planned', first: () => prepared.first }
      : refuseChangedPlan(prepared.problem);
  }
  const planners = plan === undefined ? selectHandingOver(evacuators) : evacuators;
  if (hasMoreThan(fleet, planners, { hosts, most: plannedHereMax })) return notPrepared();
  const problem = plan === undefined ? undefined : planProblem(fleet, evacuators, { ...request, ...plan });
  if (problem !== undefined) return refuseChangedPlan(problem);
  const start = { ...request, hosts, tombstones: changes };
  // What is refused is left to the drains: they say why.
  return { kind: 'planned', first: () => startHandovers(fleet, evacuators, start).flatMap((one) => one.changes) };
}

function refuseChangedPlan(problem: Refusal): RefusalAnswer {
  mark('plan-changed');
  return refuse(problem) as RefusalAnswer;
}

/** Whether these hosts, and those that are planned with them, have more tenants than this. Costs O(limit). */
function hasMoreThan(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { hosts, most }: { readonly hosts: readonly string[]; readonly most: number },
): boolean {
  if (most === Infinity) return false;
  let count = 0;
  for (const evacuator of evacuators) {
    for (const host of hostsPlannedWith(fleet, evacuator, hosts)) {
      count += evacuator.inventory(fleet, host).length;
      if (count > most) return true;
    }
  }
  return false;
}

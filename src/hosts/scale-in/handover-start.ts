// How handovers are begun for hosts that leave: planned, begun and named here alone. A start begins them in the commit that tombstones its
// hosts, for all of them together: so it does what its preview showed, and not what comes of looking at one host after the other.
// What finds no room then is begun by the drains, host by host.
import { runTrial, type Change, type FleetReader, type Refusal, type Trial, type Steps } from '../../fleet/index.ts';
import type { OperationId } from '../../operations/index.ts';
import {
  beginEvacuation,
  planEvacuation,
  type BeginEvacuation,
  type EvacuationValidity,
  type PlannedEvacuation,
  type Evacuator,
  type LeavingTenants,
} from '../evacuator.ts';
import { HOST } from '../model.ts';
import { basisOf, isPlanBasisUnchanged, type PlanBasis } from '../preview/plan-basis.ts';
import type { Slices } from '../preview/plan-slices.ts';
import { targetOf, openTombstonedTrials } from '../preview/batch-plan.ts';

/** A move that is begun ends by itself, whatever becomes of the drain. */
const MOVE_DEADLINE_MS = 3600 * 1000;

interface HandoverStart {
  /** All hosts of the request, also those that leave already: a preview plans for all of them. */
  readonly hosts: readonly string[];
  /** What tombstones those that are not in the fleet that it is planned on. */
  readonly tombstones: readonly Change[];
  /** What they are begun by: it names their operations. */
  readonly operation: string;
  readonly by: string;
  readonly within?: string | undefined;
  readonly nowMs: number;
}

/** What one evacuator has begun, and what it could not; none for one that has nothing on these hosts. */
interface StartedHandovers {
  readonly evacuator: Evacuator;
  /** For each tenant, also for those that wait. */
  readonly planned: readonly PlannedEvacuation[];
  readonly changes: readonly Change[];
  readonly refusal?: Refusal;
}

export interface PreparedHandovers extends EvacuationValidity {
  readonly evacuator: Evacuator;
  readonly changes: readonly Change[];
}

/** Those whose tenants change hands before anything moves. */
export function selectHandingOver(evacuators: readonly Evacuator[]): readonly Evacuator[] {
  return evacuators.filter((one) => one.leavesFirst === true);
}

export function startHandovers(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  start: HandoverStart,
): StartedHandovers[] {
  if (start.tombstones.length === 0) return startOn(fleet, evacuators, start);
  return runTrial(fleet, (trial) => {
    trial.add([...start.tombstones]);
    return startOn(trial, evacuators, start);
  });
}

function startOn(fleet: FleetReader, evacuators: readonly Evacuator[], start: HandoverStart): StartedHandovers[] {
  return selectHandingOver(evacuators).flatMap((evacuator): StartedHandovers[] => {
    const leavers = start.hosts.map((host) => ({ host, tenants: evacuator.inventory(fleet, host) }));
    if (leavers.every(({ tenants }) => tenants.length === 0)) return [];
    const planned = planEvacuation(fleet, evacuator, leavers, start);
    const startable = planned.filter((one) => targetOf(one) !== undefined);
    if (startable.length === 0) return [{ evacuator, planned, changes: [] }];
    const started = beginEvacuation(fleet, evacuator, startable, handoverCommand(start));
    if ('code' in started) return [{ evacuator, planned, changes: [], refusal: started }];
    return [{ evacuator, planned, changes: started.changes }];
  });
}

/** The same in steps, before the commit that tombstones the hosts: for each evacuator what it begins, and whether that still holds. */
export function* startHandoversInSteps(
  slices: Slices,
  evacuators: readonly Evacuator[],
  start: HandoverStart,
): Steps<PreparedHandovers[]> {
  const { hosts, tombstones, nowMs } = start;
  const started: PreparedHandovers[] = [];
  for (const evacuator of selectHandingOver(evacuators)) {
    const basis = basisOf(slices.fleet, [evacuator], hosts);
    const leavers: LeavingTenants[] = [];
    for (const host of hosts) {
      leavers.push({ host, tenants: evacuator.inventory(slices.fleet, host) });
      yield;
    }
    const trials = openTombstonedTrials(slices, (trial) => addHosts(trial, tombstones));
    const planned = yield* evacuator.plan(trials.open, leavers, { nowMs });
    const startable = planned.filter((one) => targetOf(one) !== undefined);
    if (startable.length === 0) continue;
    const how = handoverCommand(start);
    started.push({ evacuator, ...(yield* prepareBatch(trials.last(), { evacuator, startable, how, basis })) });
  }
  return started;
}

function* addHosts(trial: Trial, changes: readonly Change[]): Steps<void> {
  for (const change of changes) {
    if (change.kind === HOST.name) trial.add([change]);
    yield;
  }
}

interface HandoverBatch {
  readonly evacuator: Evacuator;
  readonly startable: readonly PlannedEvacuation[];
  readonly how: BeginEvacuation;
  readonly basis: PlanBasis;
}

function* prepareBatch(
  planned: FleetReader,
  { evacuator, startable, how, basis }: HandoverBatch,
): Steps<Omit<PreparedHandovers, 'evacuator'>> {
  const started = yield* evacuator.begin(planned, startable, how);
  // The drains say why.
  if ('code' in started) return { changes: [], targets: new Map(), isStillValid: () => true };
  const { changes, validity } = started;
  if (validity !== undefined) return { changes, ...validity };
  const targets = new Map(startable.map((one) => [one.tenant.id, targetOf(one) ?? '']));
  return { changes, targets, isStillValid: (fleet) => isPlanBasisUnchanged(fleet, basis) };
}

/** Services that change hands are not moves: their operations have a name and a budget of their own. */
function handoverCommand(start: HandoverStart): BeginEvacuation {
  return evacuationCommand(start, `hand-over-${start.operation}` as OperationId);
}

/** What is begun off these hosts, by a start or by a drain. */
export function evacuationCommand(
  { hosts, by, within, nowMs }: Pick<HandoverStart, 'hosts' | 'by' | 'within' | 'nowMs'>,
  operation: OperationId,
): BeginEvacuation {
  const what = hosts.length === 1 ? `host ${hosts[0]}` : `${hosts.length} hosts`;
  return { operation, by, why: `scale-in of ${what}`, nowMs, deadlineMs: MOVE_DEADLINE_MS, within };
}

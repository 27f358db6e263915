// The evacuator of instances: by a live move while the host is up, by a rebuild elsewhere when it is certainly dead. While a host is only silent nothing
// may be done: it may still run them.
import {
  idOf,
  mergeChanges,
  put,
  remove,
  type FleetReader,
  type Reason,
  type Refusal,
  type Trial,
} from '../../fleet/index.ts';
import {
  findHost,
  runInOneStep,
  type BeginEvacuation,
  type PlannedEvacuation,
  type Evacuation,
  type Evacuator,
  type LeavingTenants,
  type OpenTrial,
  type PlanOptions,
  type PlanSteps,
  type StartedEvacuation,
  type Tenant,
} from '../../hosts/index.ts';
import type { Decision } from '../../journal/index.ts';
import { CLAIM, claimId, CLAIMS_BY_HOST } from '../../network/index.ts';
import { OPEN_ITEMS_BY_HOST, OPEN_ITEMS_BY_TARGET, targetKey, type OperationId } from '../../operations/index.ts';
import { abandonInstances } from '../delete/abandon.ts';
import { CLEAN_ITEMS_BY_INSTANCE, instancesHeldOn, isSweep } from '../delete/clean.ts';
import { degradedReason, listDisconnectedPorts } from '../degraded/degraded.ts';
import { backoffAfterFailure, findAffectedHosts, limitByGroup } from './pacing.ts';
import {
  INSTANCE,
  INSTANCES_BY_HOST,
  INSTANCES_BY_LEAVING_HOST,
  INSTANCES_BY_VACATED_HOST,
  isRelocating,
} from '../model.ts';
import { moveInstances } from '../move/move.ts';
import { findHold, type InstanceHold } from './hold.ts';
import { explainNoValidHost, affinityBlockReason, noValidHostReason } from './no-valid-host.ts';
import { isUnavailable, isFencedOrRemoved, placeInstance, portsOf, type StoredInstance } from '../build/placement.ts';
import { UNUSED, type InstanceUses } from '../instance-use.ts';
import { rebuildInstances } from '../shelve-rebuild/rebuild.ts';
import { resetPlacement } from '../shelve-rebuild/shelve.ts';

const MOVE_KIND = 'live';

/** `holds`: what keeps an instance until something inside it has left. */
export const instanceEvacuator = (holds: readonly InstanceHold[], uses: InstanceUses = UNUSED): Evacuator => ({
  name: 'instances',
  moveKinds: ['instance-move', 'instance-rebuild'],

  inventory: (fleet, host) => {
    const here = [...fleet.find(INSTANCES_BY_HOST, host)].map(({ id }): string => id);
    const coming = [...fleet.find(CLAIMS_BY_HOST, host)].flatMap(({ doc }) =>
      doc.role === 'move' ? [doc.instance] : [],
    );
    const leaving = [...fleet.find(INSTANCES_BY_LEAVING_HOST, host)].map(({ id }): string => id);
    return [...new Set([...here, ...coming, ...leaving, ...instancesHeldOn(fleet, host)])]
      .sort()
      .map((id) => ({ kind: INSTANCE.name, id }));
  },

  dependsOn: [INSTANCES_BY_HOST, CLAIMS_BY_HOST, INSTANCES_BY_LEAVING_HOST, OPEN_ITEMS_BY_HOST],

  countLeaving: (fleet, host) => countLeaving(fleet, host),
  findUnsettled: (fleet, host) => listUnsettledReasons(fleet, host),
  listRemainingTenants: (fleet, host) => eachRemainingTenant(fleet, host),
  limitDisruption: (fleet, planned) => limitByGroup(fleet, planned),
  hostsAffectedBy: (change, fleet) => findAffectedHosts(fleet, change),

  plan: (openTrial, leavers, how) => planInstances(openTrial, leavers, { ...how, holds }),

  // A drain begins few at once.
  begin: (fleet, planned, how) => runInOneStep(beginMoves(fleet, planned, { ...how, uses })),

  abandon: (fleet, host, { by, nowMs }) => abandonInstances(fleet, host, { by, nowMs }),
});

function beginMoves(
  fleet: FleetReader,
  planned: readonly PlannedEvacuation[],
  { uses, ...how }: BeginEvacuation & { readonly uses: InstanceUses },
): StartedEvacuation | Refusal {
  const moved = beginOfKind(planned, 'move', (ids) =>
    moveInstances(fleet, { ids, kind: MOVE_KIND, ...nameOperation(how, 'instance-moves') }),
  );
  if ('code' in moved) return moved;
  const rebuilt = beginOfKind(planned, 'rebuild', (ids) =>
    rebuildInstances(fleet, { ids, ...nameOperation(how, 'instance-rebuilds') }, uses),
  );
  if ('code' in rebuilt) return rebuilt;
  return { changes: mergeChanges([...moved.changes, ...rebuilt.changes]) };
}

/** A move that ended this long before its host began to leave is no part of the scale-in, whatever the clocks of servers say. */
const LONG_BEFORE_MS = 3600 * 1000;

/** Instances that run elsewhere by now without being connected there, including those that are moved on from there. */
function* listUnsettledReasons(fleet: FleetReader, host: string): Iterable<Reason> {
  const sinceMs = (findHost(fleet, host)?.doc.leaving?.atMs ?? 0) - LONG_BEFORE_MS;
  for (const instance of fleet.find(INSTANCES_BY_VACATED_HOST, host)) {
    if (instance.doc.changedAtMs < sinceMs) continue;
    const troubled = listDisconnectedPorts(fleet, instance);
    if (troubled.length === 0) continue;
    // A later move is under way, or has failed in the middle: that decides what becomes of its ports.
    if (instance.doc.state === 'moving') yield unfinishedReason(fleet, instance);
    else yield { ...degradedReason(instance, troubled), code: 'moved-and-degraded', from: host };
  }
}

function* eachRemainingTenant(fleet: FleetReader, host: string): Iterable<Tenant> {
  for (const { id, doc } of fleet.find(INSTANCES_BY_HOST, host)) {
    if (!isRelocating(doc.state)) yield { kind: INSTANCE.name, id };
  }
  for (const id of instancesHeldOn(fleet, host)) {
    if (fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc.host !== host) yield { kind: INSTANCE.name, id };
  }
  // Its move has failed in the middle: it neither stays nor leaves until an operator decides.
  for (const { id } of listLeavingInstances(fleet, host))
    if (!hasOpenWork(fleet, { id })) yield { kind: INSTANCE.name, id };
}

function listLeavingInstances(fleet: FleetReader, host: string): Iterable<StoredInstance> {
  return fleet.find(INSTANCES_BY_LEAVING_HOST, host);
}

/** Every pass of a drain counts them. */
function countLeaving(fleet: FleetReader, host: string): number {
  if (fleet.countOf(INSTANCES_BY_LEAVING_HOST, host) === 0) return 0;
  let count = 0;
  for (const one of listLeavingInstances(fleet, host)) if (hasOpenWork(fleet, one)) count += 1;
  return count;
}

/** Copies of it that are destroyed elsewhere do not count. */
function hasOpenWork(fleet: FleetReader, { id }: { readonly id: string }): boolean {
  const key = targetKey(INSTANCE.name, id);
  // Nearly always there is no such copy.
  if (fleet.countOf(CLEAN_ITEMS_BY_INSTANCE, id) === 0) return fleet.countOf(OPEN_ITEMS_BY_TARGET, key) > 0;
  return [...fleet.find(OPEN_ITEMS_BY_TARGET, key)].some((item) => !isSweep(fleet, item));
}

function beginOfKind(
  planned: readonly PlannedEvacuation[],
  kind: Evacuation['kind'],
  begin: (ids: readonly string[]) => Decision<unknown>,
): StartedEvacuation | Refusal {
  const ids = planned.filter(({ evacuation }) => evacuation.kind === kind).map(({ tenant }) => tenant.id);
  if (ids.length === 0) return { changes: [] };
  const decision = begin(ids);
  if (decision.kind === 'refuse') return decision.refusal;
  return { changes: decision.changes };
}

function nameOperation({ operation, ...how }: BeginEvacuation, what: string): BeginEvacuation {
  return { ...how, operation: `${operation}.${what}` as OperationId };
}

/** One after the other on one trial: capacity that one of them would use is not available to the next, whichever host it leaves. */
function* planInstances(
  openTrial: OpenTrial,
  leavers: readonly LeavingTenants[],
  { nowMs, explained = 0, isExplained, readIn, holds }: PlanOptions & Pick<LeaveCheck, 'holds'>,
): PlanSteps {
  const trial = yield* openTrial(CLAIM.name);
  const planned: PlannedEvacuation[] = [];
  for (const leaver of leavers) {
    for (const tenant of leaver.tenants) {
      planned.push({
        host: leaver.host,
        tenant,
        evacuation: planInstanceEvacuation(trial, leaver, tenant, { nowMs, holds }),
      });
      yield;
    }
  }
  const within = new Map(leavers.map((leaver) => [leaver.host, leaver.within ?? readIn]));
  return yield* explainNoValidHost(trial, planned, { most: explained, isExplained, within });
}

/** An open operation ends by itself. One that has failed in the middle, by its deadline, is continued only by an operator's command. */
function unfinishedReason(fleet: FleetReader, { id, doc: { state, move } }: StoredInstance): Reason {
  if (hasOpenWork(fleet, { id })) return { code: 'other-work-ends-first', instance: id };
  return { code: 'left-unfinished', instance: id, state, ...(state === 'moving' && { operation: move?.operation }) };
}

/** Where the recorded host is neither lost nor fenced, it is not known whether the instance runs there: the sentence must not deny it. */
function onlyCopyReason(fleet: FleetReader, { id, doc: { state, host: home } }: StoredInstance, host: string): Reason {
  const isInDoubt = state === 'active' && home !== undefined && !isFencedOrRemoved(fleet, home);
  return { code: 'only-copy', instance: id, host, ...(isInDoubt && { home }) };
}

interface LeaveCheck {
  readonly nowMs: number;
  readonly holds: readonly InstanceHold[];
}

function planInstanceEvacuation(
  trial: Trial,
  { host, within }: LeavingTenants,
  { id }: Tenant,
  { nowMs, holds }: LeaveCheck,
): Evacuation {
  const instance = trial.get(INSTANCE, idOf(INSTANCE, id));
  if (instance === undefined) return wait({ code: 'instance-gone', instance: id });
  const { state, wasActive, host: home } = instance.doc;
  const dead = isFencedOrRemoved(trial, host);
  if (home !== host && (state === 'error' || state === 'active')) {
    // Only a copy of it is here. It is built again without the copy if possible; where the copy is reachable, its owner decides.
    if (!dead || home !== undefined) return wait(onlyCopyReason(trial, instance, host));
  } else if (state === 'error') {
    if (!dead || !wasActive) return wait({ code: 'instance-in-error', instance: id });
  } else if (state !== 'active') return wait(unfinishedReason(trial, instance));
  if (!dead && isUnavailable(trial, host)) return wait({ code: 'host-silent', host, instance: id });
  const kept = findHold(holds, trial, instance, host) ?? backoffAfterFailure(trial, instance, host, nowMs);
  if (kept !== undefined) return wait(kept);
  const found = placeLeaving(trial, instance, { host, within }, nowMs);
  if (found === undefined)
    return wait(affinityBlockReason(trial, instance, host) ?? noValidHostReason(id, { host, within }));
  return dead ? { kind: 'rebuild', to: found } : { kind: 'move', how: MOVE_KIND, to: found };
}

function wait(reason: Reason): Evacuation {
  return { kind: 'wait', reason };
}

/**
 * The host that it would move to, with its claim there on the trial; undefined when there is none. Then it stays, and so does its claim: without it,
 * other members of its group would be planned to places that the policy of the group forbids.
 */
function placeLeaving(
  trial: Trial,
  instance: StoredInstance,
  { host, within }: Pick<LeavingTenants, 'host' | 'within'>,
  nowMs: number,
): string | undefined {
  const { id } = instance;
  const doc = resetPlacement(instance.doc);
  const home = trial.get(CLAIM, claimId(id, 'home'));
  if (home !== undefined) trial.add([remove(CLAIM, home.id)]);
  const how = { role: 'move', by: 'evacuator', nowMs, brief: true } as const;
  const request = { id, instance: doc, ports: portsOf(trial, doc), ...how, within, excludedHosts: [host] };
  const placement = placeInstance(trial, request);
  if (placement.kind !== 'placed') {
    if (home !== undefined) trial.add([put(CLAIM, home.id, home.doc)]);
    return undefined;
  }
  trial.add([placement.claim]);
  return placement.host;
}

// How instances get away from a host: by a live move while it is up, by being built elsewhere when it is dead for certain. While
// it is only silent nothing is done: it may still run them.
import {
  idOf,
  mergeChanges,
  runTrial,
  put,
  remove,
  type FleetReader,
  type Reason,
  type Trial,
} from '../fleet/index.ts';
import {
  runAllSteps,
  findHost,
  type BeginEvacuation,
  type PlannedEvacuation,
  type Evacuation,
  type Evacuator,
  type LeavingTenants,
  type PlanOptions,
  type Tenant,
} from '../hosts/index.ts';
import type { Decision } from '../journal/index.ts';
import { CLAIM, claimId, CLAIMS_BY_HOST } from '../network/index.ts';
import { OPEN_ITEMS_BY_HOST, type OperationId } from '../operations/index.ts';
import { abandoned } from './abandon.ts';
import { heldOn } from './clean.ts';
import { degradedReason, troubledPorts } from './degraded.ts';
import { pauseAfterFailure, touchedHosts, withinGroups } from './evacuation-pace.ts';
import { INSTANCE, INSTANCES_BY_HOST, INSTANCES_LEAVING, INSTANCES_UNSETTLED, isUnderWay } from './model.ts';
import { moveInstances } from './move.ts';
import { explainNowhere, heldTogether, nowhere } from './nowhere.ts';
import { isAway, isConfirmedGone, place, portsOf, type StoredInstance } from './place.ts';
import { rebuildInstances } from './rebuild.ts';
import { anew } from './shelve.ts';

const HOW = 'live';

export const instanceEvacuator: Evacuator = {
  name: 'instances',
  moveKinds: ['instance-move', 'instance-rebuild'],

  inventory: (fleet, host) => {
    const here = [...fleet.find(INSTANCES_BY_HOST, host)].map(({ id }): string => id);
    const coming = [...fleet.find(CLAIMS_BY_HOST, host)].flatMap(({ doc }) =>
      doc.role === 'move' ? [doc.instance] : [],
    );
    const going = [...fleet.find(INSTANCES_LEAVING, host)].map(({ id }): string => id);
    return [...new Set([...here, ...coming, ...going, ...heldOn(fleet, host)])]
      .sort()
      .map((id) => ({ kind: INSTANCE.name, id }));
  },

  dependsOn: [INSTANCES_BY_HOST, CLAIMS_BY_HOST, INSTANCES_LEAVING, OPEN_ITEMS_BY_HOST],

  countLeaving: (fleet, host) => fleet.countOf(INSTANCES_LEAVING, host),
  findUnsettled: (fleet, host) => unsettledFrom(fleet, host),
  remainingTenants: (fleet, host) => stayingOn(fleet, host),
  limitDisruption: (fleet, planned) => withinGroups(fleet, planned),
  hostsAffectedBy: (fleet, change) => touchedHosts(fleet, change),

  plan: (fleet, leavers, nowMs) => runTrial(fleet, (trial) => runAllSteps(planSteps(trial, leavers, { nowMs }))),
  planInSteps: planSteps,
  trialKinds: [CLAIM.name],

  begin: (fleet, planned, how) => {
    const moved = begunWith(planned, 'move', (ids) =>
      moveInstances(fleet, { ids, kind: HOW, ...named(how, 'instance-moves') }),
    );
    if ('code' in moved) return moved;
    const rebuilt = begunWith(planned, 'rebuild', (ids) =>
      rebuildInstances(fleet, { ids, ...named(how, 'instance-rebuilds') }),
    );
    if ('code' in rebuilt) return rebuilt;
    const operations = [...moved.operations, ...rebuilt.operations];
    return { changes: mergeChanges([...moved.changes, ...rebuilt.changes]), operations };
  },

  abandon: (fleet, host, { by, nowMs }) => abandoned(fleet, host, { by, nowMs }),
};

/** A move that ended this long before its host began to leave is no part of that, whatever the clocks of servers say. */
const LONG_BEFORE_MS = 3600 * 1000;

/** Those that run elsewhere by now without being connected there. One that is still moved on from there says so too. */
function* unsettledFrom(fleet: FleetReader, host: string): Iterable<Reason> {
  const sinceMs = (findHost(fleet, host)?.doc.leaving?.atMs ?? 0) - LONG_BEFORE_MS;
  for (const instance of fleet.find(INSTANCES_UNSETTLED, host)) {
    if (instance.doc.changedAtMs < sinceMs) continue;
    const troubled = troubledPorts(fleet, instance);
    if (troubled.length > 0) yield { ...degradedReason(instance, troubled), code: 'moved-and-degraded', from: host };
  }
}

function* stayingOn(fleet: FleetReader, host: string): Iterable<Tenant> {
  for (const { id, doc } of fleet.find(INSTANCES_BY_HOST, host)) {
    if (!isUnderWay(doc.state)) yield { kind: INSTANCE.name, id };
  }
  for (const id of heldOn(fleet, host)) {
    if (fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc.host !== host) yield { kind: INSTANCE.name, id };
  }
}

type Begun = Exclude<ReturnType<Evacuator['begin']>, { readonly code: string }>;

function begunWith(
  planned: readonly PlannedEvacuation[],
  kind: Evacuation['kind'],
  begin: (ids: readonly string[]) => Decision<{ readonly operation: OperationId }>,
): ReturnType<Evacuator['begin']> {
  const ids = planned.filter(({ evacuation }) => evacuation.kind === kind).map(({ tenant }) => tenant.id);
  if (ids.length === 0) return { changes: [], operations: [] } satisfies Begun;
  const decision = begin(ids);
  if (decision.kind === 'refuse') return decision.refusal;
  return { changes: decision.changes, operations: [decision.answer.operation] };
}

function named({ operation, ...how }: BeginEvacuation, what: string): BeginEvacuation {
  return { ...how, operation: `${operation}.${what}` as OperationId };
}

/** One after the other on one trial: what one of them would take, the next does not find, whichever host it leaves. */
function* planSteps(
  trial: Trial,
  leavers: readonly LeavingTenants[],
  { nowMs, explained = 0 }: PlanOptions,
): Generator<undefined, readonly PlannedEvacuation[]> {
  const planned: PlannedEvacuation[] = [];
  for (const leaver of leavers) {
    for (const tenant of leaver.tenants) {
      planned.push({ host: leaver.host, tenant, evacuation: evacuationOf(trial, leaver, tenant, nowMs) });
      yield;
    }
  }
  const within = new Map(leavers.map((leaver) => [leaver.host, leaver.within]));
  return yield* explainNowhere(trial, planned, { most: explained, within });
}

function evacuationOf(trial: Trial, { host, within }: LeavingTenants, { id }: Tenant, nowMs: number): Evacuation {
  const instance = trial.get(INSTANCE, idOf(INSTANCE, id));
  if (instance === undefined) return wait({ code: 'instance-gone', instance: id });
  const { state, wasActive, host: home } = instance.doc;
  const dead = isConfirmedGone(trial, host);
  if (home !== host && (state === 'error' || state === 'active')) {
    // Only a copy of it is here. It is built anew without one if it can be; where the copy can be reached, its owner decides.
    if (!dead || home !== undefined) return wait({ code: 'only-copy', instance: id, host });
  } else if (state === 'error') {
    if (!dead || !wasActive) return wait({ code: 'instance-in-error', instance: id });
  } else if (state !== 'active') return wait({ code: 'other-work-ends-first', instance: id });
  if (!dead && isAway(trial, host)) return wait({ code: 'host-silent', host, instance: id });
  const pause = pauseAfterFailure(trial, instance, host, nowMs);
  if (pause !== undefined) return wait(pause);
  const found = placeFor(trial, instance, { host, within }, nowMs);
  if (found === undefined) return wait(heldTogether(trial, instance, host) ?? nowhere(id, { host, within }));
  return dead ? { kind: 'rebuild', to: found } : { kind: 'move', how: HOW, to: found };
}

function wait(reason: Reason): Evacuation {
  return { kind: 'wait', reason };
}

/**
 * The host that it would go to, with its claim there on the trial; undefined when there is none. Then it stays, and so does its claim:
 * without it those of its group would be planned to places where the rule of the group does not let them go.
 */
function placeFor(
  trial: Trial,
  instance: StoredInstance,
  { host, within }: Pick<LeavingTenants, 'host' | 'within'>,
  nowMs: number,
): string | undefined {
  const { id } = instance;
  const doc = anew(instance.doc);
  const home = trial.get(CLAIM, claimId(id, 'home'));
  if (home !== undefined) trial.add([remove(CLAIM, home.id)]);
  const how = { role: 'move', by: 'evacuator', nowMs, brief: true } as const;
  const ask = { id, instance: doc, ports: portsOf(trial, doc), ...how, within, excludedHosts: [host] };
  const placement = place(trial, ask);
  if (placement.kind !== 'placed') {
    if (home !== undefined) trial.add([put(CLAIM, home.id, home.doc)]);
    return undefined;
  }
  trial.add([placement.claim]);
  return placement.host;
}

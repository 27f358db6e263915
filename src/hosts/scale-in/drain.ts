// One look at a host that is to be emptied, inside the commit: what changes hands, what moves now, or why nothing does. It looks
// at what is left, never at what it did before.
import {
  mark,
  mergeChanges,
  put,
  type Change,
  type FleetReader,
  type Reason,
  type Refusal,
} from '../../fleet/index.ts';
import {
  OPEN_ITEMS_BY_TARGET,
  record,
  targetKey,
  type Item,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { markUntrustedAfterRebuild } from './rebuilt-mark.ts';
import type { StoredHost } from '../decide.ts';
import { beginEvacuation, planEvacuation, type PlannedEvacuation, type Evacuator, type Tenant } from '../evacuator.ts';
import { HOST, type Host } from '../model.ts';
import { findBlockingTenants, unsettledReasonsOf, remainingWorkReason } from './evidence.ts';
import { evacuationCommand, selectHandingOver, startHandovers } from './handover-start.ts';
import { drainMovesId, fullReason, moveBudgetFor, type MoveBudget } from './moves.ts';

export interface DrainContext {
  readonly fleet: FleetReader;
  readonly evacuators: readonly Evacuator[];
  readonly item: StoredItem;
  readonly host: StoredHost;
  readonly by: string;
  /** The site that instances stay in, when they must. */
  readonly within: string | undefined;
  readonly nowMs: number;
}

/** Of those that cannot go now, no more are tried out in one look. The next ones come with the next look. */
const LOOKS_MAX = 16;
const LOOK_EVERY_MS = 5000;
/** Begun in one look, of one evacuator: each may mean many calls to another system. The next ones come with the next look. */
const DRAINS_MAX = 16;
const DRAINER = 'operation:scale-in';

/** The steps to record; none when nothing changed. */
export function drainStep(context: DrainContext): readonly RecordStep[] {
  const { item } = context;
  const handed = attemptHandovers(context);
  if (handed.kind === 'begun') return [recordStarted(context, 'handover', handed, 'handovers-under-way')];
  // Until then no instance leaves: those that could take over do so first. A service without a candidate waits for instances.
  if (handed.kind === 'busy' && item.doc.step === 'handover') return waitIfNew(item, 'handover', handed.reason);
  if (context.host.doc.leaving?.drain !== true) return finishIfEmpty(context, 'empty');
  return beginMoves(context);
}

type HandoverAttempt =
  | { readonly kind: 'begun'; readonly changes: readonly Change[] }
  | { readonly kind: 'busy'; readonly reason: Reason }
  | { readonly kind: 'none'; readonly reason?: Reason };

/** A handover that waits for these alone does not hold up the rest of the host: other tenants move meanwhile. */
const BLOCKED: readonly string[] = ['service-not-ready', 'held-out-of-control', 'host-recovering'];

/** Reasons of services that hold up the host: nothing should move before they are resolved. */
const HOLDING: readonly string[] = ['elections-held'];

function attemptHandovers(context: DrainContext): HandoverAttempt {
  const { fleet, evacuators, host, by, within, nowMs } = context;
  const changes: Change[] = [];
  const waits: Reason[] = [];
  let [postponed, underWay] = [false, false];
  let refused: Reason | undefined;
  // On the fleet as it is: the host is tombstoned already. The revision distinguishes these operations from those of other passes.
  const operation = `${fleet.revision}.${host.id}`;
  const start = { hosts: [host.id], tombstones: [], operation, by, within, nowMs };
  for (const { evacuator, planned, changes: started, refusal } of startHandovers(fleet, evacuators, start)) {
    changes.push(...started);
    if (refusal !== undefined) refused = notStartedReason(host.id, refusal);
    for (const { evacuation } of planned) if (evacuation.kind === 'wait') waits.push(evacuation.reason);
    // Tenants that could move and were not started wait for the budget.
    postponed ||= planned.some(isActionable);
    underWay ||= evacuator.countLeaving(fleet, host.id) > countBlocked(fleet, planned);
  }
  if (changes.length > 0) return { kind: 'begun', changes };
  const holding = waits.find(({ code }) => HOLDING.includes(code));
  if (holding !== undefined) return { kind: 'busy', reason: holding };
  if (postponed || underWay) {
    const code = underWay ? 'handovers-under-way' : 'handover-budget';
    return { kind: 'busy', reason: handoverWaitReason(context) ?? refused ?? { code, host: host.id } };
  }
  const reason = handoverWaitReason(context) ?? waits[0];
  return { kind: 'none', ...(reason !== undefined && { reason }) };
}

function countBlocked(fleet: FleetReader, planned: readonly PlannedEvacuation[]): number {
  const tenants = planned.map(({ tenant }) => tenant);
  return openItemsOf(fleet, tenants).filter(isBlocked).length;
}

export function isBlocked({ doc }: { readonly doc: Item }): boolean {
  return doc.state === 'waiting' && BLOCKED.includes(doc.reason?.code ?? '');
}

function openItemsOf(fleet: FleetReader, tenants: readonly Tenant[]): StoredItem[] {
  return tenants.flatMap(({ kind, id }) => [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(kind, id))]);
}

/** What a handover of the host waits for: that of the recorded reason, while it waits for the same. Another one's may have ended. */
function handoverWaitReason({ fleet, evacuators, item, host }: DrainContext): Reason | undefined {
  const tenants = selectHandingOver(evacuators).flatMap((one) => one.inventory(fleet, host.id));
  const waiting = openItemsOf(fleet, tenants).flatMap(({ doc: { state, reason, target } }) =>
    state === 'waiting' && reason !== undefined ? [{ reason, tenant: target.id }] : [],
  );
  const recorded = item.doc.reason;
  const named = new Set(Object.values(recorded ?? {}));
  const same = waiting.filter(({ reason }) => reason.code === recorded?.code);
  const kept = same.find(({ reason }) => isSameReason(reason, recorded));
  return (kept ?? same.find(({ tenant }) => named.has(tenant)) ?? waiting[0])?.reason;
}

interface StartedEvacuations {
  readonly changes: readonly Change[];
  readonly reason?: Reason;
}

function beginEvacuations(
  { fleet, host, by, within, nowMs }: DrainContext,
  evacuator: Evacuator,
  planned: readonly PlannedEvacuation[],
): StartedEvacuations {
  const going = planned.filter(isActionable);
  if (going.length === 0) return { changes: [] };
  const how = evacuationCommand({ hosts: [host.id], by, within, nowMs }, drainMovesId(fleet));
  const answer = beginEvacuation(fleet, evacuator, going, { ...how, drainedHost: host.id });
  if ('code' in answer) return { changes: [], reason: notStartedReason(host.id, answer) };
  return { changes: answer.changes };
}

function notStartedReason(host: string, { message }: Refusal): Reason {
  return { code: 'not-begun', host, message };
}

/** As many as the budgets allow, and drains in any case. One that cannot go does not keep the others. */
function beginMoves(context: DrainContext): readonly RecordStep[] {
  const { fleet, evacuators, host, nowMs } = context;
  const budget = moveBudgetFor(fleet, evacuators, host.id);
  const changes: Change[] = [];
  const waits: Reason[] = [];
  let left = budget.moves;
  let rebuilt = false;
  for (const evacuator of evacuators.filter((one) => one.leavesFirst !== true)) {
    const drains = evacuator.countDraining !== undefined;
    const planned = planNextMoves(context, evacuator, drains ? DRAINS_MAX : left);
    const made = beginEvacuations(context, evacuator, planned);
    for (const { evacuation } of planned) if (evacuation.kind === 'wait') waits.push(evacuation.reason);
    if (made.reason !== undefined) waits.push(made.reason);
    if (made.changes.length === 0) continue;
    changes.push(...made.changes);
    left -= drains ? 0 : planned.filter(isActionable).length;
    rebuilt ||= planned.some(({ evacuation }) => evacuation.kind === 'rebuild');
  }
  if (changes.length > 0) {
    const distrust = rebuilt ? markUntrustedAfterRebuild(fleet, host.id, { by: DRAINER, nowMs }) : [];
    const code = left < budget.moves ? 'moves-under-way' : 'drains-under-way';
    return [recordStarted(context, 'move', { changes: [...changes, ...distrust] }, code)];
  }
  if (budget.moves === 0) return waitIfNew(context.item, 'move', fullReason(host.id, budget));
  return recordStuck(context, waits, underWayReason(context, budget));
}

/** What has begun and is not done yet. */
function underWayReason({ fleet, evacuators, host }: DrainContext, { underWay }: MoveBudget): Reason | undefined {
  if (underWay) return { code: 'moves-under-way', host: host.id };
  const draining = evacuators.some((one) => (one.countDraining?.(fleet, host.id) ?? 0) > 0);
  return draining ? { code: 'drains-under-way', host: host.id } : undefined;
}

/** The next tenants of an evacuator that may move, and those found on the way that may not. Costs O(tenants returned). */
function planNextMoves(context: DrainContext, evacuator: Evacuator, budget: number): readonly PlannedEvacuation[] {
  if (budget <= 0) return [];
  const staying = (evacuator.listRemainingTenants ?? evacuator.inventory)(context.fleet, context.host.id);
  const limit = budget + LOOKS_MAX;
  const first = takeFirst(staying, limit);
  const planned = planWithinLimits(context, evacuator, first, budget);
  if (first.length < limit || planned.some(isActionable)) return planned;
  // None of the first can move: others are tried in turn, so that these do not block them for ever.
  const all = [...(evacuator.listRemainingTenants ?? evacuator.inventory)(context.fleet, context.host.id)];
  const from = (Math.floor(context.nowMs / LOOK_EVERY_MS) * LOOKS_MAX) % all.length;
  const turn = [...all.slice(from), ...all.slice(0, from)].slice(0, limit);
  return planWithinLimits(context, evacuator, turn, budget);
}

function takeFirst(tenants: Iterable<Tenant>, limit: number): Tenant[] {
  const first: Tenant[] = [];
  for (const tenant of tenants) {
    if (first.length === limit) break;
    first.push(tenant);
  }
  return first;
}

function planWithinLimits(
  { fleet, host, within, nowMs }: DrainContext,
  evacuator: Evacuator,
  tenants: readonly Tenant[],
  budget: number,
): readonly PlannedEvacuation[] {
  let found: readonly PlannedEvacuation[] = [];
  let startable = 0;
  for (let at = 0; at < tenants.length && startable < budget;) {
    const slice = tenants.slice(at, at + budget - startable);
    at += slice.length;
    const leaver = { host: host.id, tenants: slice, within };
    const planned = [...found, ...planEvacuation(fleet, evacuator, [leaver], { nowMs })];
    found = evacuator.limitDisruption?.(fleet, planned) ?? planned;
    startable = found.filter(isActionable).length;
  }
  return found;
}

function isActionable({ evacuation }: PlannedEvacuation): boolean {
  return evacuation.kind === 'move' || evacuation.kind === 'rebuild' || evacuation.kind === 'drain';
}

function recordStarted(
  { item, host }: DrainContext,
  step: string,
  { changes }: StartedEvacuations,
  code: 'handovers-under-way' | 'moves-under-way' | 'drains-under-way',
): RecordStep {
  const reason = { code, host: host.id };
  return record(item, { state: 'waiting', step, reason }, { changes: mergeChanges(changes) });
}

/** Nothing can begin: because of what blocks, because of what is under way, or because nothing is left. */
function recordStuck(
  context: DrainContext,
  waits: readonly Reason[],
  underWay: Reason | undefined,
): readonly RecordStep[] {
  const { item, host } = context;
  const first = waits[0] ?? underWay;
  if (first === undefined) return finishIfEmpty(context, 'empty');
  const away = host.doc.connection.state === 'down' && host.doc.forcedDown === undefined;
  // A tenant that waits for something else, such as a port that no evacuator moves, is not helped by a force-down.
  if (away && waits.some(({ code }) => code === 'host-silent')) {
    mark('drain-waits-for-a-dead-host');
    return waitIfNew(item, 'move', { code: 'host-down', host: host.id });
  }
  return waitIfNew(item, 'move', repeatedReason(context, waits) ?? first);
}

/** The item's present reason while it still holds: of many equal waits, each pass finds another. */
function repeatedReason(
  { fleet, evacuators, item, host, nowMs }: DrainContext,
  waits: readonly Reason[],
): Reason | undefined {
  const recorded = item.doc.reason;
  if (recorded === undefined || !waits.some(({ code }) => code === recorded.code)) return undefined;
  if (waits.some((one) => isSameReason(one, recorded))) return recorded;
  const { untilMs } = recorded;
  if (typeof untilMs === 'number' && untilMs <= nowMs) return undefined;
  const facts = new Set(Object.values(recorded));
  const named = evacuators.flatMap((one) => one.inventory(fleet, host.id)).find(({ id }) => facts.has(id));
  if (named === undefined) return undefined;
  // Of the same tenant, what is said now counts.
  return waits.find((one) => one.code === recorded.code && Object.values(one).includes(named.id)) ?? recorded;
}

/** No evacuator has anything left to move: drained, if nothing lives there. */
function finishIfEmpty(context: DrainContext, step: string): readonly RecordStep[] {
  const { fleet, evacuators, item, host, nowMs } = context;
  const { id, doc } = host;
  const [tenant] = findBlockingTenants(fleet, evacuators, { host: id, nowMs, enough: 1 });
  if (tenant !== undefined) {
    const waits = attemptHandovers(context);
    const handoverReason = waits.kind === 'begun' ? undefined : waits.reason;
    const code = doc.leaving?.drain === true ? 'lives-here' : 'left-to-operator';
    return waitIfNew(item, step, handoverReason ?? { code, host: id, kind: tenant.kind, tenant: tenant.id });
  }
  const work = remainingWorkReason(fleet, host);
  if (work !== undefined) return waitIfNew(item, step, work);
  const [unsettled] = unsettledReasonsOf(fleet, evacuators, id);
  if (unsettled !== undefined) {
    mark('drain-waits-for-what-it-moved');
    return waitIfNew(item, step, unsettled);
  }
  const drained: Host = { ...doc, state: 'drained', changedBy: DRAINER, changedAtMs: nowMs };
  return [record(item, { state: 'done', step: 'empty' }, { changes: [put(HOST, id, drained)] })];
}

/** Records a wait, unless the item has it already. */
function waitIfNew(item: StoredItem, step: string, reason: Reason): readonly RecordStep[] {
  const { doc } = item;
  if (doc.state === 'waiting' && doc.step === step && isSameReason(reason, doc.reason)) return [];
  const untilMs = reason['untilMs'];
  const retryAtMs = typeof untilMs === 'number' ? { retryAtMs: untilMs } : {};
  return [record(item, { state: 'waiting', step, reason, ...retryAtMs })];
}

function isSameReason(one: Reason, other: Reason | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

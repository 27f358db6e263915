// The operation `scale-in-end`: a host that is proven empty is removed. A connected host is ordered to leave, its peers remove their tunnels and
// flows to it and report that, and one commit removes the host. Peers that cannot be notified get a pending clean-up.
import { revokeTokenChange, tokensOfHost } from '../../access/index.ts';
import { mark, mergeChanges, put, type Change, type FleetReader, type Reason } from '../../fleet/index.ts';
import {
  decideLater,
  fail,
  ITEM,
  operationOf,
  record,
  wait,
  type ActionOutcome,
  type Item,
  type PlannedStep,
  type OperationKind,
  type RecordStep,
  type StoredItem,
  type TaskAnswer,
} from '../../operations/index.ts';
import { findHost, type StoredHost } from '../decide.ts';
import type { Evacuator } from '../evacuator.ts';
import { HOST, type Host } from '../model.ts';
import { PENDING_CLEAN_UP, recordPendingCleanUps, pendingId } from './pending-clean-up.ts';
import { endDegradedAlarm } from '../record-conditions.ts';
import { blockersOf, isConnected } from './evidence.ts';
import { remainsOf } from './removed-record.ts';
import { END_KIND } from './host-items.ts';
import { endStraysAlarm, strayChanges, straysReason, summarizeStrays } from '../strays.ts';
import { cleanupBlocker, retryConvergence, awaitCleanUp } from '../convergence.ts';

/** Hosts that may still have tunnels to a host, or flows that name it. */
export type TunnelPeersLookup = (fleet: FleetReader, host: string) => readonly string[];

export interface EndOptions {
  readonly evacuators: readonly Evacuator[];
  readonly peersOf: TunnelPeersLookup;
}

const ENDER = 'operation:scale-in-end';
/** The longest wait for a host that is removed by force; no other wait ends sooner after it was recorded. */
const LEAVE_PATIENCE_MS = 60_000;
/** A healthy agent wipes its host and answers within a second or two: after this time a missing answer is reported as the reason. */
const LEAVE_ANSWER_MS = 10_000;
/** Longer than it takes to detect a silent host: one that is down by then is removed without its answer. */
const LEAVE_DEADLINE_MS = 5 * 60_000;
const UNANSWERED = 'leave-unanswered';
const LEAVER_SILENT = 'leaver-silent';
const SILENT: readonly string[] = [UNANSWERED, LEAVER_SILENT];
const LOOK_AGAIN_MS = 1000;
const LEAVE_AGAIN_MS = 10_000;

export function scaleInEndKind({ evacuators, peersOf }: EndOptions): OperationKind {
  return {
    name: END_KIND,
    steps: ['disconnect', 'finalize', 'remove'],
    cancel: { kind: 'none', because: 'peers forget the host already; join it again when it is removed' },
    retry: { kind: 'does', what: 'hosts that were not removed in time are tried again' },

    plan: (fleet, items, nowMs) => items.flatMap((item) => planItem({ fleet, item, nowMs, evacuators, peersOf })),
    observe: (item, outcome, { nowMs }) => observeConvergence(item, outcome, nowMs),
    task: ({ doc }, { fleet }) =>
      isLeaveRequested(doc)
        ? { kind: 'leave', args: { force: isForced(findHost(fleet, doc.target.id)?.doc) } }
        : undefined,
    handleTaskAnswer: (item, answer, { fleet, nowMs }) => handleLeaveAnswer(fleet, item, answer, nowMs),
  };
}

interface EndContext extends EndOptions {
  readonly fleet: FleetReader;
  readonly item: StoredItem;
  readonly nowMs: number;
}

/** The time of the request, or of the last retry. */
function readStartMs({ fleet, item }: EndContext): number {
  const { deadlineAtMs, deadlineMs } = operationOf(fleet, item).doc;
  return deadlineAtMs - deadlineMs;
}

function planItem(context: EndContext): readonly PlannedStep[] {
  const { fleet, item } = context;
  const host = findHost(fleet, item.doc.target.id);
  if (host === undefined || host.doc.state === 'removed') return [record(item, { state: 'done', step: item.doc.step })];
  switch (host.doc.state) {
    case 'finalizing':
      return item.doc.step === 'remove' ? [decideOnNewest(context, removeHost)] : planFinalize(context, host);
    case 'drained':
    case 'draining':
      return planDisconnect(context, host);
    default:
      return [fail(item, { code: 'brought-back', host: host.id })];
  }
}

/** Decided inside the commit, on current state. */
function decideOnNewest(context: EndContext, step: (context: EndContext, host: StoredHost) => RecordStep): PlannedStep {
  return decideLater(context.item, (fleet, nowMs) => {
    const item = fleet.get(ITEM, context.item.id);
    const host = findHost(fleet, context.item.doc.target.id);
    return item === undefined || host === undefined ? [] : [step({ ...context, fleet, item, nowMs }, host)];
  });
}

function planDisconnect(context: EndContext, { doc }: StoredHost): readonly PlannedStep[] {
  const { item, nowMs } = context;
  const startedMs = readStartMs(context);
  const { state, retryAtMs = 0 } = item.doc;
  if (!isConnected(doc)) return [decideOnNewest(context, recheckAndFinalize)];
  const forced = doc.leaving?.forced;
  // Counted from the request, not from its last answer: a host that fails again and again would never end.
  if (forced !== undefined && nowMs >= Math.max(forced.atMs, startedMs) + LEAVE_PATIENCE_MS) {
    mark('forced-out-while-disconnected');
    return [decideOnNewest(context, recheckAndFinalize)];
  }
  const host = item.doc.target.id;
  const waitedMs = nowMs - startedMs;
  // The missing answer was reported for a while. The task of a host that answers with a failure is repeated instead.
  const isSilent = state === 'waiting' && SILENT.includes(item.doc.reason?.code ?? '');
  const isReported = isSilent && nowMs - item.doc.sinceMs >= LEAVE_PATIENCE_MS;
  if (forced === undefined && isReported && waitedMs >= LEAVE_DEADLINE_MS) {
    mark('leave-timed-out');
    return [fail(item, { code: 'leave-given-up', host, connection: doc.connection.state, waitedMs })];
  }
  // It cannot answer while it is silent, and is not known to be down yet.
  const isByForce = forced !== undefined && { forced: true };
  if (doc.connection.state !== 'up') return [wait(item, { code: LEAVER_SILENT, host, ...isByForce })];
  if (isLeaveRequested(item.doc))
    return waitedMs < LEAVE_ANSWER_MS ? [] : [wait(item, { code: UNANSWERED, host, ...isByForce })];
  if (state === 'running' || nowMs < retryAtMs) return [];
  return [decideOnNewest(context, requestLeave)];
}

/** The host is ordered to leave for as long as it has not answered, also after the missing answer was reported. */
function isLeaveRequested({ step, state, reason }: Item): boolean {
  return step === 'disconnect' && (state === 'running' || (state === 'waiting' && reason?.code === UNANSWERED));
}

/** Checked each time before it is ordered to leave, also by a late retry: it wipes its switch and instances, so nothing may live there. */
function requestLeave(context: EndContext, host: StoredHost): RecordStep {
  const { item } = context;
  const blocker = blockerOf(context, host);
  if (blocker !== undefined) return fail(item, blocker);
  return record(item, { state: 'running', step: item.doc.step, attempt: item.doc.attempt + 1, host: host.id });
}

/** The first blocker. A host removed by force has none, nor one that never joined: references to it were left by an earlier force. */
function blockerOf({ fleet, evacuators, nowMs }: EndContext, host: StoredHost): Reason | undefined {
  if (host.doc.leaving?.forced !== undefined || host.doc.readmitted === true) return undefined;
  return blockersOf(fleet, evacuators, { host, nowMs })[0];
}

/** Evaluates the evidence again: a tenant may have appeared while the host was ordered to leave. */
function recheckAndFinalize(context: EndContext, host: StoredHost): RecordStep {
  const { item, nowMs } = context;
  const { id, doc } = host;
  const blocker = blockerOf(context, host);
  if (blocker !== undefined) {
    mark('something-came-while-it-left');
    return fail(item, blocker);
  }
  const finalizing: Host = { ...doc, state: 'finalizing', changedBy: ENDER, changedAtMs: nowMs };
  const progress = { state: 'running' as const, step: 'finalize', host: null };
  return record(item, progress, { changes: [put(HOST, id, finalizing)] });
}

function isForced(host: Host | undefined): boolean {
  return host?.leaving?.forced !== undefined;
}

/** When ordered to leave it found strays, and stays: they are recorded, and block the removal. */
function failWithStrays(
  fleet: FleetReader,
  item: StoredItem,
  { host, facts = {} }: FailedLeave,
  nowMs: number,
): RecordStep | undefined {
  const found = facts['strays'];
  const names = Array.isArray(found) ? found.filter((name) => typeof name === 'string') : [];
  const strays = summarizeStrays(names, facts['straysInAll']);
  if (strays === undefined || isForced(host.doc)) return undefined;
  mark('strays-found-at-the-end');
  const changes = strayChanges(fleet, { host, strays, nowMs });
  return { ...fail(item, straysReason(host.id, strays)), changes };
}

interface FailedLeave extends Pick<TaskAnswer, 'facts'> {
  readonly host: StoredHost;
}

/** It has left: its credential is revoked, and no heartbeat of it is accepted. */
function handleLeaveAnswer(fleet: FleetReader, item: StoredItem, answer: TaskAnswer, nowMs: number): RecordStep {
  const host = findHost(fleet, item.doc.target.id);
  if (host === undefined) return record(item, { state: 'done', step: item.doc.step });
  if (answer.outcome === 'failed') {
    const stays = failWithStrays(fleet, item, { host, ...answer }, nowMs);
    if (stays !== undefined) return stays;
    const problems = answer.problems ?? [];
    return wait(item, { code: 'not-left', host: host.id, problems }, nowMs + LEAVE_AGAIN_MS);
  }
  // It searched for strays before it left.
  const { credential: _, strays: __, ...rest } = host.doc;
  const disconnected: Host = {
    ...rest,
    connection: { state: 'down', sinceMs: nowMs },
    changedBy: ENDER,
    changedAtMs: nowMs,
  };
  const made = {
    changes: [
      put(HOST, host.id, disconnected),
      ...endStraysAlarm(fleet, host.id),
      ...revokeTokens(fleet, host.id, nowMs),
    ],
  };
  return record(item, { state: 'waiting', step: item.doc.step, reason: { code: 'has-left', host: host.id } }, made);
}

function revokeTokens(fleet: FleetReader, host: string, nowMs: number): Change[] {
  return tokensOfHost(fleet, host).map((token) => revokeTokenChange(token, ENDER, nowMs));
}

/** Connected peers must have converged; each of the others gets a pending clean-up until it has. */
function planFinalize(context: EndContext, host: StoredHost): readonly PlannedStep[] {
  const { fleet, item, nowMs, peersOf } = context;
  if (item.doc.step === 'disconnect') return [record(item, { state: 'running', step: 'finalize', host: null })];
  // Cheap test first: peers are all hosts of a zone.
  if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
  const peers = peersOf(fleet, host.id).filter((peer) => isCleanUpPeer(fleet, peer, host.id));
  const away = peers.filter((peer) => !isWaitedFor(findHost(fleet, peer)?.doc));
  if (away.length > 0) {
    mark('peers-to-be-cleaned-later');
    const changes = recordPendingCleanUps(away, host.id, { key: `${item.id}.${item.doc.attempt}`, nowMs });
    return [record(item, { state: 'running', step: 'finalize', attempt: item.doc.attempt + 1 }, { changes })];
  }
  if (peers.length === 0) return [record(item, { state: 'running', step: 'remove' })];
  return [awaitCleanUp(item, { hosts: peers, revision: host.revision })];
}

/** A peer that is silent, too old, or not trusted must hold up no removal. */
function isWaitedFor(peer: Host | undefined): boolean {
  return peer !== undefined && peer.quarantined === undefined && cleanupBlocker(peer) === undefined;
}

/** A peer that is waited for: in the fleet, and not among those that are cleaned later. */
function isCleanUpPeer(fleet: FleetReader, peer: string, host: string): boolean {
  const doc = findHost(fleet, peer)?.doc;
  const isPending = fleet.get(PENDING_CLEAN_UP, pendingId(peer, host)) !== undefined;
  // A joining host that never was active has no tunnels yet; once its agent has joined it counts as others do.
  const isNew = doc?.state === 'joining' && doc.credential === undefined && doc.readmitted !== true;
  // A peer that is finalizing as well is wiped, or untrusted should it report again: hosts of one batch need not notify each other.
  const isGoing = doc?.state === 'finalizing' || doc?.state === 'removed';
  return doc !== undefined && peer !== host && !isNew && !isGoing && !isPending;
}

function observeConvergence(item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  if (outcome.kind !== 'failed') return record(item, { state: 'running', step: 'remove' });
  return retryConvergence(item, outcome.reason, nowMs);
}

/** The last commit: its dependents, its credentials and its record change together. */
function removeHost(context: EndContext, host: StoredHost): RecordStep {
  const { fleet, evacuators, item, nowMs } = context;
  const { id, doc } = host;
  const blocker = blockerOf(context, host);
  if (blocker !== undefined) return wait(item, blocker, nowMs + LOOK_AGAIN_MS);
  const how = { by: ENDER, nowMs };
  const changes = [
    ...evacuators.flatMap((one) => one.abandon(fleet, id, how)),
    ...revokeTokens(fleet, id, nowMs),
    ...endDegradedAlarm(fleet, id),
    ...endStraysAlarm(fleet, id),
    put(HOST, id, remainsOf(doc, how)),
  ];
  return record(item, { state: 'done', step: 'remove', host: null }, { changes: mergeChanges(changes) });
}

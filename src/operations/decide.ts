// Deciding what happens to operations: starting one, recording a step, ending it, cancelling and retrying it. The
// state tables are enforced here, inside the commit.
import {
  idOf,
  mark,
  mergeChanges,
  put,
  type Change,
  type FleetReader,
  type Reason,
  type Refusal,
} from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import type {
  DecideStep,
  ExpectedRevision,
  OperationKind,
  Progress,
  RecordStep,
  StoredItem,
  StoredOperation,
} from './kind.ts';
import {
  isUnfinished,
  ITEM,
  ITEM_TRANSITIONS,
  ITEMS_BY_OPERATION,
  OPERATION,
  OPERATION_TRANSITIONS,
  UNFINISHED_OPERATIONS,
  type Item,
  type Operation,
  type OperationId,
} from './model.ts';
import type { Finish } from './plan.ts';

export interface NewOperation {
  readonly id: OperationId;
  readonly kind: string;
  readonly title: string;
  readonly by: string;
  readonly why?: string | undefined;
  readonly site?: string | undefined;
  readonly project?: string | undefined;
  readonly within?: string | undefined;
  readonly nowMs: number;
  readonly deadlineMs: number;
  readonly items: readonly NewItem[];
}

export interface NewItem {
  /** Unique within the operation; the item's id is made of both. */
  readonly key: string;
  readonly target: Item['target'];
  readonly host?: string;
  readonly assignee?: string;
  readonly drainedHost?: string | undefined;
  readonly step: string;
  /** `running` when the request itself has taken the steps before this one. */
  readonly state?: 'pending' | 'running';
  /** Why it waits from the beginning, with what has to be known of that later. */
  readonly reason?: Reason;
}

/** The documents of a new operation. They are committed together with whatever the request itself changes. */
export function newOperation(wanted: NewOperation): Change[] {
  const { id, kind, title, by, why, site, project, within, nowMs, deadlineMs, items } = wanted;
  const doc: Operation = {
    kind,
    title,
    state: 'running',
    by,
    createdAtMs: nowMs,
    deadlineMs,
    deadlineAtMs: nowMs + deadlineMs,
  };
  if (why !== undefined) doc.why = why;
  if (site !== undefined) doc.site = site;
  if (project !== undefined) doc.project = project;
  if (within !== undefined) doc.within = within;
  return [put(OPERATION, id, doc), ...items.map((item) => putItem(id, item, nowMs))];
}

function putItem(operation: OperationId, item: NewItem, nowMs: number): Change {
  const { key, target, host, drainedHost, assignee, step, state, reason } = item;
  const doc: Item = { operation, target, step, state: state ?? 'pending', attempt: 1, sinceMs: nowMs };
  if (host !== undefined) doc.host = host;
  if (drainedHost !== undefined) doc.drainedHost = drainedHost;
  if (assignee !== undefined) doc.assignee = assignee;
  if (reason !== undefined) doc.reason = reason;
  return put(ITEM, idOf(ITEM, `${operation}.${key}`), doc);
}

/** Records a step: `stale` when the world is not as it was planned on, and then nothing changes. */
export function recordStep(fleet: FleetReader, next: RecordStep, nowMs: number): Decision<'recorded' | 'stale'> {
  const item = fleet.get(ITEM, next.item);
  const operation = item && fleet.get(OPERATION, idOf(OPERATION, item.doc.operation));
  if (item === undefined || operation === undefined || item.revision !== next.expected) return refuseStaleStep();
  if (!canRecord(operation.doc, next.progress, nowMs) || !next.expects.every((one) => isUnchanged(fleet, one)))
    return refuseStaleStep();
  if (!ITEM_TRANSITIONS[item.doc.state].includes(next.progress.state)) return refuseStaleStep();
  if (repeatsWait(item.doc, next, nowMs)) return accept([], 'recorded');
  return accept([put(ITEM, item.id, applyProgress(item.doc, next.progress, nowMs)), ...next.changes], 'recorded');
}

/**
 * The item says already that it waits for this, and its retry is not due yet, or it has no known time. Recording it again, at most with
 * a later time, would wake it because of the commit, and so on without end.
 */
function repeatsWait(item: Item, { progress, changes }: RecordStep, nowMs: number): boolean {
  const { state, step, reason, retryAtMs, attempt = item.attempt, host, assignee } = progress;
  return (
    changes.length === 0 &&
    state === 'waiting' &&
    item.state === 'waiting' &&
    step === item.step &&
    attempt === item.attempt &&
    host === undefined &&
    assignee === undefined &&
    (retryAtMs === undefined ? item.retryAtMs === undefined : nowMs < (item.retryAtMs ?? 0)) &&
    JSON.stringify(reason) === JSON.stringify(item.reason)
  );
}

/** Decides steps on the newest state and records all of them; one that is stale makes all of them so. */
export function decideSteps(fleet: FleetReader, next: DecideStep, nowMs: number): Decision<'recorded' | 'stale'> {
  if (fleet.get(ITEM, next.item)?.revision !== next.expected) return refuseStaleStep();
  const changes: Change[] = [];
  for (const step of next.decide(fleet, nowMs)) {
    const recorded = recordStep(fleet, step, nowMs);
    if (recorded.kind === 'refuse' || recorded.answer === 'stale') return recorded;
    changes.push(...recorded.changes);
  }
  return accept(mergeChanges(changes), 'recorded');
}

/** Gives everything that is unfinished as much more time as a clock that was set ahead took from it. */
export function extendDeadlines(fleet: FleetReader, byMs: number): Decision<null> {
  const open = [...fleet.find(UNFINISHED_OPERATIONS, 'unfinished')];
  const changes = open.map(({ id, doc }) => put(OPERATION, id, { ...doc, deadlineAtMs: doc.deadlineAtMs + byMs }));
  return accept(changes, null);
}

function refuseStaleStep(): Decision<'stale'> {
  mark('engine-stale-step');
  return accept([], 'stale');
}

/** After the deadline, and while cancelling, a step may only close its item. */
function canRecord(operation: Operation, progress: Progress, nowMs: number): boolean {
  if (operation.state === 'cancelling') return progress.state === 'cancelled';
  if (operation.state !== 'running' || progress.state === 'cancelled') return false;
  if (nowMs > operation.deadlineAtMs) mark('engine-deadline-passed');
  return nowMs <= operation.deadlineAtMs || progress.state === 'failed';
}

function isUnchanged(fleet: FleetReader, expected: ExpectedRevision): boolean {
  const stored = fleet.get({ name: expected.kind, check: () => undefined }, expected.id as never);
  return stored?.revision === expected.revision;
}

function applyProgress(item: Item, progress: Progress, nowMs: number): Item {
  const { reason: _, retryAtMs: __, host: hostBefore, assignee: assigneeBefore, ...rest } = item;
  const { state, step, reason, retryAtMs, attempt, host = hostBefore, assignee = assigneeBefore } = progress;
  return {
    ...rest,
    ...(host !== undefined && host !== null && { host }),
    ...(assignee !== undefined && assignee !== null && { assignee }),
    state,
    step,
    sinceMs: nowMs,
    attempt: attempt ?? (step === item.step ? item.attempt : 1),
    ...(reason !== undefined && { reason }),
    ...(retryAtMs !== undefined && { retryAtMs }),
  };
}

export function finishOperation(fleet: FleetReader, { operation, doc }: Finish): Decision<'recorded' | 'stale'> {
  if (fleet.get(OPERATION, operation.id)?.revision !== operation.revision) return refuseStaleStep();
  return accept([put(OPERATION, operation.id, doc)], 'recorded');
}

/** A bug in a kind's code stops its operation, not the process. */
export function stopOperation(
  fleet: FleetReader,
  operation: StoredOperation,
  detail: string,
): Decision<'recorded' | 'stale'> {
  if (fleet.get(OPERATION, operation.id)?.revision !== operation.revision) return refuseStaleStep();
  // Saying it again would wake the operation, and it would fail again: once is enough.
  if (operation.doc.stopped === true) return refuseStaleStep();
  const reason = { code: 'internal-error', detail };
  return accept([put(OPERATION, operation.id, { ...operation.doc, stopped: true, reason })], 'recorded');
}

export interface OperationCommand {
  readonly id: string;
  readonly kinds: ReadonlyMap<string, OperationKind>;
  readonly nowMs: number;
  /** Of a caller that is bound to a site: what it has tried again does not leave that site. */
  readonly site?: string | undefined;
}

export function cancelOperation(fleet: FleetReader, command: OperationCommand): Decision<StoredOperation> {
  const operation = fleet.get(OPERATION, idOf(OPERATION, command.id));
  if (operation === undefined) return refuse(unknownOperation(command.id));
  const { state, kind: name } = operation.doc;
  const kind = command.kinds.get(name);
  const meaning = kind?.cancel;
  if (meaning?.kind !== 'does') return refuse(notSupported('cancelled', operation, meaning?.because));
  const underWay = state === 'cancelling' && operation.doc.stopped !== true;
  if (underWay || state === 'cancelled') return accept([], operation);
  if (!OPERATION_TRANSITIONS[state].includes('cancelling')) return refuse(wrongState('cancelled', operation));
  const { finishedAtMs: _, counts: __, stopped: ___, reason: ____, ...rest } = operation.doc;
  const doc: Operation = { ...rest, state: 'cancelling' };
  const needsUndo = (item: StoredItem): boolean => kind?.needsUndo?.(fleet, item) ?? true;
  const items = listFailedItems(fleet, operation).map((item) =>
    needsUndo(item) ? reopenItem(item, command.nowMs) : cancelItem(item, command.nowMs),
  );
  return accept([put(OPERATION, operation.id, doc), ...items], { ...operation, doc });
}

/** Failed items are tried again, with a new deadline as long as the first. */
export function retryOperation(fleet: FleetReader, command: OperationCommand): Decision<StoredOperation> {
  const operation = fleet.get(OPERATION, idOf(OPERATION, command.id));
  if (operation === undefined) return refuse(unknownOperation(command.id));
  const meaning = command.kinds.get(operation.doc.kind)?.retry;
  if (meaning?.kind !== 'does') return refuse(notSupported('retried', operation, meaning?.because));
  const { state, deadlineMs } = operation.doc;
  const stopped = state === 'running' && operation.doc.stopped === true;
  if (isUnfinished(operation.doc) && !stopped) return accept([], operation);
  if (state !== 'failed' && !stopped) return refuse(wrongState('retried', operation));
  const { finishedAtMs: _, counts: __, reason: ___, stopped: ____, ...rest } = operation.doc;
  const { nowMs, site } = command;
  const within = site === undefined ? {} : { within: site };
  const doc: Operation = { ...rest, ...within, state: 'running', deadlineAtMs: nowMs + deadlineMs };
  const items = listFailedItems(fleet, operation).map((item) => reopenItem(item, nowMs));
  return accept([put(OPERATION, operation.id, doc), ...items], { ...operation, doc });
}

function listFailedItems(fleet: FleetReader, operation: StoredOperation): StoredItem[] {
  return [...fleet.find(ITEMS_BY_OPERATION, operation.id)].filter((item) => item.doc.state === 'failed');
}

function reopenItem(item: StoredItem, nowMs: number): Change {
  const { reason: _, retryAtMs: __, ...rest } = item.doc;
  return put(ITEM, item.id, { ...rest, state: 'pending', attempt: item.doc.attempt + 1, sinceMs: nowMs });
}

/** Cancelled without being opened: another operation may work on its target by now. */
function cancelItem(item: StoredItem, nowMs: number): Change {
  const { reason: _, retryAtMs: __, ...rest } = item.doc;
  return put(ITEM, item.id, { ...rest, state: 'cancelled', sinceMs: nowMs });
}

function unknownOperation(id: string): Refusal {
  const message = `There is no operation "${id}". List them with "muster operations list".`;
  return { kind: 'not-found', code: 'unknown-operation', message, facts: { operation: id } };
}

type OperationVerb = 'cancelled' | 'retried';

const WRONG_STATE_ADVICE: Readonly<Record<OperationVerb, string>> = {
  cancelled: 'What it did stays.',
  retried: 'Only one that failed can be. Begin another for what is still wanted.',
};

function wrongState(verb: OperationVerb, { id, doc }: StoredOperation): Refusal {
  const message = `Operation ${id} cannot be ${verb}: it is ${doc.state}. ${WRONG_STATE_ADVICE[verb]}`;
  return { kind: 'conflict', code: 'wrong-state', message, facts: { operation: id, state: doc.state } };
}

function notSupported(verb: OperationVerb, { id, doc }: StoredOperation, because: string | undefined): Refusal {
  const why = because ?? 'this server does not know its kind; send it to a server of the version that began it';
  const message = `Operation ${id} (${doc.kind}) cannot be ${verb}: ${why}.`;
  return { kind: 'conflict', code: 'not-supported', message, facts: { operation: id } };
}

// What is to be done for an operation now: its kind's steps while it runs, undoing while it is cancelled, and its end.
// After the deadline nothing is done but to say so.
import type { FleetReader } from '../fleet/index.ts';
import { record, type PlannedStep, type OperationKind, type StoredItem, type StoredOperation } from './kind.ts';
import {
  countsOf,
  findFailedItem,
  hasOpenItem,
  isOpen,
  ITEMS_BY_OPERATION,
  isSameReason,
  type ItemCounts,
  type Item,
  type Operation,
} from './model.ts';

export interface Finish {
  readonly kind: 'finish';
  readonly operation: StoredOperation;
  readonly doc: Operation;
}

export interface DueOperation {
  readonly operation: StoredOperation;
  /** The items to plan: `all`, or those that were woken. */
  readonly items: 'all' | readonly StoredItem[];
  /** Items with an action under way: whatever would be planned for them comes too early. */
  readonly busy?: { has(item: string): boolean };
  /** Items that wait for capacity: skipped by a scan of all, which would cost as much each time. */
  readonly queued?: { has(item: string): boolean };
  /** Items that are planned as if their wait were over. */
  readonly early?: ReadonlySet<string>;
}

export function planOperation(
  fleet: FleetReader,
  kind: OperationKind,
  due: DueOperation,
  nowMs: number,
): readonly (PlannedStep | Finish)[] {
  const { operation } = due;
  const looked = due.items === 'all' ? [...fleet.find(ITEMS_BY_OPERATION, operation.id)] : due.items;
  const open = looked.filter((item) => isOpen(item.doc));
  // Only where none of them is open there may be none at all.
  const finish = open.length > 0 ? undefined : finishOf(fleet, operation, nowMs);
  if (finish !== undefined) return [finish];
  const items = open.filter((item) => due.busy?.has(item.id) !== true);
  if (operation.doc.state === 'cancelling') {
    return operation.doc.stopped === true ? [] : items.map((item) => planCancel(fleet, kind, item, nowMs));
  }
  if (nowMs > operation.doc.deadlineAtMs) return items.map((item) => planDeadlineFailure(fleet, kind, item, nowMs));
  if (operation.doc.stopped === true) return [];
  const callable = due.items === 'all' ? items.filter(({ id }) => due.queued?.has(id) !== true) : items;
  const called = endWaits(callable, due.early);
  const planned = kind.plan(fleet, called, nowMs);
  if (planned.length === 0) return planned;
  const byId = new Map(called.map((item) => [item.id, item.doc]));
  return planned.filter((next) => !isSameWait(byId.get(next.item), next));
}

function endWaits(items: readonly StoredItem[], early: DueOperation['early']): readonly StoredItem[] {
  if (early === undefined || early.size === 0) return items;
  return items.map((item) => {
    if (!early.has(item.id)) return item;
    const { retryAtMs: _, ...doc } = item.doc;
    return { ...item, doc };
  });
}

function planCancel(fleet: FleetReader, kind: OperationKind, item: StoredItem, nowMs: number): PlannedStep {
  return record(item, { state: 'cancelled', step: item.doc.step }, kind.undo?.(fleet, item, nowMs) ?? {});
}

function planDeadlineFailure(fleet: FleetReader, kind: OperationKind, item: StoredItem, nowMs: number): PlannedStep {
  // The facts of the wait are kept: its sentence is shown in full.
  const wait = item.doc.reason;
  const reason = { ...wait, ...(wait !== undefined && { waitedFor: wait.code }), code: 'deadline-passed' };
  return record(item, { state: 'failed', step: item.doc.step, reason }, kind.onDeadline?.(fleet, item, nowMs) ?? {});
}

/** A wait that says again what the item says already is no news. */
function isSameWait(item: Item | undefined, next: PlannedStep): boolean {
  if (next.kind !== 'record' || next.changes.length > 0) return false;
  const { progress } = next;
  return (
    item !== undefined &&
    item.state === progress.state &&
    item.step === progress.step &&
    item.attempt === (progress.attempt ?? item.attempt) &&
    isSameReason(item.reason, progress.reason)
  );
}

function finishOf(fleet: FleetReader, operation: StoredOperation, nowMs: number): Finish | undefined {
  if (hasOpenItem(fleet, operation.id)) return undefined;
  const counts = countsOf(fleet, operation.id);
  const { stopped: _, reason: __, ...rest } = operation.doc;
  const end = endOf(fleet, operation, counts);
  return { kind: 'finish', operation, doc: { ...rest, ...end, counts, finishedAtMs: nowMs } };
}

function endOf(
  fleet: FleetReader,
  { id, doc }: StoredOperation,
  counts: ItemCounts,
): Pick<Operation, 'state' | 'reason'> {
  if (doc.state === 'cancelling') return { state: 'cancelled' };
  if (counts.failed === 0) return { state: 'succeeded' };
  const { failed, done } = counts;
  // The reason of one of them: of a single failure it is the operation's own, of many they are mostly alike.
  const why = findFailedItem(fleet, id)?.doc.reason;
  const reason = { ...why, ...(why !== undefined && { failedFor: why.code }), code: 'items-failed', failed, done };
  return { state: 'failed', reason };
}

// The task that an item has for whoever carries it out, and the answer to it: recorded for the item that waits for it. It never decides who may
// answer: callers say for whom the item's task is.
import { idOf, mark, type FleetReader } from '../fleet/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import { recordStep, stopOperation } from './decide.ts';
import {
  itemOfTask,
  taskId,
  type OperationKind,
  type RecordStep,
  type StoredItem,
  type Task,
  type TaskAnswer,
  type TaskFacts,
} from './kind.ts';
import { isOpen, ITEM, OPERATION } from './model.ts';

type Kinds = ReadonlyMap<string, OperationKind>;

/** The task that an open item has now. A cancelled operation starts nothing more. */
export function taskOf(
  fleet: FleetReader,
  kinds: Kinds,
  item: StoredItem,
  relayed?: TaskFacts,
): Omit<Task, 'id'> | undefined {
  const operation = fleet.get(OPERATION, idOf(OPERATION, item.doc.operation))?.doc;
  if (operation?.state !== 'running' || operation.stopped === true) return undefined;
  return kinds.get(operation.kind)?.task?.(item, { fleet, relayed });
}

export interface TaskAnswerReport {
  readonly answer: TaskAnswer;
  /** Whether the task of this item was for whoever answers. */
  readonly isAddressee: (item: StoredItem) => boolean;
  readonly nowMs: number;
}

/** Records the result for its item. A result that no item waits for changes nothing. */
export function recordTaskAnswer(
  fleet: FleetReader,
  kinds: Kinds,
  { answer, isAddressee, nowMs }: TaskAnswerReport,
): Decision<'recorded' | 'stale'> {
  const item = fleet.get(ITEM, itemOfTask(answer.task));
  if (item === undefined || !isAddressee(item) || !isAwaited(fleet, kinds, item, answer.task)) return acceptStale();
  const operation = fleet.get(OPERATION, idOf(OPERATION, item.doc.operation));
  const kind = kinds.get(operation?.doc.kind ?? '');
  if (operation === undefined || kind?.handleTaskAnswer === undefined) return acceptStale();
  let step: RecordStep;
  try {
    step = kind.handleTaskAnswer(item, answer, { fleet, nowMs });
  } catch (error) {
    // A bug in the operation kind's code stops its operation; the result need not be repeated until the deadline.
    return stopOperation(fleet, operation, error instanceof Error ? error.message : String(error));
  }
  return recordStep(fleet, step, nowMs);
}

/** Whether the result of this task is still waited for. */
export function isAwaited(fleet: FleetReader, kinds: Kinds, item: StoredItem, task: string): boolean {
  if (!isOpen(item.doc) || taskId(item) !== task) return false;
  return taskOf(fleet, kinds, item) !== undefined;
}

function acceptStale(): Decision<'stale'> {
  mark('stale-task-answer');
  return accept([], 'stale');
}

// What an operation kind is: pure functions from the fleet to the next step of each item. A kind leaves no choice to
// whoever carries a step out, and says what cancel and retry mean for it.
import type { AppliedChange, Change, FleetReader, Reason, Stored } from '../fleet/index.ts';
import { OPERATION, type Item, type ItemId, type ItemState, type Operation, type OperationId } from './model.ts';

export type StoredOperation = Stored<'operation', Operation>;
export type StoredItem = Stored<'item', Item>;

/** A document as the plan read it. If it is another by now, the step is not taken and is planned again. */
export interface ExpectedRevision {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
}

/** Where a step takes its item. */
export interface Progress {
  readonly state: ItemState;
  readonly step: string;
  readonly reason?: Reason;
  readonly retryAtMs?: number;
  /** A new try of the same step: answers to the one before no longer count. */
  readonly attempt?: number;
  /** The host whose agent has the next task; null when none has. The one before stays when nothing is said. */
  readonly host?: string | null;
  /** As `host`, for tasks of others than agents. */
  readonly assignee?: string | null;
}

/** Something a driver does to the world. */
export interface Action {
  readonly driver: string;
  readonly item: ItemId;
  readonly step: string;
  readonly attempt: number;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What a driver is given beside its action: repeat it as you like, but refuse an older epoch. */
export interface ActionFence {
  readonly leaseEpoch: number;
  readonly operation: string;
  readonly deadlineAtMs: number;
  /**
   * Aborted at the deadline, when the lease is lost, and when the operation is cancelled; its reason says which (`ActionAborted`). Nothing is begun
   * after it, and what waits ends: nothing reads the answer any more. Each action has its own, which lasts as long as the action does.
   */
  readonly signal: AbortSignal;
}

export type ActionOutcome =
  | { readonly kind: 'applied' | 'already'; readonly facts?: Readonly<Record<string, unknown>> }
  | { readonly kind: 'stale' }
  | { readonly kind: 'failed'; readonly reason: Reason };

/** Carries out one action. Repeating it is a no-op. A driver never decides. */
export interface Driver {
  /** How many actions it has under way at most, when it bears more than others: one that only waits. */
  readonly maxConcurrent?: number;
  carryOut(action: Action, fence: ActionFence): Promise<ActionOutcome>;
}

export type PlannedStep =
  /** Commits the item's progress together with the changes that the step made. */
  | {
      readonly kind: 'record';
      readonly item: ItemId;
      readonly expected: number;
      readonly progress: Progress;
      readonly changes: readonly Change[];
      readonly expects: readonly ExpectedRevision[];
    }
  | { readonly kind: 'act'; readonly item: ItemId; readonly expected: number; readonly action: Action }
  /**
   * Decided inside the commit, on the newest state: for what must not be sold twice. It answers the steps to record,
   * of this item or of several that go together: all of them are recorded, or none.
   */
  | {
      readonly kind: 'decide';
      readonly item: ItemId;
      readonly expected: number;
      readonly decide: (fleet: FleetReader, nowMs: number) => readonly RecordStep[];
    };

export type DecideStep = Extract<PlannedStep, { kind: 'decide' }>;
export type RecordStep = Extract<PlannedStep, { kind: 'record' }>;

/** A task for an agent, as it stands in the host's view. */
export interface Task {
  /** Names item, step and attempt: an answer to an older one is not taken. */
  readonly id: string;
  readonly kind: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface TaskAnswer {
  readonly task: string;
  readonly outcome: 'done' | 'failed';
  readonly problems?: readonly string[];
  readonly facts?: TaskFacts;
}

export type TaskFacts = Readonly<Record<string, unknown>>;

/** What a word means for this kind; `none` says why there is no such thing. */
export type CommandSupport =
  { readonly kind: 'does'; readonly what: string } | { readonly kind: 'none'; readonly because: string };

/** What the answer of a driver or of an agent is read with. */
export interface ObserveContext {
  readonly fleet: FleetReader;
  readonly nowMs: number;
}

export interface TaskContext {
  readonly fleet: FleetReader;
  readonly relayed?: TaskFacts | undefined;
}

export interface OperationKind {
  readonly name: string;
  /** The steps in their order, for people. */
  readonly steps: readonly string[];
  readonly cancel: CommandSupport;
  readonly retry: CommandSupport;
  /** The next step of each of these open items, all of one operation. An item without one is left as it is. */
  plan(fleet: FleetReader, items: readonly StoredItem[], nowMs: number): readonly PlannedStep[];
  /** What a driver's answer means. */
  observe?(item: StoredItem, outcome: ActionOutcome, context: ObserveContext): RecordStep;
  /** What has to be undone when an item is cancelled, with the documents that were read for it. */
  undo?(fleet: FleetReader, item: StoredItem, nowMs: number): Pick<RecordStep, 'changes' | 'expects'>;
  /** Whether a failed item that is cancelled has something to take back; it has when nothing is said. */
  needsUndo?(fleet: FleetReader, item: StoredItem): boolean;
  /** What is written down when the deadline passes over an item: how things stand. Nothing is done to the world any more. */
  onDeadline?(fleet: FleetReader, item: StoredItem, nowMs: number): Pick<RecordStep, 'changes' | 'expects'>;
  /** Items that have to be planned again because of this change, besides those whose target it is. */
  itemsToWake?(fleet: FleetReader, change: AppliedChange): Iterable<StoredItem>;
  /** The task that the item has for its host's agent. `relayed` is missing also when the lease has changed hands since. */
  task?(item: StoredItem, context: TaskContext): Omit<Task, 'id'> | undefined;
  /** Facts of this answer for later tasks of the item, past the journal: such as secrets. Those of an earlier answer stay where this is undefined. */
  relayFacts?(item: StoredItem, answer: TaskAnswer): TaskFacts | undefined;
  /** What the agent's answer means. */
  handleTaskAnswer?(item: StoredItem, answer: TaskAnswer, context: ObserveContext): RecordStep;
}

/** The operation of an item, which outlives it. */
export function operationOf(fleet: FleetReader, { id, doc }: StoredItem): StoredOperation {
  const operation = fleet.get(OPERATION, doc.operation as OperationId);
  if (operation === undefined) throw new Error(`item ${id} has no operation`);
  return operation;
}

/** A step that commits. */
export function record(
  item: StoredItem,
  progress: Progress,
  made: Partial<Pick<RecordStep, 'changes' | 'expects'>> = {},
): RecordStep {
  return {
    kind: 'record',
    item: item.id,
    expected: item.revision,
    progress,
    changes: made.changes ?? [],
    expects: made.expects ?? [],
  };
}

/** A step whose content is decided inside the commit. */
export function decideLater(
  item: StoredItem,
  decide: (fleet: FleetReader, nowMs: number) => readonly RecordStep[],
): DecideStep {
  return { kind: 'decide', item: item.id, expected: item.revision, decide };
}

/** Nothing can be done yet, and this is why. */
export function wait(item: StoredItem, reason: Reason, retryAtMs?: number): RecordStep {
  const { step } = item.doc;
  return record(item, { state: 'waiting', step, reason, ...(retryAtMs !== undefined && { retryAtMs }) });
}

export function fail(item: StoredItem, reason: Reason): RecordStep {
  return record(item, { state: 'failed', step: item.doc.step, reason });
}

export function expectUnchanged(kind: { readonly name: string }, stored: Stored): ExpectedRevision {
  return { kind: kind.name, id: stored.id, revision: stored.revision };
}

export function taskId(item: StoredItem): string {
  return `${item.id}:${item.doc.step}:${item.doc.attempt}`;
}

/** The item a task belongs to. */
export function itemOfTask(task: string): ItemId {
  return task.slice(0, task.lastIndexOf(':', task.lastIndexOf(':') - 1)) as ItemId;
}

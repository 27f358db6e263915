// Agents that take no time: every task of a host is done as soon as it is durable. They answer as agents do, each
// answer a commit of its own, so that what is measured is the control plane.
import { idOf, type AppliedChange, type FleetReader } from '../src/fleet/index.ts';
import { accept, type Decision, type Journal } from '../src/journal/index.ts';
import {
  isOpen,
  ITEM,
  OPERATION,
  recordStep,
  taskId,
  type Item,
  type OperationKind,
  type StoredItem,
} from '../src/operations/index.ts';
import { realClock } from '../src/main/clock.ts';

export class InstantAgents {
  readonly #journal: Journal;
  readonly #kinds: ReadonlyMap<string, OperationKind>;
  /** Answers that are on their way. */
  readonly #answering = new Set<Promise<unknown>>();
  #failed: Error | undefined;

  constructor(journal: Journal, kinds: ReadonlyMap<string, OperationKind>) {
    this.#journal = journal;
    this.#kinds = kinds;
  }

  /** Until the answer is called; it waits for what has begun. */
  start(): () => Promise<void> {
    const stop = this.#journal.onCommit(({ applied }) => this.#look(applied));
    return async () => {
      stop();
      await Promise.all(this.#answering);
      if (this.#failed !== undefined) throw this.#failed;
    };
  }

  #look(applied: readonly AppliedChange[]): void {
    for (const { kind, after } of applied) {
      if (kind !== ITEM.name || after === undefined) continue;
      const item = after as StoredItem;
      if (!hasHost(item.doc) || this.#taskOf(this.#journal.fleet, item) === undefined) continue;
      const answering = this.#answer(item).catch((error: unknown) => {
        this.#failed ??= error instanceof Error ? error : new Error(String(error));
      });
      this.#answering.add(answering);
      void answering.then(() => this.#answering.delete(answering));
    }
  }

  #kindOf(fleet: FleetReader, { doc }: StoredItem): OperationKind | undefined {
    return this.#kinds.get(fleet.get(OPERATION, idOf(OPERATION, doc.operation))?.doc.kind ?? '');
  }

  #taskOf(fleet: FleetReader, item: StoredItem): unknown {
    return this.#kindOf(fleet, item)?.task?.(item, { fleet });
  }

  async #answer(item: StoredItem): Promise<void> {
    const nowMs = realClock.nowMs();
    const decide = (fleet: FleetReader): Decision<unknown> => {
      const now = fleet.get(ITEM, item.id);
      if (now?.revision !== item.revision || this.#taskOf(fleet, now) === undefined) return accept([], 'stale');
      const answer = { task: taskId(now), outcome: 'done' } as const;
      const step = this.#kindOf(fleet, now)?.handleTaskAnswer?.(now, answer, { fleet, nowMs });
      return step === undefined ? accept([], 'stale') : recordStep(fleet, step, nowMs);
    };
    const outcome = await this.#journal.submit({ by: `agent/${item.doc.host}`, decide });
    if (outcome.kind !== 'accepted') throw new Error(outcome.refusal.message);
  }
}

function hasHost(item: Item): boolean {
  return isOpen(item) && item.host !== undefined;
}

// What an agent's answer says for a later task of the same item, and the journal must not have, such as the secret of a line between two
// hosts. In memory only: with the lease it is gone, and the later task is given without it.
import { idOf, type AppliedChange, type FleetReader } from '../../fleet/index.ts';
import {
  isAwaited,
  isOpen,
  ITEM,
  itemOfTask,
  OPERATION,
  type Item,
  type TaskAnswer,
  type TaskFacts,
} from '../../operations/index.ts';
import type { ViewSource } from './compose-view.ts';

export class TaskFactsRelay {
  readonly #kinds: ViewSource['kinds'];
  readonly #byItem = new Map<string, TaskFacts>();

  constructor(kinds: ViewSource['kinds']) {
    this.#kinds = kinds;
  }

  /** Before the answer is recorded: the commit that records it brings about the later task. */
  note(fleet: FleetReader, host: string, answer: TaskAnswer): void {
    const item = fleet.get(ITEM, itemOfTask(answer.task));
    if (item?.doc.host !== host || !isAwaited(fleet, this.#kinds, item, answer.task)) return;
    const operation = fleet.get(OPERATION, idOf(OPERATION, item.doc.operation))?.doc;
    const facts = this.#kinds.get(operation?.kind ?? '')?.relayFacts?.(item, answer);
    if (facts === undefined) return;
    if (Object.keys(facts).length > 0) this.#byItem.set(item.id, facts);
    else this.#byItem.delete(item.id);
  }

  factsFor(item: string): TaskFacts | undefined {
    return this.#byItem.get(item);
  }

  onCommit(applied: readonly AppliedChange[]): void {
    if (this.#byItem.size === 0) return;
    for (const { kind, before, after } of applied) {
      if (kind !== ITEM.name || (after !== undefined && isOpen(after.doc as Item))) continue;
      this.#byItem.delete((after ?? before)?.id ?? '');
    }
  }

  clear(): void {
    this.#byItem.clear();
  }
}

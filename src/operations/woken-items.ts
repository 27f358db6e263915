// What has happened to operations and their items since they were last planned: by commits that concern them, and by drivers that answered. Lost
// in a crash, and found again by the scan of all operations.
import { idOf, type AppliedChange, type FleetReader } from '../fleet/index.ts';
import type { OperationKind, StoredItem } from './kind.ts';
import {
  isOpen,
  isUnfinished,
  ITEM,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  targetKey,
  type Item,
  type OperationId,
} from './model.ts';
import type { DueOperation } from './plan.ts';

export class WokenItems {
  readonly #onWake: () => void;
  readonly #wakers: readonly NonNullable<OperationKind['itemsToWake']>[];
  #woken = new Map<OperationId, 'all' | Set<string>>();

  constructor(kinds: Iterable<OperationKind>, onWake: () => void) {
    this.#onWake = onWake;
    this.#wakers = [...kinds].flatMap((kind) => kind.itemsToWake?.bind(kind) ?? []);
  }

  /** Nothing is left of it afterwards. */
  take(fleet: FleetReader): DueOperation[] {
    const woken = this.#woken;
    this.#woken = new Map();
    return [...woken].flatMap(([id, items]): DueOperation[] => {
      const operation = fleet.get(OPERATION, id);
      if (operation === undefined || !isUnfinished(operation.doc)) return [];
      return [{ operation, items: items === 'all' ? 'all' : findOpenItems(fleet, items) }];
    });
  }

  clear(): void {
    this.#woken.clear();
  }

  wakeFor(fleet: FleetReader, applied: readonly AppliedChange[]): void {
    for (const change of applied) {
      const { kind, before, after } = change;
      const changed = after ?? before;
      if (changed === undefined) continue;
      const { id, doc } = changed;
      if (kind === OPERATION.name) this.wakeAll(idOf(OPERATION, id));
      else if (kind === ITEM.name) this.wake(idOf(OPERATION, (doc as Item).operation), id);
      this.#wakeItemsOn(fleet, kind, id);
      if (kind === ITEM.name && (after === undefined || !isOpen(after.doc as Item))) {
        // Other items may have waited for this one to release its target.
        const { target } = doc as Item;
        this.#wakeItemsOn(fleet, target.kind, target.id);
      }
      for (const one of this.#wakers) this.#wakeItems(one(fleet, change));
    }
  }

  /** Most documents are the target of no item, and counting is cheaper than finding. */
  #wakeItemsOn(fleet: FleetReader, kind: string, id: string): void {
    const key = targetKey(kind, id);
    if (fleet.countOf(OPEN_ITEMS_BY_TARGET, key) > 0) this.#wakeItems(fleet.find(OPEN_ITEMS_BY_TARGET, key));
  }

  #wakeItems(items: Iterable<StoredItem>): void {
    for (const item of items) this.wake(idOf(OPERATION, item.doc.operation), item.id);
  }

  wakeAll(operation: OperationId): void {
    this.#woken.set(operation, 'all');
    this.#onWake();
  }

  wake(operation: OperationId, item: string): void {
    const woken = this.#woken.get(operation);
    if (woken === 'all') return;
    if (woken === undefined) this.#woken.set(operation, new Set([item]));
    else woken.add(item);
    this.#onWake();
  }
}

function findOpenItems(fleet: FleetReader, items: ReadonlySet<string>): StoredItem[] {
  return [...items]
    .sort()
    .map((id) => fleet.get(ITEM, idOf(ITEM, id)))
    .filter((item) => item !== undefined)
    .filter((item) => isOpen(item.doc));
}

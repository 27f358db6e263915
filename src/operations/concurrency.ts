// How many actions each driver carries out at once, and which items wait for capacity. Each driver has a limit of its own: a slow
// driver does not delay the others.
import type { OperationId } from './model.ts';

/** More would only queue inside the driver. */
const AT_ONCE_MAX = 64;

export class DriverConcurrency {
  /** Items with an action under way, and by which driver. */
  readonly #drivers = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  /** By driver: items that found no capacity, the longest waiting first. */
  readonly #waiting = new Map<string, Map<string, OperationId>>();
  /** Drivers that had no capacity at the last request. */
  readonly #full = new Set<string>();
  /** Items that would find no capacity now either: planning for them is useless until their turn comes. */
  readonly queued = { has: (item: string): boolean => this.#isQueued(item) };

  get busy(): ReadonlyMap<string, unknown> {
    return this.#drivers;
  }

  /** Whether there is capacity; if not, the item is queued. */
  tryAcquire(
    item: string,
    by: { readonly driver: string; readonly operation: OperationId; readonly max?: number },
  ): boolean {
    const { driver, operation, max = AT_ONCE_MAX } = by;
    const count = this.#counts.get(driver) ?? 0;
    if (count >= max) {
      const waiting = this.#waiting.get(driver) ?? new Map<string, OperationId>();
      this.#waiting.set(driver, waiting.set(item, operation));
      this.#full.add(driver);
      return false;
    }
    this.#drivers.set(item, driver);
    this.#counts.set(driver, count + 1);
    this.#waiting.get(driver)?.delete(item);
    return true;
  }

  /** Answers the next items: as many as there is capacity for, since the first may have nothing to do any more. */
  release(item: string, max = AT_ONCE_MAX): [item: string, operation: OperationId][] {
    const driver = this.#drivers.get(item) ?? '';
    const count = (this.#counts.get(driver) ?? 1) - 1;
    this.#drivers.delete(item);
    this.#counts.set(driver, count);
    this.#full.delete(driver);
    const waiting = this.#waiting.get(driver) ?? new Map<string, OperationId>();
    const next: [string, OperationId][] = [];
    for (const one of waiting) {
      if (next.length >= max - count) break;
      next.push(one);
    }
    for (const [id] of next) waiting.delete(id);
    return next;
  }

  #isQueued(item: string): boolean {
    for (const driver of this.#full) if (this.#waiting.get(driver)?.has(item) === true) return true;
    return false;
  }
}

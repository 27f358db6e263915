// Work that changes one thing, one piece after the other. A piece that takes long can see that others wait for their turn.

export class ExclusiveWork {
  #last: Promise<unknown> = Promise.resolve();
  #waiters = 0;

  /** Whether another piece waits for the one that is under way. */
  get hasWaiters(): boolean {
    return this.#waiters > 0;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    this.#waiters += 1;
    const result = this.#last.then(() => {
      this.#waiters -= 1;
      return work();
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}

// Wakes those that wait for the next commit. They read the commits themselves.

export class HeadWaiters {
  /** Each with the revision that it has. */
  readonly #waiting = new Map<() => void, number>();
  #head = 0;

  /** Resolves when a head above `revision` was announced, at `wakeAll`, or when `signal` is aborted. */
  wait(revision: number, signal: AbortSignal): Promise<void> {
    if (this.#head > revision || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.set(wake, revision);
      signal.addEventListener('abort', wake);
    });
  }

  /** A waiter that has that revision already is not woken: a server is notified of its own commits too. */
  announce(head: number): void {
    if (head > this.#head) this.#head = head;
    for (const [wake, revision] of [...this.#waiting]) if (head > revision) wake();
  }

  /** Forgets the head: after a lost connection the store may be a promoted standby that is behind it. */
  wakeAll(): void {
    this.#head = 0;
    for (const wake of [...this.#waiting.keys()]) wake();
  }
}

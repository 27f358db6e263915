// Those who wait for the next commit. It only wakes them: what there is to read they find out by reading.

export class HeadWaiters {
  readonly #waiting = new Set<() => void>();
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
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  announce(head: number): void {
    if (head > this.#head) this.#head = head;
    this.#wake();
  }

  /** Forgets the head: after a lost connection the store may be a promoted standby that is behind it. */
  wakeAll(): void {
    this.#head = 0;
    this.#wake();
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

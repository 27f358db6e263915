// Notifies listeners that the switch may have been changed by others. Changes seen while we change something ourselves are most likely our
// own: a caller that reads back what it did needs no notification of them.

export class ChangeNotifier {
  readonly #listeners = new Set<() => void>();
  #applying = 0;
  #isPending = false;

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Called at once, in every case: what was read before is no longer valid. */
  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Something changed; it may have been our own change. */
  recordChange(): void {
    if (this.#applying > 0) this.#isPending = true;
    else this.notify();
  }

  /** Changes are made and then read back. If that fails, the state of the switch is unknown. */
  async trackApply(change: () => Promise<void>): Promise<void> {
    this.#applying += 1;
    try {
      await change();
    } catch (error) {
      this.#notifyPending(this.#isPending);
      throw error;
    } finally {
      this.#applying -= 1;
    }
  }

  async trackRead<T>(look: () => Promise<T>): Promise<T> {
    const wasUnread = this.#isPending;
    this.#isPending = false;
    try {
      return await look();
    } catch (error) {
      this.#notifyPending(wasUnread);
      throw error;
    }
  }

  #notifyPending(isUnread: boolean): void {
    this.#isPending = false;
    if (isUnread) this.notify();
  }
}

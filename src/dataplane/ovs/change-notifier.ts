// Tells those who listen that something may have become different behind our back. What changes while we change something ourselves
// is most likely that: it is no news to whoever reads back what he did.

export class ChangeNotifier {
  readonly #listeners = new Set<() => void>();
  #applying = 0;
  #isPending = false;

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Told at once, whatever goes on: what was read before does not count any more. */
  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Something is different; we may have done it. */
  recordChange(): void {
    if (this.#applying > 0) this.#isPending = true;
    else this.notify();
  }

  /** Changes are made, and read back after. Where that fails, nobody knows what is there. */
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

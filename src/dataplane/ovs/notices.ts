// Tells those who listen that something may have become different behind our back. What changes while we change something ourselves
// is most likely that: it is no news to whoever reads back what he did.

export class Notices {
  readonly #listeners = new Set<() => void>();
  #applying = 0;
  #isUnread = false;

  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Told at once, whatever goes on: what was read before does not count any more. */
  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Something is different; we may have done it. */
  noticed(): void {
    if (this.#applying > 0) this.#isUnread = true;
    else this.tell();
  }

  /** Changes are made, and read back after. Where that fails, nobody knows what is there. */
  async apply(change: () => Promise<void>): Promise<void> {
    this.#applying += 1;
    try {
      await change();
    } catch (error) {
      this.#tellUnread(this.#isUnread);
      throw error;
    } finally {
      this.#applying -= 1;
    }
  }

  async read<T>(look: () => Promise<T>): Promise<T> {
    const wasUnread = this.#isUnread;
    this.#isUnread = false;
    try {
      return await look();
    } catch (error) {
      this.#tellUnread(wasUnread);
      throw error;
    }
  }

  #tellUnread(isUnread: boolean): void {
    this.#isUnread = false;
    if (isUnread) this.tell();
  }
}

// Which hosts are unreachable by BFD, and from how many observers: indexed by the unreachable host, the reverse of how agents report it.

export class BfdDownIndex {
  /** By observer. */
  readonly #downByObserver = new Map<string, ReadonlySet<string>>();
  readonly #downCount = new Map<string, number>();
  readonly #listeners = new Set<(host: string) => void>();

  countDown(host: string): number {
    return this.#downCount.get(host) ?? 0;
  }

  onChange(listener: (host: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All peers that are down at one observer now. */
  update(observer: string, hosts: readonly string[]): void {
    const before = this.#downByObserver.get(observer) ?? new Set<string>();
    const now = new Set(hosts);
    if (now.size === 0) this.#downByObserver.delete(observer);
    else this.#downByObserver.set(observer, now);
    const again = [...before].filter((host) => !now.has(host));
    const lost = [...now].filter((host) => !before.has(host));
    for (const host of again) this.#adjust(host, -1);
    for (const host of lost) this.#adjust(host, 1);
    for (const host of [...again, ...lost]) for (const listener of this.#listeners) listener(host);
  }

  clear(): void {
    this.#downByObserver.clear();
    this.#downCount.clear();
  }

  #adjust(host: string, by: number): void {
    const count = this.countDown(host) + by;
    if (count === 0) this.#downCount.delete(host);
    else this.#downCount.set(host, count);
  }
}

// Who is not heard on the data path, and by how many: kept the other way round than it is reported, because it is asked for by the
// host that is not heard.

export class Unheard {
  /** By listener. */
  readonly #said = new Map<string, ReadonlySet<string>>();
  readonly #count = new Map<string, number>();
  readonly #listeners = new Set<(host: string) => void>();

  by(host: string): number {
    return this.#count.get(host) ?? 0;
  }

  onChange(listener: (host: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All that a listener does not hear now. */
  say(listener: string, hosts: readonly string[]): void {
    const before = this.#said.get(listener) ?? new Set<string>();
    const now = new Set(hosts);
    if (now.size === 0) this.#said.delete(listener);
    else this.#said.set(listener, now);
    const again = [...before].filter((host) => !now.has(host));
    const lost = [...now].filter((host) => !before.has(host));
    for (const host of again) this.#add(host, -1);
    for (const host of lost) this.#add(host, 1);
    for (const host of [...again, ...lost]) for (const tell of this.#listeners) tell(host);
  }

  clear(): void {
    this.#said.clear();
    this.#count.clear();
  }

  #add(host: string, by: number): void {
    const count = this.by(host) + by;
    if (count === 0) this.#count.delete(host);
    else this.#count.set(host, count);
  }
}

// When each server really heard each host, and when each last stood still: by the world's clock, not by their own.

export class Hearing {
  readonly #heard = new Map<string, number[]>();
  readonly #pauses = new Map<string, number>();

  heard(server: string, host: string, atMs: number): void {
    const key = `${server} ${host}`;
    const times = this.#heard.get(key);
    if (times === undefined) this.#heard.set(key, [atMs]);
    else times.push(atMs);
  }

  /** When the server last heard the host, as of a time; 0 when it never did. */
  heardBefore(server: string, host: string, atMs: number): number {
    return this.#heard.get(`${server} ${host}`)?.findLast((time) => time <= atMs) ?? 0;
  }

  paused(server: string, untilMs: number): void {
    this.#pauses.set(server, untilMs);
  }

  pauseEndedAt(server: string): number {
    return this.#pauses.get(server) ?? 0;
  }
}

// When each server really heard each host, and when each last stood still: by the world's clock, not by their own.

/** A time in which a server stood still, and how far its clock was off before: it may have been set meanwhile. */
export interface Pause {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly skewBeforeMs: number;
}

export class HeartbeatLog {
  readonly #heard = new Map<string, number[]>();
  readonly #pauses = new Map<string, Pause[]>();

  record(server: string, host: string, atMs: number): void {
    const key = `${server} ${host}`;
    const times = this.#heard.get(key);
    if (times === undefined) this.#heard.set(key, [atMs]);
    else times.push(atMs);
  }

  /** When the server last heard the host before a time; 0 when it never did. What came in the same instant may have come after. */
  lastBefore(server: string, host: string, atMs: number): number {
    return this.#heard.get(`${server} ${host}`)?.findLast((time) => time < atMs) ?? 0;
  }

  recordPause(server: string, pause: Pause): void {
    const pauses = this.#pauses.get(server);
    if (pauses === undefined) this.#pauses.set(server, [pause]);
    else pauses.push(pause);
  }

  lastPause(server: string): Pause | undefined {
    return this.#pauses.get(server)?.at(-1);
  }

  /** For how much of a time the server stood still. */
  pausedMs(server: string, fromMs: number, toMs: number): number {
    const overlaps = (this.#pauses.get(server) ?? []).map(
      (pause) => Math.min(pause.untilMs, toMs) - Math.max(pause.fromMs, fromMs),
    );
    return overlaps.reduce((sum, overlapMs) => sum + Math.max(0, overlapMs), 0);
  }
}

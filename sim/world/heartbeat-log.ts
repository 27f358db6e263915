// When each server really received heartbeats of each host, and when it was paused: by the world's clock, not by the servers' clocks.

/** A pause of a server, and the offset of its clock before: it may have been set meanwhile. */
export interface Pause {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly skewBeforeMs: number;
}

export class HeartbeatLog {
  readonly #receivedMs = new Map<string, number[]>();
  readonly #pauses = new Map<string, Pause[]>();

  record(server: string, host: string, atMs: number): void {
    const key = `${server} ${host}`;
    const times = this.#receivedMs.get(key);
    if (times === undefined) this.#receivedMs.set(key, [atMs]);
    else times.push(atMs);
  }

  /**
   * When the server last received a heartbeat of the host before a time; 0 when it never did. One of the same instant may have come after.
   */
  lastBefore(server: string, host: string, atMs: number): number {
    return this.#receivedMs.get(`${server} ${host}`)?.findLast((time) => time < atMs) ?? 0;
  }

  recordPause(server: string, pause: Pause): void {
    const pauses = this.#pauses.get(server);
    if (pauses === undefined) this.#pauses.set(server, [pause]);
    else pauses.push(pause);
  }

  lastPause(server: string): Pause | undefined {
    return this.#pauses.get(server)?.at(-1);
  }

  /** For how much of a period the server was paused. */
  pausedMs(server: string, fromMs: number, toMs: number): number {
    const overlaps = (this.#pauses.get(server) ?? []).map(
      (pause) => Math.min(pause.untilMs, toMs) - Math.max(pause.fromMs, fromMs),
    );
    return overlaps.reduce((sum, overlapMs) => sum + Math.max(0, overlapMs), 0);
  }
}

// How far this server's clock is ahead of the clock of the server that decides, from the commits that it follows. A commit that is missing in one read
// and there in the next was made between the two: its time shows the other clock without a guess how long it was under way. Pure. It must never claim
// more than that: a commit that was read late is no evidence.

/** Both of this server's times at one moment. */
export interface OwnTime {
  readonly nowMs: number;
  /** The same without what the clock was set ahead while this process ran. */
  readonly unsetMs: number;
}

export class FollowedClock {
  /** When everything was read that there was. */
  #caughtUpMs: number | undefined;
  /** The other clock less this one's `unsetMs`, at most. */
  #offsetMs: number | undefined;

  /** The store had no further commit at this moment or later. */
  noteCaughtUp({ unsetMs }: OwnTime): void {
    this.#caughtUpMs = unsetMs;
  }

  /** The next commit of another server, by the time that it states. The first one after a read of everything is the most exact. */
  noteCommit(atMs: number): void {
    if (this.#caughtUpMs === undefined) return;
    this.#offsetMs = atMs - this.#caughtUpMs;
    this.#caughtUpMs = undefined;
  }

  /** What was followed says nothing of whoever decides next. */
  clear(): void {
    this.#offsetMs = undefined;
  }

  /** At least; negative when it may be behind. Undefined when no commit of another server was seen. */
  aheadMs({ nowMs, unsetMs }: OwnTime): number | undefined {
    return this.#offsetMs === undefined ? undefined : nowMs - (this.#offsetMs + unsetMs);
  }
}

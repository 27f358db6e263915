// Which view was composed for which host, and up to which revision it was the host's view. In memory only: a new holder knows
// nothing and composes anew. A host that something happened to is looked at again before anything is said of it.

/** An agent may still be busy with a view of some changes ago; older ones nobody asks about. */
const DIGESTS_KEPT = 8;
/** A change that no part said to concern the host is found after this at the latest. Of the polls, four in five need no view. */
const TRUSTED_MS = 120_000;

interface Entry {
  /** Latest revision at which the view with this digest was composed, oldest first. */
  readonly revisions: Map<string, number>;
  last: string;
  /** Nothing happened to the host since: composing again would give the same view. */
  fresh: boolean;
  atMs: number;
}

interface Noted {
  readonly digest: string;
  readonly revision: number;
  readonly atMs: number;
}

export class Composed {
  readonly #byHost = new Map<string, Entry>();

  /** Nobody was shown anything yet. */
  get isEmpty(): boolean {
    return this.#byHost.size === 0;
  }

  note(host: string, { digest, revision, atMs }: Noted): void {
    let entry = this.#byHost.get(host);
    if (entry === undefined)
      this.#byHost.set(host, (entry = { revisions: new Map(), last: digest, fresh: true, atMs }));
    entry.atMs = atMs;
    entry.revisions.delete(digest);
    entry.revisions.set(digest, revision);
    entry.last = digest;
    entry.fresh = true;
    for (const oldest of entry.revisions.keys()) {
      if (entry.revisions.size <= DIGESTS_KEPT) break;
      entry.revisions.delete(oldest);
    }
  }

  /** Whether the host's view is still this one, as far as anybody has heard: then it need not be composed to know that. */
  isStill(host: string, digest: string, nowMs: number): boolean {
    const entry = this.#byHost.get(host);
    return entry !== undefined && entry.fresh && entry.last === digest && nowMs - entry.atMs < TRUSTED_MS;
  }

  touch(host: string): void {
    const entry = this.#byHost.get(host);
    if (entry !== undefined) entry.fresh = false;
  }

  forget(host: string): void {
    this.#byHost.delete(host);
  }

  clear(): void {
    this.#byHost.clear();
  }

  /** Whether this view was composed at or after a revision, or would be now; undefined when that has to be tried. */
  holdsAt(host: string, digest: string, revision: number): boolean | undefined {
    const entry = this.#byHost.get(host);
    if (entry === undefined) return undefined;
    if ((entry.revisions.get(digest) ?? -1) >= revision) return true;
    return entry.fresh ? entry.last === digest : undefined;
  }
}

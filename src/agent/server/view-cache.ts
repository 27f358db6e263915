// Which view was composed for which host, and up to which revision it was the host's view. In memory only: a new holder knows
// nothing and composes anew. A host that something happened to is looked at again before anything is said of it.

/** An agent may still be busy with a view of some changes ago; older ones nobody asks about. */
const DIGESTS_KEPT = 8;
/** A change that no part said to concern the host is found after this at the latest. Of the polls, four in five need no view. */
const FRESH_MAX_MS = 120_000;

interface Entry {
  /** Latest revision at which the view with this digest was composed, oldest first. */
  readonly revisions: Map<string, number>;
  lastDigest: string;
  /** Nothing happened to the host since: composing again would give the same view. */
  isFresh: boolean;
  atMs: number;
}

interface ComposedView {
  readonly digest: string;
  readonly revision: number;
  readonly atMs: number;
}

export class ViewCache {
  readonly #byHost = new Map<string, Entry>();

  /** Nobody was shown anything yet. */
  get isEmpty(): boolean {
    return this.#byHost.size === 0;
  }

  record(host: string, { digest, revision, atMs }: ComposedView): void {
    let entry = this.#byHost.get(host);
    if (entry === undefined)
      this.#byHost.set(host, (entry = { revisions: new Map(), lastDigest: digest, isFresh: true, atMs }));
    entry.atMs = atMs;
    entry.revisions.delete(digest);
    entry.revisions.set(digest, revision);
    entry.lastDigest = digest;
    entry.isFresh = true;
    for (const oldest of entry.revisions.keys()) {
      if (entry.revisions.size <= DIGESTS_KEPT) break;
      entry.revisions.delete(oldest);
    }
  }

  /** Whether the host's view is still this one, as far as anybody has heard: then it need not be composed to know that. */
  isCurrent(host: string, digest: string, nowMs: number): boolean {
    const entry = this.#byHost.get(host);
    return entry !== undefined && entry.isFresh && entry.lastDigest === digest && nowMs - entry.atMs < FRESH_MAX_MS;
  }

  invalidate(host: string): void {
    const entry = this.#byHost.get(host);
    if (entry !== undefined) entry.isFresh = false;
  }

  forget(host: string): void {
    this.#byHost.delete(host);
  }

  clear(): void {
    this.#byHost.clear();
  }

  /** Whether this view was composed at or after a revision, or would be now; undefined when that has to be tried. */
  isValidAt(host: string, digest: string, revision: number): boolean | undefined {
    const entry = this.#byHost.get(host);
    if (entry === undefined) return undefined;
    if ((entry.revisions.get(digest) ?? -1) >= revision) return true;
    return entry.isFresh ? entry.lastDigest === digest : undefined;
  }
}

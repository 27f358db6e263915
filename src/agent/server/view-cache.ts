// The digests of the views composed for each host, and up to which revision each was the host's view. In memory only: a new holder composes
// again. A host affected by a change is recomposed before any answer about it.

/** An agent may still be applying a view of some changes ago; older ones are not reported. */
const DIGESTS_KEPT = 8;
/** A change that no view part reported to affect the host is found after this at the latest. Four polls in five need no view. */
const FRESH_MAX_MS = 120_000;

interface CachedView {
  /** Latest revision at which the view with this digest was composed, oldest first. */
  readonly revisions: Map<string, number>;
  lastDigest: string;
  /** No change affected the host since: composing again would give the same view. */
  isFresh: boolean;
  atMs: number;
}

interface ComposedView {
  readonly digest: string;
  readonly revision: number;
  readonly atMs: number;
}

export class ViewCache {
  readonly #byHost = new Map<string, CachedView>();

  /** No view was composed yet. */
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

  /** Whether the host's view is still this one, by all reported changes: then it need not be composed. */
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

  /** Whether this view was composed at or after a revision, or would be now; undefined when that requires composing. */
  isValidAt(host: string, digest: string, revision: number): boolean | undefined {
    const entry = this.#byHost.get(host);
    if (entry === undefined) return undefined;
    if ((entry.revisions.get(digest) ?? -1) >= revision) return true;
    return entry.isFresh ? entry.lastDigest === digest : undefined;
  }
}

// Following the journal from any revision: from memory when the watcher keeps up, from the store when it does not.
import type { Fleet } from '../fleet/index.ts';
import { StoreDamaged } from './damage.ts';
import type { Commit } from './request.ts';
import type { Store } from './store.ts';
import type { Tail } from './tail.ts';
import { toCommit } from './text.ts';

export type WatchEvent =
  | { readonly kind: 'commits'; readonly commits: readonly Commit[] }
  /** The revision asked for is compacted; `oldest` can still be had. */
  | { readonly kind: 'gone'; readonly oldest: number }
  /** The journal is not the one that was watched: the store fell back to an older state. Start anew. */
  | { readonly kind: 'diverged' };

/** Commits read at once: enough to make a round trip worth it, few enough to keep other readers waiting only briefly. */
export const READ_PAGE = 500;

interface Watched {
  readonly fleet: Fleet;
  readonly store: Store;
  readonly tail: Tail;
}

export async function* watchFrom(
  watched: Watched,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent, void> {
  const { fleet, tail } = watched;
  const { era } = tail;
  for (let at = after; !signal.aborted;) {
    if (at > fleet.revision || tail.era !== era) {
      yield { kind: 'diverged' };
      return;
    }
    if (at === fleet.revision) {
      await tail.next(signal);
      continue;
    }
    const event = await commitsAfter(watched, at);
    if (tail.era !== era) continue;
    yield event;
    if (event.kind !== 'commits') return;
    at = event.commits.at(-1)?.revision ?? at;
  }
}

async function commitsAfter({ fleet, store, tail }: Watched, revision: number): Promise<WatchEvent> {
  const kept = tail.after(revision, READ_PAGE);
  if (kept !== undefined && kept.length > 0) return { kind: 'commits', commits: kept };
  const answer = await store.read({ revision }, READ_PAGE);
  if (answer.kind === 'diverged') return { kind: 'diverged' };
  if (answer.kind === 'gone') return answer;
  if (answer.kind === 'damaged') throw new StoreDamaged([answer.damage]);
  // The store may be ahead of the fleet: a watcher is never told more than a reader would see.
  const commits = answer.commits.filter((read) => read.revision <= fleet.revision).map(toCommit);
  return { kind: 'commits', commits };
}

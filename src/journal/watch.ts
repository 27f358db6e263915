// Following the journal from any revision: from memory when the watcher keeps up, from the store when it does not.
import type { Fleet } from '../fleet/index.ts';
import { StoreDamaged } from './damage.ts';
import type { Commit } from './request.ts';
import type { Position, Store } from './store.ts';
import type { Tail } from './tail.ts';
import { toCommit } from './document-text.ts';

export type WatchEvent =
  | { readonly kind: 'commits'; readonly commits: readonly Commit[] }
  /** The requested revision is compacted; `oldest` is the first that is still available. */
  | { readonly kind: 'gone'; readonly oldest: number }
  /** The journal is not the one that was watched: the store fell back to an older state. Start anew. */
  | { readonly kind: 'diverged' };

/** Commits read at once: enough to make a round trip worth it, few enough to keep other readers waiting only briefly. */
export const READ_PAGE = 500;

/** How reads of the store for a watcher that is far behind are shared out with other work. */
export interface WatchScheduling {
  read<T>(work: () => Promise<T>): Promise<T>;
  /** Parses what was read, when it is this watcher's turn. */
  slice<T>(work: () => T): Promise<T>;
}

const AT_ONCE: WatchScheduling = { read: (work) => work(), slice: async (work) => work() };

interface WatchSource {
  readonly fleet: Fleet;
  readonly store: Store;
  readonly tail: Tail;
  readonly scheduling?: WatchScheduling | undefined;
}

export async function* watchFrom(
  watched: WatchSource,
  after: Position,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent, void> {
  const { fleet, tail } = watched;
  const { generation } = tail;
  const last = await refusePosition(watched, after);
  if (last !== undefined) {
    yield last;
    return;
  }
  for (let at = after.revision; !signal.aborted;) {
    if (at > fleet.revision || tail.generation !== generation) {
      yield { kind: 'diverged' };
      return;
    }
    if (at === fleet.revision) {
      await tail.waitForNext(signal);
      continue;
    }
    const event = await commitsAfter(watched, at);
    if (tail.generation !== generation) continue;
    yield event;
    if (event.kind !== 'commits') return;
    at = event.commits.at(-1)?.revision ?? at;
  }
}

/** What was seen last has to be in this journal still: after a restore another commit may have its revision. */
async function refusePosition(
  { store, scheduling = AT_ONCE }: WatchSource,
  after: Position,
): Promise<WatchEvent | undefined> {
  if (after.commitId === undefined) return undefined;
  const answer = await scheduling.read(() => store.read(after, 1));
  if (answer.kind === 'damaged') throw new StoreDamaged([answer.damage]);
  if (answer.kind === 'commits') return undefined;
  return answer.kind === 'gone' ? answer : { kind: 'diverged' };
}

async function commitsAfter(
  { fleet, store, tail, scheduling = AT_ONCE }: WatchSource,
  revision: number,
): Promise<WatchEvent> {
  const kept = tail.commitsAfter(revision, READ_PAGE);
  if (kept !== undefined && kept.length > 0) return { kind: 'commits', commits: kept };
  const answer = await scheduling.read(() => store.read({ revision }, READ_PAGE));
  if (answer.kind === 'diverged') return { kind: 'diverged' };
  if (answer.kind === 'gone') return answer;
  if (answer.kind === 'damaged') throw new StoreDamaged([answer.damage]);
  // The store may be ahead of the fleet: a watcher is never sent more than a reader would see.
  const durable = answer.commits.filter((read) => read.revision <= fleet.revision);
  const commits = await scheduling.slice(() => durable.map((read) => toCommit(fleet.registry, read)));
  return { kind: 'commits', commits };
}

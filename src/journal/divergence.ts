// Where two histories part: the commits that this server has seen, and those that the store has now.
import type { Commit } from './request.ts';
import type { Store } from './store.ts';

/** Commits that were durable once and are not in the store any more. */
export interface Divergence {
  /** The first revision that was lost; undefined when it lies further back than this server remembers. */
  readonly lostFrom: number | undefined;
  /** The newest revision that this server had seen. */
  readonly lostTo: number;
  /** Where the store is now. */
  readonly head: number;
}

/** `known` are the newest commits that this server has seen, oldest first. */
export async function findDivergence(
  store: Store,
  known: readonly Pick<Commit, 'revision' | 'id'>[],
  { lostTo, head }: { readonly lostTo: number; readonly head: number },
): Promise<Divergence> {
  const first = known[0];
  if (first === undefined || head < first.revision - 1) return { lostFrom: undefined, lostTo, head };
  const answer = await store.read({ revision: first.revision - 1 }, known.length);
  if (answer.kind !== 'commits') return { lostFrom: undefined, lostTo, head };
  const parted = known.findIndex(({ id }, nth) => answer.commits[nth]?.id !== id);
  // Even the oldest one that is remembered is another: those before it may be, too.
  if (parted === 0 && first.revision > 1) return { lostFrom: undefined, lostTo, head };
  return { lostFrom: parted === -1 ? undefined : known[parted]?.revision, lostTo, head };
}

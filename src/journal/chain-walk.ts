// Walks commits in order and finds the first that is missing or does not match the hash chain. The one implementation for
// reading, loading and verifying.
import { hashOf, type ChainPosition, type Sha256 } from './chain.ts';
import type { Damage } from './damage.ts';
import type { StoredCommit } from './store.ts';

export interface ChainStart {
  /** The commit before the first one that is walked. */
  readonly after: ChainPosition;
  /** The revision of the first commit with a hash; null while there is none. Older ones have none. */
  readonly chainedFrom: number | null;
}

export class ChainWalk {
  readonly #sha256: Sha256;
  readonly #chainedFrom: number;
  #at: ChainPosition;

  constructor(sha256: Sha256, { after, chainedFrom }: ChainStart) {
    this.#sha256 = sha256;
    this.#chainedFrom = chainedFrom ?? Infinity;
    this.#at = after;
  }

  /** Takes the next commit; answers what is wrong with it. After damage the walk continues from the hash that the commit states. */
  take(commit: StoredCommit): Damage | undefined {
    const { revision, hash = null } = commit;
    const before = this.#at;
    this.#at = { revision, hash };
    if (revision !== before.revision + 1) {
      return { kind: 'missing-commits', from: before.revision + 1, to: revision - 1 };
    }
    // Nothing to compare with: a server of an older version wrote it, or one behind which the chain had to begin anew.
    if (revision < this.#chainedFrom) return undefined;
    const start = revision === this.#chainedFrom ? null : before.hash;
    return hash === hashOf(this.#sha256, start, commit) ? undefined : { kind: 'commit', revision };
  }

  /** A commit that cannot be read: the walk continues after it. */
  skip(commit: ChainPosition): Damage {
    this.#at = commit;
    return { kind: 'commit', revision: commit.revision };
  }

  /** The walk is over: everything up to the head must have come by. */
  end(head: number): Damage | undefined {
    const { revision } = this.#at;
    return revision < head ? { kind: 'missing-commits', from: revision + 1, to: head } : undefined;
  }
}

// The requests that wait for their answer, in order, and those among them that may have been written although the store
// did not say so. One in doubt must never be answered as not written.
import { mark } from '../fleet/index.ts';
import type { DecidedRequest, PendingRequest } from './decided-group.ts';
import { StoreUnavailable } from './store.ts';

interface Doubt extends Pick<DecidedRequest, 'pending' | 'settle'> {
  /** The head that its group expected: it can still be written for as long as the journal ends there. */
  readonly head: number;
}

export class WaitingRequests {
  /** By the id of the commit whose answer was lost: if it turns up in the journal, its request is answered by it. */
  readonly #inDoubt = new Map<string, Doubt>();
  #queue: PendingRequest[] = [];
  #arrived: (() => void) | undefined;

  get size(): number {
    return this.#queue.length;
  }

  get isEmpty(): boolean {
    return this.#queue.length === 0;
  }

  get hasInDoubt(): boolean {
    return this.#inDoubt.size > 0;
  }

  add(pending: PendingRequest): void {
    this.#queue.push(pending);
    this.#arrived?.();
    this.#arrived = undefined;
  }

  /** Resolves at the next request. One waits at a time. */
  waitForArrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }

  take(most: number): readonly PendingRequest[] {
    return this.#queue.splice(0, most);
  }

  /** To be decided again, before all others. */
  putBack(taken: readonly PendingRequest[]): void {
    this.#queue.unshift(...taken);
  }

  /** The answer to these was lost. */
  markInDoubt(decided: readonly DecidedRequest[], head: number): void {
    for (const { pending, settle, commit } of decided) {
      if (commit !== undefined) this.#inDoubt.set(commit.id, { pending, settle, head });
    }
  }

  /**
   * Answers of a group that had nothing to write, at the head where the journal still ends. A refusal then says nothing of an earlier write of the same
   * request that is still on its way: nothing has come in between that would keep it out.
   */
  settleUnwritten(decided: Pick<DecidedRequest, 'pending' | 'settle'>, head: number): void {
    const isInDoubt = [...this.#inDoubt.values()].some(
      (doubt) => doubt.pending === decided.pending && doubt.head === head,
    );
    if (!isInDoubt) return this.settle(decided);
    mark('journal-in-doubt-unwritten');
    this.#forgetDoubt(decided.pending);
    decided.pending.reject(unknownOutcome(new Error('the repetition of the request had nothing to write')));
  }

  settle({ pending, settle }: Pick<DecidedRequest, 'pending' | 'settle'>): void {
    this.#forgetDoubt(pending);
    settle();
  }

  /** A commit was read: if it was in doubt, its request has its answer. */
  resolve(commitId: string): void {
    const doubt = this.#inDoubt.get(commitId);
    if (doubt === undefined) return;
    mark('journal-in-doubt-resolved');
    this.#queue = this.#queue.filter((pending) => pending !== doubt.pending);
    this.settle(doubt);
  }

  /** The outcome of these cannot be determined any more: their commits can no longer be found by id. */
  rejectInDoubt(error: unknown): void {
    const doubtful = new Set([...this.#inDoubt.values()].map(({ pending }) => pending));
    this.#inDoubt.clear();
    this.#queue = this.#queue.filter((pending) => !doubtful.has(pending));
    for (const pending of doubtful) {
      mark('journal-in-doubt-rejected');
      pending.reject(unknownOutcome(error));
    }
  }

  /** Rejects all that waits. */
  rejectAll(error: unknown): void {
    this.rejectInDoubt(error);
    for (const pending of this.#queue.splice(0)) {
      mark('journal-queue-rejected');
      pending.reject(error);
    }
  }

  #forgetDoubt(pending: PendingRequest): void {
    if (this.#inDoubt.size === 0) return;
    for (const [id, doubt] of this.#inDoubt) if (doubt.pending === pending) this.#inDoubt.delete(id);
  }
}

function unknownOutcome(cause: unknown): StoreUnavailable {
  const message = 'the store did not say whether the request was written';
  return new StoreUnavailable(message, { outcome: 'unknown', cause });
}

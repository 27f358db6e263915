// Who is notified of what a journal has made durable: of each commit, of a fleet that was loaded anew, of the newest position; and that it decides no more. A listener that
// fails must not keep others from being notified, nor callers from being answered.
import type { AppliedChange } from '../fleet/index.ts';
import type { Commit } from './request.ts';
import type { Position } from './store.ts';

/** A commit, and what it changed of each document. */
interface CommitWithChanges {
  readonly commit: Commit;
  readonly applied: readonly AppliedChange[];
}

/** Called after each durable commit, in order, with what it changed. Must not throw and must not wait. */
export type CommitListener = (applied: CommitWithChanges) => void;

export interface CommitListenersOptions {
  readonly onPosition?: ((position: Position) => void) | undefined;
  readonly onListenerError?: ((error: unknown) => void) | undefined;
}

export class CommitListeners {
  readonly #options: CommitListenersOptions;
  readonly #ofCommits = new Set<CommitListener>();
  readonly #ofRebuilds = new Set<() => void>();
  readonly #ofStepDowns = new Set<() => void>();

  constructor(options: CommitListenersOptions) {
    this.#options = options;
  }

  onCommit(listener: CommitListener): () => void {
    this.#ofCommits.add(listener);
    return () => this.#ofCommits.delete(listener);
  }

  onRebuilt(listener: () => void): () => void {
    this.#ofRebuilds.add(listener);
    return () => this.#ofRebuilds.delete(listener);
  }

  onStepDown(listener: () => void): () => void {
    this.#ofStepDowns.add(listener);
    return () => this.#ofStepDowns.delete(listener);
  }

  announceStepDown(): void {
    for (const listener of this.#ofStepDowns) this.notify(listener);
  }

  announce(commit: Commit, applied: readonly AppliedChange[]): void {
    for (const listener of this.#ofCommits) this.notify(() => listener({ commit, applied }));
  }

  /** What is derived from the fleet is wrong until it is rebuilt: what fails here fails the journal. */
  announceRebuilt(): void {
    for (const listener of this.#ofRebuilds) listener();
  }

  /** The callback may fail, as on a full disk. The commit is durable all the same. */
  announcePosition(position: Position): void {
    this.notify(() => this.#options.onPosition?.(position));
  }

  notify(call: () => void): void {
    try {
      call();
    } catch (error) {
      // A bug of the listener.
      this.#options.onListenerError?.(error);
    }
  }
}

// Runs a controller's passes at the holder of the deciding lease: one after the other, with a pause between them that `wake()` ends. A
// pass that loses the lease or the store ends quietly and is made again; any other error is a bug and ends the loop.
import type { Journal } from './journal.ts';
import type { Clock, Log } from './ports.ts';
import { isJournalAway } from './request.ts';
import type { Fence } from './store.ts';

export interface LeasePass {
  readonly nowMs: number;
  /** The lease under which it was begun; undefined at a follower. */
  readonly fence: Fence | undefined;
  /** No pass under this lease has come to its end yet. */
  readonly isNewTerm: boolean;
  /** Aborted when the loop is to end: a long pass stops between its slices. */
  readonly signal: AbortSignal;
}

export interface LeaseHolderLoopOptions {
  readonly journal: Pick<Journal, 'fence'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Of the controller, for the log. */
  readonly name: string;
  /** What it leaves undone is found by the next pass, here or at the next holder. */
  readonly reconcile: (pass: LeasePass) => Promise<void>;
  /** Until the next pass; read after each one. */
  readonly intervalMs: number | (() => number);
  /** Until the first pass. */
  readonly startDelayMs?: number;
  /** Followers make passes, too. */
  readonly runsAsFollower?: true;
  /** Subscribes to what wakes the loop, such as commits; returns how to end that. */
  readonly subscribe?: () => () => void;
  /** A pass that was cut short is not logged: it happens often, and no caller waits for it. */
  readonly isSilent?: true;
}

export class LeaseHolderLoop {
  readonly #options: LeaseHolderLoopOptions;
  /** The lease under which a pass last came to its end. */
  #completedEpoch: number | undefined;
  #pause = new AbortController();

  constructor(options: LeaseHolderLoopOptions) {
    this.#options = options;
  }

  /** Until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { intervalMs, startDelayMs, subscribe } = this.#options;
    const stop = (): void => this.wake();
    signal.addEventListener('abort', stop, { once: true });
    const unsubscribe = subscribe?.();
    try {
      if (startDelayMs !== undefined && !signal.aborted) await this.#sleep(startDelayMs);
      while (!signal.aborted) {
        await this.reconcile(signal);
        if (!signal.aborted) await this.#sleep(typeof intervalMs === 'number' ? intervalMs : intervalMs());
      }
    } finally {
      signal.removeEventListener('abort', stop);
      unsubscribe?.();
    }
  }

  /** One pass now. False when there was none, or when it was cut short because the lease or the store was lost. */
  async reconcile(signal: AbortSignal = new AbortController().signal): Promise<boolean> {
    const { journal, clock, log, name, reconcile, runsAsFollower, isSilent } = this.#options;
    const { fence } = journal;
    if (fence === undefined && runsAsFollower !== true) return false;
    const isNewTerm = fence !== undefined && fence.epoch !== this.#completedEpoch;
    try {
      await reconcile({ nowMs: clock.nowMs(), fence, isNewTerm, signal });
    } catch (error) {
      if (!isJournalAway(error)) throw error;
      if (isSilent !== true)
        log.warn({ controller: name, code: error.code }, 'pass cut short; the next one tries again');
      return false;
    }
    this.#completedEpoch = fence?.epoch;
    return true;
  }

  /** Ends the pause: the next pass begins at once, or as soon as the one that is under way has ended. */
  wake(): void {
    // Without a reason an abort would make an error with a stack, and some wake at each commit.
    if (!this.#pause.signal.aborted) this.#pause.abort('woken');
  }

  async #sleep(ms: number): Promise<void> {
    await this.#options.clock.sleep(ms, this.#pause.signal);
    if (this.#pause.signal.aborted) this.#pause = new AbortController();
  }
}

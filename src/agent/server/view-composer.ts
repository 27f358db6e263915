// Composes the views of hosts: a small one at once, one as large as the fleet in turns with other work, one such view at a time. A view is that of one
// moment: when a change affects the host meanwhile, it is composed anew. What was composed is remembered by its digest.
import { runInSlices } from '../../access/index.ts';
import type { Steps } from '../../fleet/index.ts';
import type { Clock, Journal } from '../../journal/index.ts';
import type { View, ViewWords } from '../protocol/messages.ts';
import { composeViewInSteps, type ViewSource } from './compose-view.ts';
import { ViewCache } from './view-cache.ts';

export interface ViewComposerOptions {
  readonly journal: Pick<Journal, 'fleet' | 'fence' | 'journalId'>;
  readonly clock: Pick<Clock, 'nowMs' | 'turn'>;
  readonly source: ViewSource;
}

/** Views with so few steps are composed at once: a few milliseconds at most. */
const STEPS_AT_ONCE = 48;
/** A host that is affected again and again gets its view all the same, then composed in one go. */
const RESTARTS_MAX = 3;

interface PendingView {
  isOutdated: boolean;
  readonly view: Promise<View | undefined>;
}

export class ViewComposer {
  readonly #options: ViewComposerOptions;
  readonly #cache = new ViewCache();
  /** Those that take several turns, by host. */
  readonly #open = new Map<string, PendingView>();
  /** Of hosts whose agents know only the former ones. */
  readonly #formerWords = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ViewComposerOptions) {
    this.#options = options;
  }

  /** No view was composed yet, and none is being composed. */
  get isEmpty(): boolean {
    return this.#cache.isEmpty && this.#open.size === 0;
  }

  /** Whether a host's view is still this one: then it need not be composed. */
  isCurrent(host: string, digest: string): boolean {
    return this.#cache.isCurrent(host, digest, this.#options.clock.nowMs());
  }

  /** Whether this was a host's view at a revision or later; undefined when that requires composing. */
  isValidAt(host: string, digest: string, revision: number): boolean | undefined {
    return this.#cache.isValidAt(host, digest, revision);
  }

  /** The words that a host's agent knows. What it has applied in others holds all the same; what it is sent next is in these. */
  setWords(host: string, words: ViewWords): void {
    const isFormer = words === 'former';
    if (isFormer === this.#formerWords.has(host)) return;
    if (isFormer) this.#formerWords.add(host);
    else this.#formerWords.delete(host);
    this.invalidate(host);
  }

  /** The host's view of now, or of when it is composed. Undefined without the lease. */
  compose(host: string): View | undefined | Promise<View | undefined> {
    const open = this.#open.get(host);
    if (open !== undefined) return open.view;
    const state = { isOutdated: false };
    const steps = this.#composeConsistently(host, state);
    for (let taken = 0; taken < STEPS_AT_ONCE; taken += 1) {
      const { done, value } = steps.next();
      if (done === true) return value;
    }
    const view = this.#composeInTurn(steps).finally(() => this.#open.delete(host));
    this.#open.set(host, Object.assign(state, { view }));
    return view;
  }

  /** A change affected the host: what is being composed for it is begun anew. */
  invalidate(host: string): void {
    this.#cache.invalidate(host);
    const open = this.#open.get(host);
    if (open !== undefined) open.isOutdated = true;
  }

  forget(host: string): void {
    this.#cache.forget(host);
    this.#formerWords.delete(host);
  }

  /** Which hosts changes affect was not tracked, or the fleet is another one. */
  clear(): void {
    this.#cache.clear();
    for (const open of this.#open.values()) open.isOutdated = true;
  }

  /** One large view at a time: each of them takes a slice in a turn, and a thousand slices would hold up everything else. */
  async #composeInTurn(steps: Steps<View | undefined>): Promise<View | undefined> {
    const before = this.#last;
    const { promise: over, resolve: end } = Promise.withResolvers<undefined>();
    this.#last = over;
    await before;
    try {
      return await runInSlices(steps, this.#options.clock);
    } finally {
      end(undefined);
    }
  }

  *#composeConsistently(host: string, state: { isOutdated: boolean }): Steps<View | undefined> {
    const { journal, source } = this.#options;
    for (let restarts = 0; ; restarts += 1) {
      const leaseEpoch = journal.fence?.epoch;
      if (leaseEpoch === undefined) return undefined;
      state.isOutdated = false;
      const words = this.#formerWords.has(host) ? 'former' : 'glossary';
      const authority = { journalId: journal.journalId, leaseEpoch, words } as const;
      const steps = composeViewInSteps(journal.fleet, source, host, authority);
      for (;;) {
        const { done, value } = steps.next();
        if (done === true) {
          // Here, not when the promise resolves: a change may come first then.
          this.#record(value);
          return value;
        }
        if (restarts === RESTARTS_MAX) continue;
        yield;
        if (state.isOutdated || journal.fence?.epoch !== leaseEpoch) break;
      }
    }
  }

  #record({ host, digest, stamp: { revision } }: View): void {
    this.#cache.record(host, { digest, revision, atMs: this.#options.clock.nowMs() });
  }
}

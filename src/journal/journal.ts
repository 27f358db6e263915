// The journal over any store: group commit, conflicts, reading on. Answers, watch events and everything that listens wait
// until a group is durable. It must never show or answer what the store may still lose.
import { Fleet, mark, type AppliedChange, type Registry } from '../fleet/index.ts';
import { backoffMs } from './backoff.ts';
import { StoreDamaged } from './damage.ts';
import { CommitListeners, type CommitListener } from './commit-listeners.ts';
import { findDivergence, type Divergence } from './divergence.ts';
import { ExclusiveWork } from './exclusive-work.ts';
import { followOthers } from './follow.ts';
import { FollowedClock, type OwnTime } from './followed-clock.ts';
import type { DecidedGroup } from './decided-group.ts';
import { Pipeline, type PipelineOptions } from './pipeline.ts';
import type { Clock, Ids } from './ports.ts';
import { NotHolder, type Commit, type Outcome, type Request } from './request.ts';
import {
  StoreUnavailable,
  type WriteConflict,
  type Fence,
  type Position,
  type StoredCommit,
  type Store,
} from './store.ts';
import { Tail } from './tail.ts';
import { loadSnapshot } from './load-snapshot.ts';
import { toCommit } from './document-text.ts';
import { WaitingRequests } from './waiting-requests.ts';
import { READ_PAGE, watchFrom, type WatchEvent, type WatchScheduling } from './watch.ts';

export interface JournalOptions {
  readonly store: Store;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly ids: Ids;
  /** How often a follower polls without a notification. */
  readonly pollMs?: number;
  /** How many requests make it worth while to begin a write before the rest is decided. */
  readonly writeThreshold?: number;
  /** Called with the newest position that is known to be durable, before requests are answered. Must not wait. */
  readonly onPosition?: (position: Position) => void;
  /** Called when commits that this server has seen are no longer in the store, before the fleet is loaded again. */
  readonly onDiverged?: (divergence: Divergence) => void;
  /** Called when `seen` or a commit listener threw: a failure that belongs to no request. */
  readonly onListenerError?: (error: unknown) => void;
}

/** To decide so many takes longer than a flush: from here on the store can write them while the rest is decided. */
const WRITE_THRESHOLD = 64;
const POLL_MS = 1000;
/** Together about three seconds: long enough for a connection to come back, short enough for a caller to get an answer. */
const RETRIES_MAX = 5;
const RETRY_BACKOFF = { firstMs: 100, longestMs: 1600 };

export class Journal {
  readonly fleet: Fleet;
  readonly store: Store;
  readonly #clock: Clock;
  readonly #pollMs: number;
  readonly #onDiverged: (divergence: Divergence) => void;
  readonly #tail = new Tail();
  readonly #followedClock = new FollowedClock();
  readonly #listeners: CommitListeners;
  readonly #waiting = new WaitingRequests();
  readonly #pipeline: Pipeline;
  #draining: Promise<void> | undefined;
  /** Tries since the last group that was written. */
  #failures = 0;
  /** Groups and reads change the fleet one at a time. */
  readonly #exclusive = new ExclusiveWork();
  #position: Position = { revision: 0 };
  #fence: Fence | undefined;

  constructor(options: JournalOptions) {
    this.store = options.store;
    this.fleet = new Fleet(options.registry);
    this.#clock = options.clock;
    this.#pollMs = options.pollMs ?? POLL_MS;
    this.#listeners = new CommitListeners(options);
    this.#onDiverged = options.onDiverged ?? (() => undefined);
    this.#pipeline = this.newPipeline({
      fleet: this.fleet,
      store: this.store,
      waiting: this.#waiting,
      clock: this.#clock,
      newCommitId: () => options.ids.next('c'),
      writeThreshold: options.writeThreshold ?? WRITE_THRESHOLD,
      onDurable: (group, applied, hash) => this.#publish(group, applied, hash),
    });
  }

  protected newPipeline(options: PipelineOptions): Pipeline {
    return new Pipeline(options);
  }

  get journalId(): string {
    return this.store.journalId;
  }

  /** The newest commit that this server has seen durable. */
  get position(): Position {
    return this.#position;
  }

  /**
   * How far this server's clock is at least ahead of that of the server which decides, or decided before this one. Undefined when this server
   * has seen no commit of another one since it decided last.
   */
  clockAheadMs(): number | undefined {
    return this.#followedClock.aheadMs(this.#ownTime());
  }

  #ownTime(): OwnTime {
    const nowMs = this.#clock.nowMs();
    return { nowMs, unsetMs: nowMs - (this.#clock.jumpedMs?.() ?? 0) };
  }

  /** The lease under which this server decides; undefined while another one does. */
  get fence(): Fence | undefined {
    return this.#fence;
  }

  /** Loads the fleet from the store. Rejects with `StoreDamaged` when what is there is not what was written. */
  async open(): Promise<void> {
    await this.#exclusive.run(async () => {
      this.#setPosition(await this.#load());
    });
  }

  /** The current fleet stays in use until the whole snapshot is loaded and valid. */
  async #load(): Promise<Position> {
    const begun = this.#ownTime();
    const loading = new Fleet(this.fleet.registry);
    const source = { store: this.store, registry: loading.registry };
    const position = await loadSnapshot(source, (kind, stored) => loading.load(kind, stored));
    loading.finishLoad(position.revision);
    this.fleet.replaceWith(loading);
    this.#followedClock.noteCaughtUp(begun);
    return position;
  }

  /** From now on this server decides, under this lease. The previous holder may have written: read that first. */
  async lead(fence: Fence): Promise<void> {
    await this.catchUp();
    this.#fence = fence;
  }

  /** This server decides no more. What waits is refused; it was not written. */
  stepDown(): void {
    this.#fence = undefined;
    this.#followedClock.clear();
    this.#pipeline.requeueNext();
    this.#waiting.rejectAll(new NotHolder());
    this.#listeners.announceStepDown();
  }

  onCommit(listener: CommitListener): () => void {
    return this.#listeners.onCommit(listener);
  }

  /** Called when the fleet was replaced as a whole: what is derived from it has to be rebuilt. */
  onRebuilt(listener: () => void): () => void {
    return this.#listeners.onRebuilt(listener);
  }

  /** Called when this server has lost the lease, or given it back. */
  onStepDown(listener: () => void): () => void {
    return this.#listeners.onStepDown(listener);
  }

  /** Decides a request and makes it durable. Rejects with `NotHolder` or `StoreUnavailable`. */
  submit<A>(request: Request<A>): Promise<Outcome<A>> {
    if (this.#fence === undefined) return Promise.reject(new NotHolder());
    return new Promise<Outcome<A>>((resolve, reject) => {
      this.#waiting.add({
        request,
        atMs: this.#clock.nowMs(),
        resolve: resolve as (outcome: Outcome<unknown>) => void,
        reject,
      });
      this.#draining ??= this.#drain();
    });
  }

  /** Resolves when everything that was submitted so far is answered. */
  async idle(): Promise<void> {
    await this.#draining;
  }

  async #drain(): Promise<void> {
    try {
      for (this.#failures = 0; !this.#waiting.isEmpty;) {
        await this.#clock.turn();
        if (await this.#exclusive.run(() => this.#commitWaiting())) continue;
        this.#failures += 1;
        await this.#backOff(this.#failures);
      }
    } catch (error) {
      this.#waiting.rejectAll(error);
    } finally {
      this.#draining = undefined;
    }
  }

  async #backOff(failures: number): Promise<void> {
    if (failures <= RETRIES_MAX) await this.#clock.sleep(backoffMs(RETRY_BACKOFF, failures));
    else {
      mark('journal-retries-exhausted');
      this.#waiting.rejectAll(new StoreUnavailable('the store does not answer', { outcome: 'failed' }));
    }
  }

  /** Commits waiting requests until another task needs the fleet. False when the store failed and the rest is to be retried. */
  async #commitWaiting(): Promise<boolean> {
    if (this.#waiting.hasInDoubt && !(await this.#resolveDoubt())) return false;
    const fence = this.#fence;
    if (fence === undefined) {
      this.#waiting.rejectAll(new NotHolder());
      return true;
    }
    const mayDecide = (): boolean => this.#fence === fence && !this.#exclusive.hasWaiters;
    const setback = await this.#pipeline.run({ fence, mayDecide });
    if (setback === undefined) return true;
    return setback.kind === 'conflict' && this.#resolveConflict(setback.conflict);
  }

  /** False when the requests are to be decided again after a while. */
  async #resolveConflict({ kind }: WriteConflict): Promise<boolean> {
    mark(`journal-conflict-${kind}`);
    switch (kind) {
      case 'lease':
        this.stepDown();
        return true;
      case 'head':
        return this.#resolveDoubt();
      case 'resource':
        // At the head that was expected: this fleet is not what the store has, and reading on would not show it.
        await this.#tryStore(() => this.#rebuild());
        return false;
    }
  }

  /** Reads on: shows whether a group in doubt was written. The expected head is the fence against one that comes late. */
  #resolveDoubt(): Promise<boolean> {
    return this.#tryStore(() => this.#readNew());
  }

  async #tryStore(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (error instanceof StoreUnavailable) return false;
      throw error;
    }
  }

  #publish(group: DecidedGroup, applied: readonly (readonly AppliedChange[])[], hash: string | undefined): void {
    this.#failures = 0;
    let kept = 0;
    const last = group.decided.findLast(({ commit }) => commit !== undefined)?.commit;
    if (last !== undefined) this.#setPosition(positionOf({ revision: last.revision, id: last.id, hash }));
    for (const { commit } of group.decided) {
      if (commit === undefined) continue;
      this.#announce(commit, applied[kept] ?? []);
      kept += 1;
    }
    for (const decided of group.decided) {
      if (kept > 0) this.#waiting.settle(decided);
      else this.#waiting.settleUnwritten(decided, group.head);
    }
    if (kept > 0) this.#tail.wake();
  }

  /** This is what the server has seen durable from now on. */
  #setPosition(position: Position): void {
    this.#position = position;
    this.#listeners.announcePosition(position);
  }

  #announce(commit: Commit, applied: readonly AppliedChange[]): void {
    this.#tail.add(commit);
    this.#listeners.announce(commit, applied);
  }

  /** Reads what others have committed. */
  async catchUp(): Promise<void> {
    await this.#exclusive.run(() => this.#readNew());
  }

  async #readNew(): Promise<void> {
    for (;;) {
      const begun = this.#ownTime();
      const answer = await this.store.read(this.#position, READ_PAGE);
      if (answer.kind === 'damaged') throw new StoreDamaged([answer.damage]);
      if (answer.kind !== 'commits') {
        mark(`journal-read-${answer.kind}`);
        if (answer.kind === 'diverged') this.#onDiverged(await this.#divergence(answer.head));
        await this.#rebuild();
        return;
      }
      for (const read of answer.commits) this.#applyRead(read);
      if (answer.commits.length > 0) {
        this.#listeners.announcePosition(this.#position);
        this.#tail.wake();
      }
      // A page may be short because it is full of bytes: only the head shows that nothing is left.
      if (answer.commits.length > 0 && this.#position.revision < answer.head) continue;
      this.#followedClock.noteCaughtUp(begun);
      return;
    }
  }

  #divergence(head: number): Promise<Divergence> {
    return findDivergence(this.store, this.#tail.commits(), { lostTo: this.#position.revision, head });
  }

  #applyRead(read: StoredCommit): void {
    const commit = toCommit(this.fleet.registry, read);
    this.#position = positionOf(read);
    this.#followedClock.noteCommit(read.atMs);
    this.#announce(commit, this.fleet.apply(commit.revision, commit.changes));
    this.#waiting.resolve(commit.id);
  }

  /** The store is not where this fleet is (compacted past it, or fallen back): the fleet is loaded anew. */
  async #rebuild(): Promise<void> {
    this.#setPosition(await this.#load());
    this.#tail.clear();
    // A commit in doubt may be part of what was loaded: deciding its request again could do it twice.
    this.#waiting.rejectInDoubt(new Error('the fleet was loaded anew'));
    this.#listeners.announceRebuilt();
  }

  /** Follows what others commit until `signal` is aborted. */
  follow(signal: AbortSignal): Promise<void> {
    return followOthers(this, { clock: this.#clock, pollMs: this.#pollMs }, signal);
  }

  /** Durable commits after a revision, and then every new one, until `signal` is aborted. */
  watch(after: Position, signal: AbortSignal, scheduling?: WatchScheduling): AsyncGenerator<WatchEvent, void> {
    return watchFrom({ fleet: this.fleet, store: this.store, tail: this.#tail, scheduling }, after, signal);
  }

  /** Waits until the fleet shows `revision`; false when it does not within `timeoutMs`. */
  async waitForRevision(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.fleet.revision >= revision) return true;
    const over = new AbortController();
    const timeout = this.#clock.sleep(timeoutMs, over.signal).then(() => over.abort());
    while (this.fleet.revision < revision && !over.signal.aborted) await this.#tail.waitForNext(over.signal);
    over.abort();
    await timeout;
    return this.fleet.revision >= revision;
  }
}

function positionOf({
  revision,
  id,
  hash,
}: Pick<StoredCommit, 'revision' | 'id'> & { readonly hash?: string | undefined }): Position {
  return { revision, commitId: id, ...(hash !== undefined && { hash }) };
}

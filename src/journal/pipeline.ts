// Groups one behind the other: while the store writes one, the next is decided on top of it. The store gets a group only
// when the one before it is durable, so it never has two; when one fails, the one behind it falls first, and all their
// requests wait again in their order.
import { mark, type AppliedChange, type Fleet } from '../fleet/index.ts';
import { DecidedGroup } from './decided-group.ts';
import type { Clock } from './ports.ts';
import type { Fence, Store } from './store.ts';
import type { WaitingRequests } from './waiting-requests.ts';
import { writeGroup, type GroupAnswer } from './write-group.ts';

export interface PipelineOptions {
  readonly fleet: Fleet;
  readonly store: Store;
  readonly waiting: WaitingRequests;
  readonly clock: Clock;
  readonly newCommitId: () => string;
  /** How many requests make it worth while to begin a write of their own. */
  readonly writeThreshold: number;
  /** A group is durable, and in the fleet. `hash` is that of its last commit. */
  readonly onDurable: (
    group: DecidedGroup,
    applied: readonly (readonly AppliedChange[])[],
    hash: string | undefined,
  ) => void;
}

/** For how long groups are made. */
export interface Term {
  readonly fence: Fence;
  /** Whether further requests may be decided. What is decided already is written all the same. */
  readonly mayDecide: () => boolean;
}

/** What ended a run: a group that was not written. */
export type GroupFailure = Exclude<GroupAnswer, { readonly kind: 'written' }>;

/** More would hold up answers without making the flush cheaper. */
const GROUP_COMMITS_MAX = 1024;

/** After each part of a share the state of the store is checked. Less than a part is not worth a write while more requests are about to arrive. */
const PARTS_PER_THRESHOLD = 4;

/**
 * How long decisions follow each other without a turn of the event loop, beyond the one that is being made. Most take a tenth of a millisecond; one that
 * looks through the fleet takes tens, and hundreds of those in a row would cost the lease.
 */
const DECIDE_TURN_MS = 20;

interface InFlightWrite {
  readonly group: DecidedGroup;
  readonly answer: Promise<GroupAnswer>;
  isDone: boolean;
}

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #part: number;
  /** As callers in this process do; clients take their time. */
  #callersRepeatAtOnce = true;
  /** What the store writes, and what is decided on top of it or of the fleet. */
  #writing: DecidedGroup | undefined;
  #next: DecidedGroup | undefined;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#part = Math.ceil(options.writeThreshold / PARTS_PER_THRESHOLD);
  }

  /** Decides and writes until nothing waits, or a group is not written. Then nothing is under way. */
  async run(term: Term): Promise<GroupFailure | undefined> {
    const { writeThreshold } = this.#options;
    for (let flight = this.#start(term); flight !== undefined;) {
      const { group } = flight;
      await this.#decideNext(flight, term);
      const answer = await flight.answer.catch((error: unknown) => this.#rejectGroup(group, error));
      if (answer.kind !== 'written') {
        this.#requeueFailed(group, answer);
        return answer;
      }
      // Less than a share waits for callers that get their answer now and send the next request at once: two small groups in turns would
      // cost twice the flushes. Those who take their time are not waited for: while they are answered and submit again, what is
      // behind is written.
      const enough = this.#callersRepeatAtOnce ? writeThreshold : this.#part;
      const next = this.#nextSize >= enough ? this.#writeNext(term.fence) : undefined;
      this.promote(group, answer.hash);
      await this.#observeCallers(group);
      flight = next ?? this.#start(term);
    }
    return undefined;
  }

  /** Those who were answered may submit again: whether they do so at once predicts what they do the next time. */
  async #observeCallers(answered: DecidedGroup): Promise<void> {
    const { clock, waiting } = this.#options;
    const before = waiting.size;
    await clock.turn();
    const { length } = answered.decided;
    if (length >= this.#part) this.#callersRepeatAtOnce = 2 * (waiting.size - before) >= length;
  }

  /** What is decided but not handed to the store waits again. */
  requeueNext(): void {
    const behind = this.#next;
    if (behind === undefined) return;
    this.#next = undefined;
    behind.stage.rollback();
    this.#options.waiting.putBack(behind.requests);
  }

  /** What is not durable yet, in order. */
  protected get inFlight(): readonly DecidedGroup[] {
    return [this.#writing, this.#next].filter((group) => group !== undefined);
  }

  get #nextSize(): number {
    return this.#next?.decided.length ?? 0;
  }

  /** The store is free: with two shares or more it gets the first of them at once, and the rest is decided meanwhile. */
  #start({ fence, mayDecide }: Term): InFlightWrite | undefined {
    const { waiting, writeThreshold } = this.#options;
    const there = this.#nextSize;
    if (mayDecide()) this.#decide(waiting.size + there < 2 * writeThreshold ? waiting.size : writeThreshold - there);
    return this.#writeNext(fence);
  }

  /** A part of a share at a time, checking the store between them, until it has written. */
  async #decideNext(flight: InFlightWrite, { mayDecide }: Term): Promise<void> {
    const { waiting, clock } = this.#options;
    while (mayDecide() && this.#nextSize < GROUP_COMMITS_MAX) {
      if (waiting.isEmpty) await Promise.race([flight.answer.catch(() => undefined), waiting.waitForArrival()]);
      if (flight.isDone) return;
      await clock.turn();
      if (flight.isDone || !mayDecide()) return;
      this.#decide(this.#part);
    }
  }

  #decide(most: number): void {
    const { fleet, waiting, clock, newCommitId } = this.#options;
    const taken = waiting.take(Math.min(most, GROUP_COMMITS_MAX - this.#nextSize));
    if (taken.length === 0) return;
    if (this.#writing !== undefined) mark('journal-pipelined');
    this.#next ??= new DecidedGroup(fleet, this.#writing);
    const nowMs = clock.nowMs();
    const decided = this.#next.add(taken, { nowMs, newCommitId }, () => clock.nowMs() - nowMs >= DECIDE_TURN_MS);
    if (decided < taken.length) waiting.putBack(taken.slice(decided));
  }

  #writeNext(fence: Fence): InFlightWrite | undefined {
    const group = this.#next;
    if (group === undefined) return undefined;
    this.#next = undefined;
    this.#writing = group;
    const answer = writeGroup(this.#options.store, group, fence);
    const flight: InFlightWrite = { group, answer, isDone: false };
    const land = (): void => {
      flight.isDone = true;
    };
    void answer.then(land, land);
    return flight;
  }

  /** The one behind it is with the store by now, or still here: either way it lies on the fleet from now on. */
  protected promote(group: DecidedGroup, hash: string | undefined): void {
    const applied = group.stage.promote();
    if (this.#writing === group) this.#writing = undefined;
    this.#options.onDurable(group, applied, hash);
  }

  #requeueFailed(group: DecidedGroup, answer: GroupFailure): void {
    mark('journal-group-dropped');
    if (this.#next !== undefined) mark(`journal-pipelined-dropped-${failureName(answer)}`);
    const { waiting } = this.#options;
    this.#drop(group);
    if (answer.kind === 'unavailable' && answer.outcome === 'unknown') waiting.markInDoubt(group.decided, group.head);
    waiting.putBack(group.requests);
  }

  /** The store failed in a way that no retry mends: the group's callers get its error as it is. */
  #rejectGroup(group: DecidedGroup, error: unknown): never {
    this.#drop(group);
    for (const { pending } of group.decided) pending.reject(error);
    throw error;
  }

  /** The newest goes first: it was decided on the other. */
  #drop(group: DecidedGroup): void {
    this.requeueNext();
    group.stage.rollback();
    this.#writing = undefined;
  }
}

function failureName(setback: GroupFailure): string {
  return setback.kind === 'conflict' ? setback.conflict.kind : setback.outcome;
}

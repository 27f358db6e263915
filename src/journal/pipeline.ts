// Groups one behind the other: while the store writes one, the next is decided on top of it. The store gets a group only
// when the one before it is durable, so it never has two; when one fails, the one behind it falls first, and all their
// requests wait again in their order.
import { mark, type Applied, type Fleet } from '../fleet/index.ts';
import { DecidedGroup } from './group.ts';
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
  readonly share: number;
  /** A group is durable, and in the fleet. `hash` is that of its last commit. */
  readonly kept: (group: DecidedGroup, applied: readonly (readonly Applied[])[], hash: string | undefined) => void;
}

/** For how long groups are made. */
export interface Term {
  readonly fence: Fence;
  /** Whether further requests may be decided. What is decided already is written all the same. */
  readonly mayTake: () => boolean;
}

/** What ended a run: a group that was not written. */
export type Setback = Exclude<GroupAnswer, { readonly kind: 'written' }>;

/** More would hold up answers without making the flush cheaper. */
const GROUP_COMMITS_MAX = 1024;

/** After each part of a share the store is looked at. Less than a part is never worth a write while others are about to ask. */
const PARTS_PER_SHARE = 4;

interface Flight {
  readonly group: DecidedGroup;
  readonly answer: Promise<GroupAnswer>;
  over: boolean;
}

export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #part: number;
  /** As callers in this process do; clients take their time. */
  #askAgainAtOnce = true;
  /** What the store writes, and what is decided on top of it or of the fleet. */
  #ahead: DecidedGroup | undefined;
  #behind: DecidedGroup | undefined;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#part = Math.ceil(options.share / PARTS_PER_SHARE);
  }

  /** Decides and writes until nothing waits, or a group is not written. Then nothing is under way. */
  async run(term: Term): Promise<Setback | undefined> {
    const { share } = this.#options;
    for (let flight = this.#start(term); flight !== undefined;) {
      const { group } = flight;
      await this.#decideBehind(flight, term);
      const answer = await flight.answer.catch((error: unknown) => this.#broken(group, error));
      if (answer.kind !== 'written') {
        this.#setBack(group, answer);
        return answer;
      }
      // Less than a share waits for those who hear their answer now and ask again at once: two small groups in turns would
      // cost twice the flushes. Those who take their time are not waited for: while they are answered and ask again, what is
      // behind is written.
      const enough = this.#askAgainAtOnce ? share : this.#part;
      const next = this.#behindSize >= enough ? this.#handOver(term.fence) : undefined;
      this.keep(group, answer.hash);
      await this.#hearAgain(group);
      flight = next ?? this.#start(term);
    }
    return undefined;
  }

  /** Those who were answered may ask again: whether they do so at once shows how they will the next time. */
  async #hearAgain(answered: DecidedGroup): Promise<void> {
    const { clock, waiting } = this.#options;
    const before = waiting.size;
    await clock.turn();
    const { length } = answered.decided;
    if (length >= this.#part) this.#askAgainAtOnce = 2 * (waiting.size - before) >= length;
  }

  /** What is decided but not handed to the store waits again. */
  takeBack(): void {
    const behind = this.#behind;
    if (behind === undefined) return;
    this.#behind = undefined;
    behind.stage.drop();
    this.#options.waiting.putBack(behind.requests);
  }

  /** What is not durable yet, in order. */
  protected get underWay(): readonly DecidedGroup[] {
    return [this.#ahead, this.#behind].filter((group) => group !== undefined);
  }

  get #behindSize(): number {
    return this.#behind?.decided.length ?? 0;
  }

  /** The store is free: with two shares or more it gets the first of them at once, and the rest is decided meanwhile. */
  #start({ fence, mayTake }: Term): Flight | undefined {
    const { waiting, share } = this.#options;
    const there = this.#behindSize;
    if (mayTake()) this.#decide(waiting.size + there < 2 * share ? waiting.size : share - there);
    return this.#handOver(fence);
  }

  /** A part of a share at a time, with a look at the store between them, until it has written. */
  async #decideBehind(flight: Flight, { mayTake }: Term): Promise<void> {
    const { waiting, clock } = this.#options;
    while (mayTake() && this.#behindSize < GROUP_COMMITS_MAX) {
      if (waiting.isEmpty) await Promise.race([flight.answer.catch(() => undefined), waiting.arrival()]);
      if (flight.over) return;
      await clock.turn();
      if (flight.over || !mayTake()) return;
      this.#decide(this.#part);
    }
  }

  #decide(most: number): void {
    const { fleet, waiting, clock, newCommitId } = this.#options;
    const taken = waiting.take(Math.min(most, GROUP_COMMITS_MAX - this.#behindSize));
    if (taken.length === 0) return;
    if (this.#ahead !== undefined) mark('journal-decided-behind');
    this.#behind ??= new DecidedGroup(fleet, this.#ahead);
    this.#behind.add(taken, { nowMs: clock.nowMs(), newCommitId });
  }

  #handOver(fence: Fence): Flight | undefined {
    const group = this.#behind;
    if (group === undefined) return undefined;
    this.#behind = undefined;
    this.#ahead = group;
    const answer = writeGroup(this.#options.store, group, fence);
    const flight: Flight = { group, answer, over: false };
    const land = (): void => {
      flight.over = true;
    };
    void answer.then(land, land);
    return flight;
  }

  /** The one behind it is with the store by now, or still here: either way it lies on the fleet from now on. */
  protected keep(group: DecidedGroup, hash: string | undefined): void {
    const applied = group.stage.keep();
    if (this.#ahead === group) this.#ahead = undefined;
    this.#options.kept(group, applied, hash);
  }

  #setBack(group: DecidedGroup, answer: Setback): void {
    mark('journal-group-dropped');
    if (this.#behind !== undefined) mark(`journal-dropped-behind-${nameOf(answer)}`);
    const { waiting } = this.#options;
    this.#drop(group);
    if (answer.kind === 'unavailable' && answer.outcome === 'unknown') waiting.doubt(group.decided);
    waiting.putBack(group.requests);
  }

  /** The store failed in a way that no retry mends: the group's callers hear of it as it is. */
  #broken(group: DecidedGroup, error: unknown): never {
    this.#drop(group);
    for (const { pending } of group.decided) pending.reject(error);
    throw error;
  }

  /** The newest goes first: it was decided on the other. */
  #drop(group: DecidedGroup): void {
    this.takeBack();
    group.stage.drop();
    this.#ahead = undefined;
  }
}

function nameOf(setback: Setback): string {
  return setback.kind === 'conflict' ? setback.conflict.kind : setback.outcome;
}

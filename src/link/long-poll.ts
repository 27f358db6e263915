// A long poll at the lease holder: polls again as soon as an answer brought something, and later each time while none does. It must
// never be a busy loop, whatever a server answers.
import type { Clock } from '../journal/index.ts';
import { Backoff } from './backoff.ts';
import type { Reply, CallTarget } from './call.ts';
import type { LeaderClient } from './leader-client.ts';

/** A server that has nothing new sooner than this was not waited at. */
const LONG_POLL_MIN_MS = 1000;

/** What an answer brought: something new, nothing new, or something that is of no use. */
export type PollOutcome = 'taken' | 'unchanged' | 'not-taken';

export interface LongPollOptions<A> {
  readonly leader: LeaderClient;
  /** Undefined while there is no credential. */
  readonly secret: () => string | undefined;
  /** Waits at the server. Resumed: the call before was answered; after a start and after a cut everything is requested. */
  readonly request: (
    to: CallTarget,
    how: { readonly isResumed: boolean; readonly signal: AbortSignal },
  ) => Promise<Reply<A>>;
  readonly take: (answer: A, via: string) => Promise<PollOutcome>;
}

export class LongPoll<A> {
  readonly #clock: Clock;
  readonly #options: LongPollOptions<A>;
  readonly #backoff: Backoff;
  #isResumed = false;

  constructor(ports: { readonly clock: Clock; readonly random: () => number }, options: LongPollOptions<A>) {
    this.#clock = ports.clock;
    this.#options = options;
    this.#backoff = new Backoff(ports);
  }

  /** Polls until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (await this.#poll(signal)) this.#backoff.reset();
      else await this.#backoff.wait(signal);
    }
  }

  /** Polls once. False when the next poll has to wait for the backoff. */
  async #poll(signal: AbortSignal): Promise<boolean> {
    const { leader, secret: secretOf, request, take } = this.#options;
    const secret = secretOf();
    if (secret === undefined) return false;
    const how = { isResumed: this.#isResumed, signal };
    const askedMs = this.#clock.nowMs();
    const reply = await leader.call(secret, (to) => request(to, how), signal);
    this.#isResumed = reply.kind === 'answer';
    if (reply.kind !== 'answer') return false;
    const waitedMs = this.#clock.nowMs() - askedMs;
    const outcome = await take(reply.answer, reply.via);
    return outcome === 'taken' || (outcome === 'unchanged' && waitedMs >= LONG_POLL_MIN_MS);
  }
}

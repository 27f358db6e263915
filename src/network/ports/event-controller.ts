// Writes down what back ends inside this process say of ports. What is lost in a crash is said again when the bind is repeated.
import { LeaseHolderLoop, type Clock, type Journal, type LeasePass, type Log } from '../../journal/index.ts';
import { recordNetworkEvents, type NetworkEventReport } from './event.ts';

export interface NetworkEventsOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

const BATCH_MAX = 100;
/** More than this means a runaway back end while nothing can be committed. */
const QUEUE_MAX = 10_000;
const RETRY_MS = 1000;
/** Only bounds a sleep that new events end. */
const IDLE_MS = 60_000;

export class NetworkEventsController {
  readonly #options: NetworkEventsOptions;
  readonly #loop: LeaseHolderLoop;
  #queue: NetworkEventReport[] = [];

  constructor(options: NetworkEventsOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'network-events',
      reconcile: (pass) => this.#recordAll(pass),
      // What a pass leaves in the queue could not be written.
      intervalMs: () => (this.#queue.length === 0 ? IDLE_MS : RETRY_MS),
      isSilent: true,
    });
  }

  /** Accepts events at once and records them later. */
  readonly enqueue = (news: NetworkEventReport): void => {
    if (this.#queue.length >= QUEUE_MAX) {
      this.#options.log.warn({ port: news.port, event: news.name }, 'network event dropped: too many wait');
      return;
    }
    this.#queue.push(news);
    // Those that come while others wait do not make the retry come sooner.
    if (this.#queue.length === 1) this.#loop.wake();
  };

  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }

  /** The oldest first. */
  async #recordAll({ nowMs, signal }: LeasePass): Promise<void> {
    while (this.#queue.length > 0 && !signal.aborted) {
      const events = this.#queue.slice(0, BATCH_MAX);
      // Refused are those of ports that are gone meanwhile: no operation waits for them.
      await this.#options.journal.submit({
        by: 'network',
        decide: (fleet) => recordNetworkEvents(fleet, { events, nowMs }),
      });
      this.#queue = this.#queue.slice(events.length);
    }
  }
}

// Writes down what back ends inside this process say of ports. What is lost in a crash is said again when the bind is repeated.
import { NotHolder, StoreUnavailable, type Clock, type Journal } from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
import { recordNetworkEvents, type NetworkEventReport } from './event.ts';

export interface NetworkEventsOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
}

const BATCH_MAX = 100;
/** More than this is a back end gone wild while nobody can write. */
const QUEUE_MAX = 10_000;
const RETRY_MS = 1000;
/** Nobody waits this long: it only bounds a sleep that news end. */
const IDLE_MS = 60_000;

export class NetworkEventsController {
  readonly #options: NetworkEventsOptions;
  #queue: NetworkEventReport[] = [];
  #sleep = new AbortController();

  constructor(options: NetworkEventsOptions) {
    this.#options = options;
  }

  /** Takes news at once and writes them down later. */
  readonly enqueue = (news: NetworkEventReport): void => {
    if (this.#queue.length >= QUEUE_MAX) {
      this.#options.log.warn({ port: news.port, event: news.name }, 'network event dropped: too many wait');
      return;
    }
    this.#queue.push(news);
    this.#sleep.abort();
  };

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const stop = (): void => this.#sleep.abort();
    signal.addEventListener('abort', stop, { once: true });
    while (!signal.aborted) {
      if (this.#queue.length === 0) await clock.sleep(IDLE_MS, this.#sleep.signal);
      else if (!(await this.flush())) await clock.sleep(RETRY_MS, signal);
      if (this.#sleep.signal.aborted) this.#sleep = new AbortController();
    }
    signal.removeEventListener('abort', stop);
  }

  /** Writes down the oldest; false when it could not be done now. */
  async flush(): Promise<boolean> {
    const { journal, clock } = this.#options;
    const events = this.#queue.slice(0, BATCH_MAX);
    const nowMs = clock.nowMs();
    try {
      // Refused are those of ports that are gone meanwhile: nobody waits for them.
      await journal.submit({ by: 'network', decide: (fleet) => recordNetworkEvents(fleet, { events, nowMs }) });
    } catch (error) {
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
      return false;
    }
    this.#queue = this.#queue.slice(events.length);
    return true;
  }
}

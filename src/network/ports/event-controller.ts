// Records the events of back ends in this process. Events lost in a crash are sent again when the bind is repeated.
import { NotHolder, StoreUnavailable, type Clock, type Journal } from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
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
  #queue: NetworkEventReport[] = [];
  #sleep = new AbortController();

  constructor(options: NetworkEventsOptions) {
    this.#options = options;
  }

  /** Accepts events at once and records them later. */
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

  /** Records the oldest; false when that is not possible now. */
  async flush(): Promise<boolean> {
    const { journal, clock } = this.#options;
    const events = this.#queue.slice(0, BATCH_MAX);
    const nowMs = clock.nowMs();
    try {
      // Events of ports that were deleted meanwhile are refused: nothing waits for them.
      await journal.submit({ by: 'network', decide: (fleet) => recordNetworkEvents(fleet, { events, nowMs }) });
    } catch (error) {
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
      return false;
    }
    this.#queue = this.#queue.slice(events.length);
    return true;
  }
}

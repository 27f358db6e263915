// Clients that write and read all the time, through any server that answers, and remember what they were answered. A write that was not
// acknowledged is repeated with its idempotency key, elsewhere, until it is. Nothing here looks into the servers.
import { Agent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask, type ServerAnswer } from './servers.ts';

const WRITERS = 6;
const READERS = 3;
const ATTEMPT_MS = 2000;
const READ_EVERY_MS = 50;
/** Between attempts that were refused at once: a server without a holder answers in a millisecond. */
const RETRY_MS = 50;

export interface Acknowledged {
  readonly name: string;
  readonly id: string;
}

export interface LoadOptions {
  /** Begins every name that this load writes. */
  readonly name: string;
  readonly urls: readonly string[];
  readonly ca: string;
  readonly token: string;
}

/** How long no client got an answer, from the fault until all was well again. */
export interface Unavailability {
  readonly writesMs: number;
  readonly readsMs: number;
}

export class ClientLoad {
  readonly acknowledged: Acknowledged[] = [];
  /** Names that were sent at least once and never acknowledged: each may be there once, or not. */
  readonly unresolved: string[] = [];
  readonly unexpected: string[] = [];
  retries = 0;
  readonly #options: LoadOptions;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #writesAt: number[] = [];
  readonly #readsAt: number[] = [];
  readonly #stopping = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(options: LoadOptions) {
    this.#options = options;
    const writers = Array.from({ length: WRITERS }, (_, nth) => this.#write(nth));
    const readers = Array.from({ length: READERS }, (_, nth) => this.#read(nth));
    this.#running = Promise.all([...writers, ...readers]);
  }

  get writes(): number {
    return this.#writesAt.length;
  }

  get reads(): number {
    return this.#readsAt.length;
  }

  /** The longest silence between two successes, or since the fault, in a span of time. */
  unavailability(fromMs: number, toMs = performance.now()): Unavailability {
    return {
      writesMs: longestGap(this.#writesAt, fromMs, toMs),
      readsMs: longestGap(this.#readsAt, fromMs, toMs),
    };
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#agent.destroy();
  }

  async #write(nth: number): Promise<void> {
    for (let count = 0; !this.#stopping.signal.aborted; count += 1) {
      const name = `${this.#options.name}-${nth}-${count}`;
      const answer = await this.#untilAcknowledged(name, nth);
      if (answer === undefined) {
        this.unresolved.push(name);
      } else if (answer.status === 201) {
        this.acknowledged.push({ name, id: (JSON.parse(answer.body) as { id: string }).id });
        this.#writesAt.push(performance.now());
      } else {
        this.unexpected.push(`${name}: ${answer.status} ${answer.body.slice(0, 200)}`);
      }
    }
  }

  /** Undefined when the load was stopped before a server acknowledged it. */
  async #untilAcknowledged(name: string, nth: number): Promise<ServerAnswer | undefined> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await this.#attempt(nth + attempt, {
        method: 'POST',
        path: '/api/v1/tokens',
        body: JSON.stringify({ name, role: 'viewer' }),
        headers: { 'content-type': 'application/json', 'idempotency-key': `ha-${name}` },
      });
      if (answer !== undefined && !isRetryable(answer)) return answer;
      if (this.#stopping.signal.aborted) return undefined;
      this.retries += 1;
      await sleep(RETRY_MS);
    }
  }

  async #read(nth: number): Promise<void> {
    for (let attempt = nth; !this.#stopping.signal.aborted;) {
      const answer = await this.#attempt(attempt, { method: 'GET', path: '/api/v1/sites', headers: {} });
      if (answer?.status === 200) this.#readsAt.push(performance.now());
      else attempt += 1;
      await sleep(READ_EVERY_MS);
    }
  }

  async #attempt(
    server: number,
    { path, headers, ...what }: { method: string; path: string; headers: Record<string, string>; body?: string },
  ): Promise<ServerAnswer | undefined> {
    const { urls, ca, token } = this.#options;
    const all = { ...headers, authorization: `Bearer ${token}` };
    const options = { ...what, headers: all, ca, agent: this.#agent, timeoutMs: ATTEMPT_MS };
    return ask(`${urls[server % urls.length]}${path}`, options).catch(() => undefined);
  }
}

/** 503: no holder, or a store that is away. 429: too fast. 409 of the same key: its first attempt is still under way. */
function isRetryable({ status, body }: ServerAnswer): boolean {
  return status === 503 || status === 429 || status === 502 || (status === 409 && body.includes('idempotency'));
}

function longestGap(at: readonly number[], fromMs: number, toMs: number): number {
  const within = [fromMs, ...at.filter((ms) => ms > fromMs && ms < toMs).toSorted((a, b) => a - b), toMs];
  return Math.max(...within.slice(1).map((ms, index) => ms - (within[index] ?? ms)));
}

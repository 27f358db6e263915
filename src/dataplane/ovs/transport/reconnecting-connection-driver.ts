// A connection that comes back: when it is lost it is made anew, with longer and longer pauses. Whoever needs it waits for it.
import { backoffMs, type Clock } from '../../../journal/index.ts';
import { DAEMON_BACKOFF } from './backoff.ts';
import { JsonRpcConnection, type JsonRpcConnectionOptions } from './json-rpc-connection-driver.ts';
import { withTimeout } from './deadline.ts';
import { ClientClosed, ConnectionLost } from './failures.ts';
import type { Dial } from './socket-driver.ts';

export interface ReconnectOptions extends JsonRpcConnectionOptions {
  readonly dial: Dial;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly connectTimeoutMs: number;
  /** Makes a new connection usable; nobody gets it before. */
  readonly setUp?: (connection: JsonRpcConnection) => Promise<void>;
  readonly onState?: (state: ReconnectState) => void;
}

export type ReconnectState =
  { readonly kind: 'up' } | { readonly kind: 'down'; readonly because: Error; readonly retryInMs: number };

interface Waiter {
  readonly take: (connection: JsonRpcConnection) => void;
  readonly fail: (why: Error) => void;
}

export class ReconnectingConnection {
  readonly #options: ReconnectOptions;
  readonly #closing = new AbortController();
  readonly #waiters = new Set<Waiter>();
  readonly #running: Promise<void>;
  #current: JsonRpcConnection | undefined;
  #last: Error = new ConnectionLost('no connection was tried yet');

  constructor(options: ReconnectOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** The connection, as soon as there is one. */
  async acquire(timeoutMs: number): Promise<JsonRpcConnection> {
    if (this.#closing.signal.aborted) throw new ClientClosed();
    if (this.#current !== undefined) return this.#current;
    const { promise, resolve, reject } = Promise.withResolvers<JsonRpcConnection>();
    const waiter = { take: resolve, fail: reject };
    this.#waiters.add(waiter);
    const { clock } = this.#options;
    const failure = (): Error =>
      new ConnectionLost(`no connection within ${timeoutMs} ms: ${this.#last.message}`, { cause: this.#last });
    try {
      return await withTimeout(promise, { clock, timeoutMs, failure });
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  /** The connection, if there is one now. */
  get current(): JsonRpcConnection | undefined {
    return this.#current;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#current?.end(new ClientClosed());
    for (const { fail } of [...this.#waiters]) fail(new ClientClosed());
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let failures = 0;
    while (!signal.aborted) {
      failures = (await this.#once()) ? 0 : failures + 1;
      if (signal.aborted) return;
      const retryInMs = backoffMs(DAEMON_BACKOFF, failures + 1, this.#options.random);
      this.#options.onState?.({ kind: 'down', because: this.#last, retryInMs });
      await this.#options.clock.sleep(retryInMs, signal);
    }
  }

  /** One connection from its beginning to its end; whether it was of use. */
  async #once(): Promise<boolean> {
    const connection = await this.#connect();
    if (connection === undefined) return false;
    const onClosing = (): void => connection.end(new ClientClosed());
    this.#closing.signal.addEventListener('abort', onClosing, { once: true });
    if (this.#closing.signal.aborted) onClosing();
    let usable = false;
    try {
      await this.#options.setUp?.(connection);
      this.#up(connection);
      usable = true;
    } catch (error) {
      // A daemon that does not take what we need is no use to anybody; it may have been changed when it is tried again.
      connection.end(asError(error));
    }
    this.#last = await connection.closed;
    this.#current = undefined;
    this.#closing.signal.removeEventListener('abort', onClosing);
    return usable && connection.hasReceived;
  }

  #up(connection: JsonRpcConnection): void {
    this.#current = connection;
    this.#options.onState?.({ kind: 'up' });
    for (const { take } of [...this.#waiters]) take(connection);
  }

  async #connect(): Promise<JsonRpcConnection | undefined> {
    const { clock, connectTimeoutMs: timeoutMs } = this.#options;
    const giveUp = new AbortController();
    const dialing = this.#options.dial(AbortSignal.any([giveUp.signal, this.#closing.signal]));
    const failure = (): Error => new ConnectionLost(`no connection within ${timeoutMs} ms`);
    try {
      return new JsonRpcConnection(await withTimeout(dialing, { clock, timeoutMs, failure }), this.#options);
    } catch (error) {
      giveUp.abort();
      this.#last = asError(error);
      return undefined;
    }
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

// A connection that is made again when it is lost, with a backoff. A caller waits for it up to a timeout of its own, or for the attempt that is
// under way.
import { backoffMs, type BackoffPolicy, type Clock } from '../../../journal/index.ts';
import { withTimeout } from './deadline.ts';
import { asError, ClientClosed, ConnectionLost } from './failures.ts';

/** A daemon that is restarted is back within a second; a host whose switch is down need not fill its log. */
const DAEMON_BACKOFF: BackoffPolicy = { firstMs: 100, longestMs: 5000 };

/** One connection, from its beginning to its end. It never comes back. */
export interface LiveConnection {
  /** Resolves when it has ended, with the reason. */
  readonly closed: Promise<Error>;
  end(why: Error): void;
}

export interface ReconnectOptions<C extends LiveConnection> {
  readonly clock: Clock;
  /** The name of the peer in errors: `the switch`. */
  readonly peer: string;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly connectTimeoutMs: number;
  /** Dials and greets. When `signal` is aborted it stops; a connection that it returns all the same is ended. */
  readonly connect: (signal: AbortSignal) => Promise<C>;
  /** Makes a new connection usable; no caller gets it before. When it rejects, the connection is ended. */
  readonly prepare?: (connection: C) => Promise<void>;
  /** Whether one that was up was of use, so that the backoff begins anew; always by default. */
  readonly wasUseful?: (connection: C) => boolean;
}

export type ReconnectState =
  { readonly kind: 'up' } | { readonly kind: 'down'; readonly because: Error; readonly retryInMs: number };

/** How long a caller waits for the connection: `current-attempt` not through a pause. */
type ConnectionWait = { readonly timeoutMs: number } | 'current-attempt';

interface Waiter<C> {
  readonly wait: ConnectionWait;
  readonly take: (connection: C) => void;
  readonly fail: (why: Error) => void;
}

export class ReconnectingConnection<C extends LiveConnection> {
  readonly #options: ReconnectOptions<C>;
  readonly #closing = new AbortController();
  readonly #waiters = new Set<Waiter<C>>();
  readonly #upListeners = new Set<(connection: C) => void>();
  readonly #stateListeners = new Set<(state: ReconnectState) => void>();
  readonly #running: Promise<void>;
  #isConnecting = false;
  #current: C | undefined;
  #last: Error = new ConnectionLost('no connection was tried yet');

  /** Begins to connect. */
  constructor(options: ReconnectOptions<C>) {
    this.#options = options;
    this.#running = this.#run();
  }

  /** The connection, if there is one now. */
  get current(): C | undefined {
    return this.#current;
  }

  /** The connection, as soon as there is one. */
  async acquire(wait: ConnectionWait): Promise<C> {
    if (this.#closing.signal.aborted) throw new ClientClosed();
    if (this.#current !== undefined) return this.#current;
    if (wait === 'current-attempt' && !this.#isConnecting)
      throw new ConnectionLost(`there is no connection to ${this.#options.peer}: ${this.#last.message}`, {
        cause: this.#last,
      });
    const { promise, resolve, reject } = Promise.withResolvers<C>();
    const waiter = { wait, take: resolve, fail: reject };
    this.#waiters.add(waiter);
    try {
      return await (wait === 'current-attempt' ? promise : this.#waitAtMost(promise, wait.timeoutMs));
    } finally {
      this.#waiters.delete(waiter);
    }
  }

  #waitAtMost(promise: Promise<C>, timeoutMs: number): Promise<C> {
    const failure = (): Error =>
      new ConnectionLost(`no connection within ${timeoutMs} ms: ${this.#last.message}`, { cause: this.#last });
    return withTimeout(promise, { clock: this.#options.clock, timeoutMs, failure });
  }

  /** Called at once if it is up, and each time that it comes back. Call what it returns to unsubscribe. */
  onUp(listener: (connection: C) => void): () => void {
    this.#upListeners.add(listener);
    if (this.#current !== undefined) listener(this.#current);
    return () => this.#upListeners.delete(listener);
  }

  /** Called each time that it comes up, is lost or cannot be made. Call what it returns to unsubscribe. */
  onState(listener: (state: ReconnectState) => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
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
      this.#notify({ kind: 'down', because: this.#last, retryInMs });
      await this.#options.clock.sleep(retryInMs, signal);
    }
  }

  /** One connection from its beginning to its end; whether it was of use. */
  async #once(): Promise<boolean> {
    this.#isConnecting = true;
    const connection = await this.#connect();
    if (connection === undefined) return this.#failAttempt();
    const onClosing = (): void => connection.end(new ClientClosed());
    this.#closing.signal.addEventListener('abort', onClosing, { once: true });
    const isUp = await this.#bringUp(connection);
    this.#last = await connection.closed;
    this.#current = undefined;
    this.#closing.signal.removeEventListener('abort', onClosing);
    if (!isUp) return this.#failAttempt();
    return this.#options.wasUseful?.(connection) ?? true;
  }

  /** Callers that waited for this attempt do not wait for the next one. */
  #failAttempt(): false {
    this.#isConnecting = false;
    for (const { wait, fail } of [...this.#waiters]) if (wait === 'current-attempt') fail(this.#last);
    return false;
  }

  /** False when it ended before it could be used. */
  async #bringUp(connection: C): Promise<boolean> {
    try {
      await this.#options.prepare?.(connection);
    } catch (error) {
      // A daemon that refuses what we need is of no use; it may have been upgraded by the next try.
      connection.end(asError(error));
      return false;
    }
    if (this.#closing.signal.aborted) {
      connection.end(new ClientClosed());
      return false;
    }
    this.#isConnecting = false;
    this.#current = connection;
    this.#notify({ kind: 'up' });
    for (const listener of [...this.#upListeners]) listener(connection);
    for (const { take } of [...this.#waiters]) take(connection);
    return true;
  }

  #notify(state: ReconnectState): void {
    for (const listener of [...this.#stateListeners]) listener(state);
  }

  async #connect(): Promise<C | undefined> {
    const { clock, connect, connectTimeoutMs: timeoutMs } = this.#options;
    const deadline = new AbortController();
    const failure = (): Error => new ConnectionLost(`no connection within ${timeoutMs} ms`);
    const connecting = connect(AbortSignal.any([deadline.signal, this.#closing.signal]));
    try {
      return await withTimeout(connecting, { clock, timeoutMs, failure });
    } catch (error) {
      this.#last = asError(error);
      deadline.abort();
      // It may come in the moment in which it is aborted: nothing else refers to it.
      connecting.then(
        (late) => late.end(this.#last),
        () => {},
      );
      return undefined;
    }
  }
}

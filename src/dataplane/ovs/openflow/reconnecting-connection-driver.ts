// A connection to a switch that comes back: when it is lost it is made anew, with longer and longer pauses. Who needs it while it is
// being made waits for it; who needs it during a pause is told at once that there is none.
import { backoffMs } from '../../../journal/index.ts';
import { DAEMON_BACKOFF } from '../transport/backoff.ts';
import { withTimeout } from '../transport/deadline.ts';
import { ClientClosed, ConnectionLost } from '../transport/failures.ts';
import type { Dial } from '../transport/socket-driver.ts';
import { OpenFlowConnection, type OpenFlowConnectionOptions } from './connection-driver.ts';

export interface ReconnectOptions extends OpenFlowConnectionOptions {
  readonly dial: Dial;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Until the switch has greeted. */
  readonly connectTimeoutMs: number;
}

export class ReconnectingConnection {
  readonly #options: ReconnectOptions;
  readonly #closing = new AbortController();
  readonly #upListeners = new Set<(connection: OpenFlowConnection) => void>();
  readonly #downListeners = new Set<(why: Error) => void>();
  readonly #running: Promise<void>;
  #attempt: Promise<OpenFlowConnection> | undefined;
  #current: OpenFlowConnection | undefined;
  #last: Error = new ConnectionLost('no connection was tried yet');

  constructor(options: ReconnectOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  get current(): OpenFlowConnection | undefined {
    return this.#current;
  }

  onUp(listener: (connection: OpenFlowConnection) => void): () => void {
    this.#upListeners.add(listener);
    if (this.#current !== undefined) listener(this.#current);
    return () => this.#upListeners.delete(listener);
  }

  onDown(listener: (why: Error) => void): () => void {
    this.#downListeners.add(listener);
    return () => this.#downListeners.delete(listener);
  }

  async acquire(): Promise<OpenFlowConnection> {
    if (this.#closing.signal.aborted) throw new ClientClosed();
    if (this.#current !== undefined) return this.#current;
    if (this.#attempt !== undefined) return this.#attempt;
    throw new ConnectionLost(`there is no connection to the switch: ${this.#last.message}`, { cause: this.#last });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#current?.end(new ClientClosed());
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let failures = 0;
    while (!signal.aborted) {
      const wasUp = await this.#once();
      failures = wasUp ? 0 : failures + 1;
      if (signal.aborted) return;
      for (const listener of [...this.#downListeners]) listener(this.#last);
      await this.#options.clock.sleep(backoffMs(DAEMON_BACKOFF, failures + 1, this.#options.random), signal);
    }
  }

  /** One connection from its beginning to its end; whether it was of use. */
  async #once(): Promise<boolean> {
    this.#attempt = this.#connect();
    try {
      this.#current = await this.#attempt;
    } catch (error) {
      this.#last = error instanceof Error ? error : new Error(String(error));
      return false;
    } finally {
      this.#attempt = undefined;
    }
    if (this.#closing.signal.aborted) this.#current.end(new ClientClosed());
    else for (const listener of [...this.#upListeners]) listener(this.#current);
    this.#last = await this.#current.closed;
    this.#current = undefined;
    return true;
  }

  async #connect(): Promise<OpenFlowConnection> {
    const { clock, dial, connectTimeoutMs: timeoutMs } = this.#options;
    const giveUp = new AbortController();
    const failure = (): Error => new ConnectionLost(`no connection within ${timeoutMs} ms`);
    const opening = this.#greet(dial, AbortSignal.any([giveUp.signal, this.#closing.signal]));
    try {
      return await withTimeout(opening, { clock, timeoutMs, failure });
    } catch (error) {
      giveUp.abort();
      opening.catch(() => {}); // it was given up
      throw error;
    }
  }

  async #greet(dial: Dial, signal: AbortSignal): Promise<OpenFlowConnection> {
    const connection = new OpenFlowConnection(await dial(signal), this.#options);
    const giveUp = (): void => connection.end(new ClientClosed());
    signal.addEventListener('abort', giveUp, { once: true });
    if (signal.aborted) giveUp();
    await connection.handshake;
    signal.removeEventListener('abort', giveUp);
    return connection;
  }
}

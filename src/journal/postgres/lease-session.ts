// The one connection on which a server acquires, renews and releases leases, apart from those that read and write. For each
// tenure (a lease under one epoch) PostgreSQL keeps a lock that goes with this connection: a server that gets that lock knows
// that the holder's session has ended. It only makes a takeover faster; what keeps two holders apart is the epoch.
import { Client, type ClientBase, type ClientConfig } from 'pg';
import { commitOutcome, suspicionOf, classifyPostgresError } from './failure.ts';
import type { PostgresHosts, PostgresServer } from './hosts.ts';
import { StoreUnavailable } from '../store.ts';

// Less than a lease lasts: after so long without an answer another database server is searched for while the lease is still valid.
const ANSWER_TIMEOUT_MS = 3000;
// PostgreSQL times out first, so that its answer is certain.
const STATEMENT_TIMEOUT_MS = 2500;
// A paused process in the middle of taking a lease holds the head row.
const IDLE_IN_TRANSACTION_MS = 2000;
// PostgreSQL notices a peer that is gone without a word after about this, and ends the session.
const PEER_GONE =
  '-c tcp_keepalives_idle=1 -c tcp_keepalives_interval=1 -c tcp_keepalives_count=3 -c tcp_user_timeout=4000';

interface LockSession {
  readonly client: Client;
  readonly server: PostgresServer;
  /** The epoch of each lease whose lock this connection has. */
  readonly tenures: Map<string, number>;
}

export type SessionWork<T> = (client: ClientBase, tenures: Map<string, number>) => Promise<T>;

export class PostgresLeaseSession {
  readonly #hosts: PostgresHosts;
  #session: LockSession | undefined;
  #last: Promise<unknown> = Promise.resolve();
  readonly #onEnd = new Set<() => void>();
  #wake = new AbortController();
  #closed = false;

  constructor(hosts: PostgresHosts) {
    this.#hosts = hosts;
    hosts.onMoved(() => this.#drop(this.#session));
  }

  hasLock(lease: string): boolean {
    return this.#session?.tenures.has(lease) === true;
  }

  /** Resolves when the session that is there now has ended, or when `signal` is aborted. */
  waitForEnd(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#onEnd.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#onEnd.add(wake);
      signal.addEventListener('abort', wake, { once: true });
      if (signal.aborted || this.#session === undefined) wake();
    });
  }

  /** A lease was released: servers that wait for it try at once. */
  wakeWaiters(): void {
    this.#wake.abort('look');
    this.#wake = new AbortController();
  }

  /** Aborted when it is time to try. */
  get wakeSignal(): AbortSignal {
    return this.#wake.signal;
  }

  /** One after the other. After a failure the connection is closed, and every lock released with it. */
  run<T>(work: SessionWork<T>): Promise<T> {
    const result = this.#last.then(() => this.#run(work));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #run<T>(work: SessionWork<T>): Promise<T> {
    const session = await this.#open();
    try {
      return await withTimeout(work(session.client, session.tenures));
    } catch (error) {
      const doubt = suspicionOf(error);
      if (doubt !== undefined) this.#hosts.suspect(session.server, doubt);
      this.#drop(session);
      throw classifyPostgresError(error, commitOutcome(error));
    }
  }

  async #open(): Promise<LockSession> {
    if (this.#session !== undefined) return this.#session;
    const server = await this.#hosts.current();
    if (this.#closed) throw new StoreUnavailable('PostgreSQL: the store is closed', { outcome: 'failed' });
    const session: LockSession = {
      client: new Client(sessionConfig(this.#hosts.config(server))),
      server,
      tenures: new Map(),
    };
    session.client.on('error', () => this.#onLost(session));
    session.client.on('end', () => this.#onLost(session));
    try {
      await session.client.connect();
    } catch (error) {
      this.#hosts.suspect(server, suspicionOf(error) ?? 'lost');
      session.client.end().catch(() => {}); // it never was
      throw classifyPostgresError(error);
    }
    this.#session = session;
    return session;
  }

  #onLost(session: LockSession): void {
    this.#hosts.suspect(session.server, 'lost');
    this.#drop(session);
  }

  #drop(session: LockSession | undefined): void {
    if (session === undefined || this.#session !== session) return; // an error and an end come in pairs
    this.#session = undefined;
    session.client.end().catch(() => {}); // it may be lost already
    for (const wake of [...this.#onEnd]) wake();
  }

  async close(): Promise<void> {
    this.#closed = true;
    const session = this.#session;
    this.#session = undefined;
    for (const wake of [...this.#onEnd]) wake();
    await session?.client.end().catch(() => {}); // a connection that is already lost is closed enough
  }
}

function sessionConfig(base: ClientConfig): ClientConfig {
  return {
    ...base,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    options: `${base.options ?? ''} ${PEER_GONE}`,
  };
}

/**
 * The driver's own limit is a timer that may fire first after the event loop was busy, though the answer has arrived: it is
 * read before this one times out.
 */
function withTimeout<T>(work: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const timeOut = (): void => reject(new Error(`timeout: no answer within ${ANSWER_TIMEOUT_MS / 1000} s`));
  const timer = setTimeout(() => setImmediate(timeOut), ANSWER_TIMEOUT_MS);
  work.then(resolve, reject).finally(() => clearTimeout(timer));
  return promise;
}

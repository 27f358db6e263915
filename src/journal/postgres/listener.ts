// Receives notifications of commits by LISTEN. They only shorten the poll of followers: a lost notification costs a moment, never a commit.
import { Client, escapeIdentifier } from 'pg';
import type { HeadWaiters } from '../head-waiters.ts';
import { suspicionOf } from './failure.ts';
import type { PostgresHosts, PostgresServer } from './hosts.ts';

// Short beside a failover, long beside an attempt to connect.
const RECONNECT_AFTER_MS = 500;
/** Said on the same channel as the revisions of the head. An earlier version takes it for a revision that is none. */
export const LEASE_RELEASED = 'lease-given-back';
const LISTEN_TIMEOUT_MS = 5000;

export class PostgresListener {
  readonly #hosts: PostgresHosts;
  readonly #channel: string;
  readonly #waiters: HeadWaiters;
  readonly #onLeaseReleased: () => void;
  #client: Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: {
    readonly hosts: PostgresHosts;
    readonly channel: string;
    readonly waiters: HeadWaiters;
    /** A lease was released. */
    readonly onLeaseReleased: () => void;
  }) {
    this.#hosts = options.hosts;
    this.#hosts.onMoved(() => this.#reconnect(this.#client));
    this.#channel = options.channel;
    this.#waiters = options.waiters;
    this.#onLeaseReleased = options.onLeaseReleased;
  }

  /** Never fails: without a connection it tries again until it is closed. */
  async start(): Promise<void> {
    if (this.#closed) return;
    const server = await this.#hosts.current().catch(() => undefined); // why there is none, readers get as an error
    if (server === undefined) this.#retryLater();
    else if (!this.#closed) await this.#listen(server);
  }

  async #listen(server: PostgresServer): Promise<void> {
    const client = new Client({ ...this.#hosts.config(server), query_timeout: LISTEN_TIMEOUT_MS });
    this.#client = client;
    const onLost = (error?: unknown): void => {
      this.#hosts.suspect(server, suspicionOf(error) ?? 'lost');
      this.#reconnect(client);
    };
    client.on('notification', ({ payload }) => {
      if (payload === LEASE_RELEASED) this.#onLeaseReleased();
      else this.#waiters.announce(Number(payload));
    });
    client.on('error', onLost);
    client.on('end', () => onLost());
    try {
      await client.connect();
      await client.query(`LISTEN ${escapeIdentifier(this.#channel)}`);
      // Commits made while no connection was listening were not announced.
      this.#waiters.wakeAll();
    } catch (error) {
      onLost(error); // any failure to connect or to listen has the same answer
    }
  }

  #reconnect(client: Client | undefined): void {
    if (client === undefined || this.#client !== client) return; // an error and an end come in pairs
    this.#client = undefined;
    client.end().catch(() => {}); // it is lost already
    this.#retryLater();
  }

  #retryLater(): void {
    if (this.#closed) return;
    this.#retry = setTimeout(() => void this.start(), RECONNECT_AFTER_MS).unref();
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => {}); // a connection that is already lost is closed enough
  }
}

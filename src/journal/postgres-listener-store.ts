// Hears of commits by LISTEN. It only shortens the wait of followers: a lost notification costs a moment, never a commit.
import { Client, escapeIdentifier } from 'pg';
import type { HeadWaiters } from './head-waiters.ts';
import { clientConfig } from './postgres-connections-store.ts';

// Short beside a failover, long beside an attempt to connect.
const RECONNECT_AFTER_MS = 500;

export class PostgresListener {
  readonly #connectionString: string;
  readonly #channel: string;
  readonly #waiters: HeadWaiters;
  #client: Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: { readonly connectionString: string; readonly channel: string; readonly waiters: HeadWaiters }) {
    this.#connectionString = options.connectionString;
    this.#channel = options.channel;
    this.#waiters = options.waiters;
  }

  /** Never fails: without a connection it tries again until it is closed. */
  async start(): Promise<void> {
    if (this.#closed) return;
    const client = new Client(clientConfig(this.#connectionString));
    this.#client = client;
    client.on('notification', (message) => this.#waiters.announce(Number(message.payload)));
    client.on('error', () => this.#again(client));
    client.on('end', () => this.#again(client));
    try {
      await client.connect();
      await client.query(`LISTEN ${escapeIdentifier(this.#channel)}`);
      // What was committed while nobody listened, nobody announced.
      this.#waiters.wakeAll();
    } catch {
      this.#again(client); // any failure to connect or to listen has the same answer
    }
  }

  #again(client: Client): void {
    if (this.#client !== client) return; // an error and an end come in pairs
    this.#client = undefined;
    client.end().catch(() => {}); // it is lost already
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

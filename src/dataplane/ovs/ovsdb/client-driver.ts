// A client of an OVSDB server (RFC 7047): transactions, and replicas of tables that stay up to date. The connection is kept and
// re-established; until then requests wait up to their timeout.
import type { Clock } from '../../../journal/index.ts';
import { parseAddress } from '../transport/address.ts';
import { JsonRpcConnection } from '../transport/json-rpc-connection-driver.ts';
import { DaemonFailure, MalformedMessage } from '../transport/failures.ts';
import { ReconnectingConnection, type ReconnectState } from '../transport/reconnecting-connection-driver.ts';
import { Monitor, type MonitoredTables } from './monitor.ts';
import { encodeOperation, type OvsdbOperation, type OperationResult, readResults } from './operation.ts';
import { type Dial, dialSocket } from '../transport/socket-driver.ts';

const REQUEST_TIMEOUT_MS = 10_000;
/** A server that hangs is noticed after twice this: sooner than the 15 s after which its host is suspect. */
const PROBE_AFTER_MS = 3000;
/** More than the whole database of the largest host. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024;

export interface OvsdbClientOptions {
  /** `unix:/path` or `tcp:host:port`. */
  readonly address: string;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  /** The timeout of a request, including the wait for a connection. */
  readonly requestTimeoutMs?: number;
  readonly probeAfterMs?: number;
  readonly messageBytesMax?: number;
  /** Called whenever the connection is up or lost, and why. */
  readonly onState?: (state: ReconnectState) => void;
  /** Opens the connection instead of a socket to `address`. */
  readonly dial?: Dial;
}

export class OvsdbClient {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #connection: ReconnectingConnection<JsonRpcConnection>;
  readonly #monitors = new Map<string, Monitor>();
  #lastMonitor = 0;

  /** Starts to connect. Throws `BadAddress`. */
  constructor(options: OvsdbClientOptions) {
    this.#clock = options.clock;
    this.#timeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    const { clock, random, dial = dialSocket(parseAddress(options.address)), onState } = options;
    const connection = {
      clock,
      messageBytesMax: options.messageBytesMax ?? MESSAGE_BYTES_MAX,
      probeAfterMs: options.probeAfterMs ?? PROBE_AFTER_MS,
      onNotification: (method: string, params: readonly unknown[]) => this.#onNotification(method, params),
    };
    this.#connection = new ReconnectingConnection({
      clock,
      peer: 'the database',
      random,
      connectTimeoutMs: this.#timeoutMs,
      connect: async (signal) => new JsonRpcConnection(await dial(signal), connection),
      prepare: (made) => this.#subscribeAll(made),
      wasUseful: (made) => made.hasReceived,
    });
    if (onState !== undefined) this.#connection.onState(onState);
  }

  /**
   * Atomic. Rejects with `TransactionRefused`, which names the operation and the column; after `ConnectionLost` or `RequestTimedOut` the
   * transaction may have been committed all the same.
   */
  async transact(database: string, operations: readonly OvsdbOperation[]): Promise<readonly OperationResult[]> {
    const params = [database, ...operations.map(encodeOperation)];
    return readResults(operations, await this.#request('transact', params));
  }

  /** Resolves with the first copy; from then on it is kept up to date, over lost connections too, until it is closed. */
  async monitor(database: string, tables: MonitoredTables): Promise<Monitor> {
    const monitor = new Monitor(database, tables, this.#clock);
    this.#lastMonitor += 1;
    const id = `muster-${this.#lastMonitor}`;
    const untilMs = this.#clock.nowMs() + this.#timeoutMs;
    const connection = await this.#connection.acquire({ timeoutMs: this.#timeoutMs });
    // Registered before the request: the first update may follow the answer at once, and a new connection must know of it.
    this.#monitors.set(id, monitor);
    try {
      await subscribe(connection, { id, monitor }, this.#leftMs(untilMs));
    } catch (error) {
      this.#monitors.delete(id);
      throw error;
    }
    return monitor;
  }

  /** Ends the subscription in the database. */
  async closeMonitor(monitor: Monitor): Promise<void> {
    const [id] = [...this.#monitors].find(([, known]) => known === monitor) ?? [];
    monitor.close();
    if (id === undefined) return;
    this.#monitors.delete(id);
    // A new connection will not subscribe it again.
    await this.#connection.current
      ?.request('monitor_cancel', [id], { timeoutMs: this.#timeoutMs })
      .catch(ignoreDaemonFailure);
  }

  /** Resolves when the server has answered. */
  async echo(): Promise<void> {
    await this.#request('echo', ['muster']);
  }

  async close(): Promise<void> {
    for (const monitor of this.#monitors.values()) monitor.close();
    await this.#connection.close();
  }

  async #request(method: string, params: readonly unknown[]): Promise<unknown> {
    const untilMs = this.#clock.nowMs() + this.#timeoutMs;
    const connection = await this.#connection.acquire({ timeoutMs: this.#timeoutMs });
    return connection.request(method, params, { timeoutMs: this.#leftMs(untilMs), cancel: method === 'transact' });
  }

  #leftMs(untilMs: number): number {
    return Math.max(1, untilMs - this.#clock.nowMs());
  }

  async #subscribeAll(connection: JsonRpcConnection): Promise<void> {
    for (const [id, monitor] of this.#monitors) await subscribe(connection, { id, monitor }, this.#timeoutMs);
  }

  #onNotification(method: string, params: readonly unknown[]): void {
    if (method !== 'update') return;
    const [id, updates] = params;
    if (typeof id !== 'string') throw new MalformedMessage('an update does not say of which monitor');
    // An update of a monitor that was closed just now may still arrive.
    this.#monitors.get(id)?.update(updates);
  }
}

/** No further updates arrive, whatever the answer was. */
function ignoreDaemonFailure(error: unknown): void {
  if (!(error instanceof DaemonFailure)) throw error;
}

interface Subscription {
  readonly id: string;
  readonly monitor: Monitor;
}

async function subscribe(
  connection: JsonRpcConnection,
  { id, monitor }: Subscription,
  timeoutMs: number,
): Promise<void> {
  const tables = Object.entries(monitor.tables).map(([table, columns]) => [table, { columns }] as const);
  const params = [monitor.database, id, Object.fromEntries(tables)];
  await connection.request('monitor', params, { timeoutMs, onAnswer: (contents) => monitor.begin(contents) });
}

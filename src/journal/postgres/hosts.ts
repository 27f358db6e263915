// Finds the host that is to be used among those of the URL: tried in turn, each for a limited time, until one accepts
// writes. After every loss the search begins anew. It must never return a suspected host without checking it again.
import { Client, type ClientConfig, DatabaseError } from 'pg';
import { classifyPostgresError } from './failure.ts';
import { type TlsConfig, tlsAttempts } from './tls.ts';
import { describeHost, type PostgresHost, type PostgresUrl } from './url.ts';
import { StoreUnavailable, StoreUnusable } from '../store.ts';

/** The server that is used, until it is lost. The same object as long as it is the same server. */
export interface PostgresServer {
  readonly host: PostgresHost;
  readonly tls: TlsConfig;
  /** Another process at the same address has another one. */
  readonly startedAt: string;
}

/** `lost`: it closed a connection, so it may answer again at once. `silent`: other hosts are tried first. */
export type Suspicion = 'lost' | 'silent';

// Every prepared statement finds its rows by key, whatever its values: planning it anew for each group costs more than running
// it. Options in the connection string replace this.
const KEEP_PLANS = '-c plan_cache_mode=force_generic_plan';
// What a statement reads after it waited for the head row must be what is there by then, also without a BEGIN that says so.
const FRESH_SNAPSHOTS = String.raw`-c default_transaction_isolation=read\ committed`;
// A peer that is gone without a word is noticed after this and ten probes, one a second.
const KEEPALIVE_AFTER_MS = 2000;

const PROBE_SQL = `SELECT pg_is_in_recovery() AS in_recovery, current_setting('transaction_read_only') = 'on' AS read_only,
  pg_postmaster_start_time()::text AS started_at`;

interface ProbeRow {
  readonly in_recovery: boolean;
  readonly read_only: boolean;
  readonly started_at: string;
}

type Probe = { readonly server: PostgresServer } | { readonly refusal: string; readonly error: unknown };

export class PostgresHosts {
  readonly #url: PostgresUrl;
  readonly #moveListeners = new Set<(from: PostgresServer) => void>();
  #server: PostgresServer | undefined;
  #suspicion: Suspicion | undefined;
  #search: Promise<PostgresServer> | undefined;

  constructor(url: PostgresUrl) {
    this.#url = url;
  }

  /** The server to use; searched for when none is known or the known one is suspected. */
  current(): Promise<PostgresServer> {
    if (this.#server !== undefined && this.#suspicion === undefined) return Promise.resolve(this.#server);
    this.#search ??= this.#find().finally(() => {
      this.#search = undefined;
    });
    return this.#search;
  }

  /** A connection to this server failed in a way that may be the server's end. */
  suspect(server: PostgresServer, doubt: Suspicion): void {
    if (this.#server === server) this.#suspicion = doubt;
  }

  /** Called when another server is used from now on: connections to the earlier one are closed. */
  onMoved(listener: (from: PostgresServer) => void): void {
    this.#moveListeners.add(listener);
  }

  config({ host, tls }: Pick<PostgresServer, 'host' | 'tls'>): ClientConfig {
    const { user, password, database, options, applicationName, statementTimeoutMs, connectTimeoutMs } = this.#url;
    return {
      ...host,
      ...(user !== undefined && { user }),
      ...(password !== undefined && { password }),
      ...(database !== undefined && { database }),
      ssl: tls,
      application_name: applicationName ?? 'muster',
      connectionTimeoutMillis: connectTimeoutMs,
      ...(statementTimeoutMs !== undefined && { statement_timeout: statementTimeoutMs }),
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEPALIVE_AFTER_MS,
      options: options ?? `${KEEP_PLANS} ${FRESH_SNAPSHOTS}`,
    };
  }

  async #find(): Promise<PostgresServer> {
    const refusals: Exclude<Probe, { server: unknown }>[] = [];
    for (const host of this.#hostsInOrder()) {
      const probe = await this.#probe(host);
      if ('server' in probe) return this.#use(probe.server);
      refusals.push(probe);
    }
    throw noServerError(refusals);
  }

  /** Begins with the one that was used last, unless that one did not answer. */
  #hostsInOrder(): readonly PostgresHost[] {
    const { hosts } = this.#url;
    const used = hosts.findIndex((host) => host === this.#server?.host);
    const first = used === -1 ? 0 : this.#suspicion === 'silent' ? used + 1 : used;
    return [...hosts.slice(first), ...hosts.slice(0, first)];
  }

  #use(found: PostgresServer): PostgresServer {
    this.#suspicion = undefined;
    const before = this.#server;
    if (before !== undefined && before.host === found.host && before.startedAt === found.startedAt) return before;
    this.#server = found;
    if (before !== undefined) for (const listener of this.#moveListeners) listener(before);
    return found;
  }

  async #probe(host: PostgresHost): Promise<Probe> {
    try {
      const attempts = await tlsAttempts(this.#url.tls, host.host);
      for (const [nth, tls] of attempts.entries()) {
        const probe = await this.#connectAndProbe(host, tls);
        if ('server' in probe || nth === attempts.length - 1 || !mayBeTlsFailure(probe.error)) return probe;
      }
    } catch (error) {
      if (error instanceof StoreUnavailable) return { refusal: error.message, error };
      throw error;
    }
    throw new Error('no way to connect was tried');
  }

  async #connectAndProbe(host: PostgresHost, tls: TlsConfig): Promise<Probe> {
    const { connectTimeoutMs, target } = this.#url;
    const client = new Client({ ...this.config({ host, tls }), query_timeout: connectTimeoutMs });
    client.on('error', () => {}); // whatever it is, the call that is under way fails by it
    try {
      await client.connect();
      const row = (await client.query<ProbeRow>(PROBE_SQL)).rows[0];
      if (row === undefined) throw new Error('it does not say whether it accepts writes');
      const refusal = target === 'any' ? undefined : unfitReason(row, target);
      if (refusal !== undefined) return { refusal: `${describeHost(host)} ${refusal}`, error: undefined };
      return { server: { host, tls, startedAt: row.started_at } };
    } catch (error) {
      return { refusal: `${describeHost(host)}: ${describeError(error, connectTimeoutMs)}`, error };
    } finally {
      client.end().catch(() => {}); // it is not needed any more, however it ends
    }
  }
}

function unfitReason({ in_recovery, read_only }: ProbeRow, target: 'read-write' | 'primary'): string | undefined {
  if (in_recovery) return 'is a standby';
  return read_only && target === 'read-write' ? 'accepts no writes (default_transaction_read_only)' : undefined;
}

/** Whether the next way to connect may succeed where this one did not. A host that is away, or a wrong password, stays so. */
function mayBeTlsFailure(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.code === '28000'; // pg_hba.conf has a line for clear connections only
  const { code, message } = error as NodeJS.ErrnoException;
  if (message.includes('SSL')) return true; // "does not support SSL connections"
  return code !== undefined && /^(?:ERR_SSL|ERR_TLS|EPROTO|ECONNRESET)/.test(code);
}

const TIMED_OUT = /timeout expired|Query read timeout|connection timeout/i;

function describeError(error: unknown, timeoutMs: number): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (TIMED_OUT.test(message)) return `no answer within ${timeoutMs / 1000} s`;
  if (code === 'ECONNREFUSED') return 'nothing listens there';
  return message === '' ? (code ?? 'no connection') : message;
}

/** One host fails as it always did; of several each is named with what it said. */
function noServerError(refusals: readonly Exclude<Probe, { server: unknown }>[]): unknown {
  const [first] = refusals;
  const failures = refusals.map(({ refusal, error }) =>
    error === undefined ? new StoreUnavailable(refusal, { outcome: 'failed' }) : classifyPostgresError(error),
  );
  const text = refusals.map(({ refusal }) => refusal).join('; ');
  // A bug is to be seen as it is.
  const bug = failures.find((one) => !(one instanceof StoreUnavailable) && !(one instanceof StoreUnusable));
  if (bug !== undefined) return bug;
  if (failures.every((one) => one instanceof StoreUnusable)) {
    return new StoreUnusable('postgres-refused', `PostgreSQL refuses this program: ${text}`);
  }
  const message =
    refusals.length > 1 ? `none of ${refusals.length} PostgreSQL hosts can be used: ${text}` : `PostgreSQL ${text}`;
  return new StoreUnavailable(message, { outcome: 'failed', cause: first?.error });
}

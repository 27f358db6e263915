// The monitored tables of a caller: a replica with the latest received state, and a notification of every change. While the connection is
// lost the replica stays as it was; afterwards listeners are notified of the differences.
import type { Clock } from '../../../journal/index.ts';
import { withTimeout } from '../transport/deadline.ts';
import { ClientClosed, RequestTimedOut } from '../transport/failures.ts';
import { Replica, type RowChange } from './replica.ts';
import type { OvsdbRow } from './value.ts';

/** The requested columns of each table. */
export type MonitoredTables = Readonly<Record<string, readonly string[]>>;

/** Called after the replica has changed, with all changes of one update. Must not throw: that would reset the connection. */
export type ChangeListener = (changes: readonly RowChange[]) => void;

export class Monitor {
  readonly database: string;
  readonly tables: MonitoredTables;
  readonly #replica: Replica;
  readonly #clock: Clock;
  readonly #listeners = new Set<ChangeListener>();
  readonly #closed = new AbortController();

  constructor(database: string, tables: MonitoredTables, clock: Clock) {
    this.database = database;
    this.tables = tables;
    this.#replica = new Replica(Object.keys(tables));
    this.#clock = clock;
  }

  /** The rows by their UUID. Throws when the table is not monitored. */
  table(name: string): ReadonlyMap<string, OvsdbRow> {
    return this.#replica.table(name);
  }

  /** Returns how to unsubscribe. */
  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Waits until `find` returns a value for the replica. `what` is for the error message when it does not. */
  async waitFor<T>(find: () => T | undefined, wait: { readonly what: string; readonly timeoutMs: number }): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const onClosed = (): void => reject(new ClientClosed());
    const checkAgain = (): void => {
      const found = find();
      if (found !== undefined) resolve(found);
    };
    const stop = this.onChange(checkAgain);
    this.#closed.signal.addEventListener('abort', onClosed, { once: true });
    if (this.#closed.signal.aborted) onClosed();
    const { what, timeoutMs } = wait;
    const failure = (): Error => new RequestTimedOut(`not within ${timeoutMs} ms: ${what}`);
    try {
      checkAgain();
      return await withTimeout(promise, { clock: this.#clock, timeoutMs, failure });
    } finally {
      stop();
      this.#closed.signal.removeEventListener('abort', onClosed);
    }
  }

  /** The whole replica, at the beginning of every connection. */
  begin(contents: unknown): void {
    this.#notify(this.#replica.replace(contents));
  }

  update(updates: unknown): void {
    this.#notify(this.#replica.update(updates));
  }

  close(): void {
    this.#closed.abort();
    this.#listeners.clear();
  }

  #notify(changes: readonly RowChange[]): void {
    if (changes.length === 0) return;
    for (const listener of [...this.#listeners]) listener(changes);
  }
}

// What an error of SQLite means to a caller: try again later, a person has to act, or a bug that passes through as it is.
import { StoreUnavailable, StoreUnusable } from '../store.ts';

// Primary result codes, see sqlite.org/rescode.html; the extended ones carry them in their low byte.
const RETRYABLE: ReadonlyMap<number, string> = new Map([
  [5, 'another process holds the database'],
  [6, 'a table is locked'],
  [10, 'the disk reports an error'],
  [13, 'the disk is full'],
]);
const OPERATOR_NEEDED: ReadonlyMap<number, readonly [code: string, sentence: string]> = new Map([
  [8, ['sqlite-read-only', 'the database file is read-only']],
  [11, ['sqlite-corrupt', 'the database file is damaged']],
  [14, ['sqlite-cannot-open', 'the database file cannot be opened']],
  [26, ['sqlite-not-a-database', 'the file is not a SQLite database']],
]);

/** A table or a column that our own statements name: the schema was checked by its version, so its text is damaged. */
const SCHEMA_DAMAGED = /^no such (?:table|column)|^malformed database schema/;

/** The caller has rolled back: nothing of a failed group is there. */
export function classifySqliteError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if ('code' in error && error.code === 'ERR_INVALID_STATE') {
    return new StoreUnavailable('the store is closed', { outcome: 'failed', cause: error });
  }
  if (!('errcode' in error) || typeof error.errcode !== 'number') return error;
  const primary = error.errcode & 0xff;
  const why = RETRYABLE.get(primary);
  if (why !== undefined) return new StoreUnavailable(`SQLite: ${why}`, { outcome: 'failed', cause: error });
  if (SCHEMA_DAMAGED.test(error.message))
    return new StoreUnusable('sqlite-corrupt', `SQLite: the tables are not as Muster made them (${error.message})`);
  const act = OPERATOR_NEEDED.get(primary);
  return act === undefined ? error : new StoreUnusable(act[0], `SQLite: ${act[1]} (${error.message})`);
}

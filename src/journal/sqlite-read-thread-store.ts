// The other end of `SqliteReader`: a thread with a read-only connection of its own. It must never write: the lease is renewed
// on the main thread's connection, and readers do not hold that up.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { SqliteReads } from './sqlite-reads-store.ts';
import type { HistoryPage, HistoryQuery, Position, ReadAnswer } from './store.ts';

export type ReadQuestion =
  | { readonly kind: 'read'; readonly after: Position; readonly limit: number }
  | { readonly kind: 'history'; readonly query: HistoryQuery };

/** Undefined asks it to end. */
export type ToReader = (ReadQuestion & { readonly serial: number }) | undefined;

export type FromReader = { readonly serial: number } & (
  | { readonly kind: 'answered'; readonly answer: ReadAnswer | HistoryPage }
  /** What `sqliteFailure` has to know of an error. */
  | { readonly kind: 'failed'; readonly message: string; readonly code: unknown; readonly errcode: unknown }
);

/** Only while a schema is changed or the file is recovered does a reader wait for a lock at all. */
const BUSY_TIMEOUT_MS = 2000;

const database = new DatabaseSync(workerData as string, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
const reads = new SqliteReads(database);

parentPort?.on('message', (question: ToReader) => {
  if (question === undefined) {
    database.close();
    parentPort?.close();
  } else parentPort?.postMessage(answerTo(question), []);
});

function answerTo(question: Exclude<ToReader, undefined>): FromReader {
  const { serial } = question;
  try {
    return { serial, kind: 'answered', answer: ask(question) };
  } catch (error) {
    const { message, code, errcode } = error as Error & { readonly code?: unknown; readonly errcode?: unknown };
    return { serial, kind: 'failed', message, code, errcode };
  }
}

function ask(question: ReadQuestion): ReadAnswer | HistoryPage {
  return question.kind === 'read' ? reads.read(question.after, question.limit) : reads.history(question.query);
}

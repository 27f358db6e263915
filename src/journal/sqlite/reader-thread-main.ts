// The other end of `SqliteReaderThread`: a thread with read-only connections of its own. It must never write: the lease is renewed
// on the main thread's connection, and readers do not hold that up.
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { SqliteCommitQueries } from './commit-queries.ts';
import { readSnapshot, type SnapshotPage } from './snapshot.ts';
import type { HistoryPage, HistoryQuery, Position, ReadAnswer, SnapshotAnswer } from '../store.ts';

export type ReaderQuery =
  | { readonly kind: 'read'; readonly after: Position; readonly limit: number }
  | { readonly kind: 'history'; readonly query: HistoryQuery }
  /** The pages of a snapshot are requested one by one: the consumer sets the speed, and other requests are answered in between. */
  | { readonly kind: 'snapshot'; readonly snapshot: number; readonly step: 'begin' | 'next' | 'drop' };

/** Either the next page, or the end of a snapshot. */
export type SnapshotStep =
  { readonly kind: 'page'; readonly page: SnapshotPage } | { readonly kind: 'end'; readonly answer: SnapshotAnswer };

export type ReaderAnswer = ReadAnswer | HistoryPage | SnapshotStep | undefined;

/** Undefined is the order to end. */
export type ReaderRequest = (ReaderQuery & { readonly serial: number }) | undefined;

export type ReaderReply = { readonly serial: number } & (
  | { readonly kind: 'answered'; readonly answer: ReaderAnswer }
  /** What `classifySqliteError` has to know of an error. */
  | { readonly kind: 'failed'; readonly message: string; readonly code: unknown; readonly errcode: unknown }
);

interface OpenSnapshot {
  readonly database: DatabaseSync;
  readonly pages: Generator<SnapshotPage, SnapshotAnswer>;
}

/** Only while a schema is changed or the file is recovered does a reader wait for a lock at all. */
const BUSY_TIMEOUT_MS = 2000;

const database = connectReadOnly();
const reads = new SqliteCommitQueries(database);
const snapshots = new Map<number, OpenSnapshot>();

parentPort?.on('message', (question: ReaderRequest) => {
  if (question === undefined) {
    for (const snapshot of snapshots.keys()) drop(snapshot);
    database.close();
    parentPort?.close();
  } else parentPort?.postMessage(answerTo(question), []);
});

function connectReadOnly(): DatabaseSync {
  return new DatabaseSync(workerData as string, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
}

function answerTo(question: Exclude<ReaderRequest, undefined>): ReaderReply {
  const { serial } = question;
  try {
    return { serial, kind: 'answered', answer: ask(question) };
  } catch (error) {
    if (question.kind === 'snapshot') drop(question.snapshot);
    const { message, code, errcode } = error as Error & { readonly code?: unknown; readonly errcode?: unknown };
    return { serial, kind: 'failed', message, code, errcode };
  }
}

function ask(question: ReaderQuery): ReaderAnswer {
  switch (question.kind) {
    case 'read':
      return reads.read(question.after, question.limit);
    case 'history':
      return reads.history(question.query);
    case 'snapshot':
      return stepSnapshot(question.snapshot, question.step);
  }
}

function stepSnapshot(snapshot: number, step: 'begin' | 'next' | 'drop'): SnapshotStep | undefined {
  if (step === 'drop') {
    drop(snapshot);
    return undefined;
  }
  const { pages } = step === 'begin' ? beginSnapshot(snapshot) : openSnapshot(snapshot);
  const { done, value } = pages.next();
  if (done !== true) return { kind: 'page', page: value };
  drop(snapshot);
  return { kind: 'end', answer: value };
}

/** On a connection of its own: its transaction stays open while other questions are answered. */
function beginSnapshot(snapshot: number): OpenSnapshot {
  const own = connectReadOnly();
  own.exec('BEGIN');
  const reading = { database: own, pages: readSnapshot(own) };
  snapshots.set(snapshot, reading);
  return reading;
}

function openSnapshot(snapshot: number): OpenSnapshot {
  const open = snapshots.get(snapshot);
  if (open === undefined) throw new Error('the thread that began this snapshot has ended');
  return open;
}

function drop(snapshot: number): void {
  snapshots.get(snapshot)?.database.close();
  snapshots.delete(snapshot);
}

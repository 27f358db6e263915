// The other end of `SqliteWriterThread`: a thread with a connection of its own that writes one group after the other.
import { parentPort, workerData } from 'node:worker_threads';
import { type FlatGroup, unflattenGroup } from '../flat-group.ts';
import { SqliteGroupWriter } from './group-writer.ts';
import { monotonicMs } from './lease-clock.ts';
import { connect } from './schema.ts';
import type { CommitGroup, WriteAnswer } from '../store.ts';

/** Undefined is the order to end. */
export type WriterRequest =
  (Omit<CommitGroup, 'batches'> & { readonly batches: FlatGroup; readonly clockOffsetMs: number }) | undefined;

export type WriterReply =
  /** It has opened the file. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'answered'; readonly written: WriteAnswer }
  /** What `classifySqliteError` has to know of an error. */
  | { readonly kind: 'failed'; readonly message: string; readonly code: unknown; readonly errcode: unknown };

/** The store's clock is a function, and stays with it: this is how far it is from the monotonic clock. */
let clockOffsetMs = 0;
const database = connect(workerData as string);
const groups = new SqliteGroupWriter(database, () => Math.floor(monotonicMs() + clockOffsetMs));

parentPort?.on('message', (request: WriterRequest) => {
  if (request === undefined) {
    database.close();
    parentPort?.close();
  } else parentPort?.postMessage(answerTo(request), []);
});

const ready: WriterReply = { kind: 'ready' };
parentPort?.postMessage(ready, []);

function answerTo({ batches, ...group }: Exclude<WriterRequest, undefined>): WriterReply {
  clockOffsetMs = group.clockOffsetMs;
  try {
    return { kind: 'answered', written: groups.write({ ...group, batches: unflattenGroup(batches) }) };
  } catch (error) {
    const { message, code, errcode } = error as Error & { readonly code?: unknown; readonly errcode?: unknown };
    return { kind: 'failed', message, code, errcode };
  }
}

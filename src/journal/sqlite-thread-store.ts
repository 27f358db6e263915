// The other end of `SqliteWriter`: a thread with a connection of its own that writes one group after the other.
import { parentPort, workerData } from 'node:worker_threads';
import { type FlatGroup, groupFrom } from './flat-group.ts';
import { SqliteGroups } from './sqlite-group-store.ts';
import { connect } from './sqlite-schema-store.ts';
import type { Group, Written } from './store.ts';

/** Undefined asks it to end. */
export type ToThread =
  (Omit<Group, 'batches'> & { readonly batches: FlatGroup; readonly clockSkewMs: number }) | undefined;

export type FromThread =
  /** It has opened the file. */
  | { readonly kind: 'ready' }
  | { readonly kind: 'answered'; readonly written: Written }
  /** What `sqliteFailure` has to know of an error. */
  | { readonly kind: 'failed'; readonly message: string; readonly code: unknown; readonly errcode: unknown };

/** The store's clock is a function, and stays with it: this is how far it is from this thread's. */
let clockSkewMs = 0;
const database = connect(workerData as string);
const groups = new SqliteGroups(database, () => Date.now() + clockSkewMs);

parentPort?.on('message', (asked: ToThread) => {
  if (asked === undefined) {
    database.close();
    parentPort?.close();
  } else parentPort?.postMessage(answerTo(asked), []);
});

const ready: FromThread = { kind: 'ready' };
parentPort?.postMessage(ready, []);

function answerTo({ batches, ...group }: Exclude<ToThread, undefined>): FromThread {
  clockSkewMs = group.clockSkewMs;
  try {
    return { kind: 'answered', written: groups.write({ ...group, batches: groupFrom(batches) }) };
  } catch (error) {
    const { message, code, errcode } = error as Error & { readonly code?: unknown; readonly errcode?: unknown };
    return { kind: 'failed', message, code, errcode };
  }
}

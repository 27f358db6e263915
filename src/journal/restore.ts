// The target of a restore: its state, and the failures with their sentences.
import type { DumpHead, DumpSink } from './dump.ts';
import { StoreUnusable } from './store.ts';

export interface RestoreTarget extends Omit<DumpSink, 'head'> {
  /** A new one: agents and watchers notice that this is not the journal that they followed. */
  readonly journalId: string;
  /** Demands that the store is empty, and marks it: until `finish`, no server starts on it. */
  begin(mark: string): Promise<void>;
  finish(head: DumpHead): Promise<void>;
  /** Without `finish`, nothing but the mark stays. */
  close(): Promise<void>;
}

export function storeNotEmptyError(name: string): StoreUnusable {
  return new StoreUnusable(
    'store-not-empty',
    `${name} is not empty, and a backup is restored into an empty store only: name another folder or database, or move this one away`,
  );
}

export function halfRestoredError(name: string, mark: string): StoreUnusable {
  return new StoreUnusable(
    'half-restored',
    `${name} is half restored (from the backup with digest ${mark}): run "muster restore" again`,
  );
}

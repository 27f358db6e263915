// A whole store at one moment, read from beginning to end: what verifying, backups and repairs are made of.
import type { CommitRow } from './commit-row.ts';
import type { LoadedHead, ResourceRow } from './load-check.ts';

export interface DumpHead extends LoadedHead {
  readonly journalId: string;
}

/** Reads the text of one document as of the same moment as the dump. */
export type FindDocument = (kind: string, id: string) => Promise<string | undefined>;

/** Takes a store apart, in this order: the head, documents in pages, commits in pages from the oldest on. */
export interface DumpSink {
  /** `find` is there when the dump is of a store. A backup file is read once, from its beginning. */
  head(head: DumpHead, find?: FindDocument): void | Promise<void>;
  resources(page: readonly ResourceRow[]): void | Promise<void>;
  commits(page: readonly CommitRow[]): void | Promise<void>;
}

/** A store that is only read, also while a server writes to it. */
export interface StoreReader {
  dump(sink: DumpSink): Promise<void>;
  close(): Promise<void>;
}

/** Documents or commits in a page: those of the largest kind stay below 64 MiB. */
export const DUMP_PAGE = 1000;

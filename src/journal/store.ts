// The store port: write a group of commits atomically, read them back, hold leases. Three implementations pass one
// contract suite. A store knows nothing of fleets: bodies are text to it. It continues the hash chain with every group that
// it writes, and checks it with everything that it reads.
import type { Damage } from './damage.ts';
import type { ResourceKey } from './resource-key.ts';

/** One change as the store keeps it: `body` is JSON text, null for a deletion. */
export interface TextChange {
  readonly kind: string;
  readonly id: string;
  readonly body: string | null;
}

/** What must hold when a commit is written, checked inside its transaction. */
export type Precondition =
  | { readonly kind: 'at'; readonly resource: ResourceKey; readonly revision: number }
  | { readonly kind: 'absent'; readonly resource: ResourceKey };

/** Who, when, why: the audit part of a commit. */
export interface CommitNote {
  /** Unique for ever; by it a commit whose answer was lost is found again. */
  readonly id: string;
  readonly atMs: number;
  readonly by: string;
  readonly why?: string;
  readonly operation?: string;
}

export interface TextCommit extends CommitNote {
  readonly changes: readonly TextChange[];
}

export interface CommitBatch extends TextCommit {
  readonly preconditions: readonly Precondition[];
}

/** The lease under which a group is written. A stale epoch, or a lease that has run out, refuses the group. */
export interface Fence {
  readonly lease: string;
  readonly epoch: number;
  /**
   * Who holds it. A store that fell back to an older state may give out an epoch twice, to two servers: then this distinguishes
   * them apart.
   */
  readonly holder?: string;
}

/** Commits that are written together or not at all, in one transaction with one flush to disk. */
export interface CommitGroup {
  readonly batches: readonly CommitBatch[];
  readonly fence?: Fence;
  /** The revision the batches were decided on; another head refuses the group. */
  readonly expectedHead?: number;
}

export type WriteConflict =
  | { readonly kind: 'head'; readonly expected: number; readonly actual: number }
  | {
      readonly kind: 'lease';
      readonly lease: string;
      readonly epoch: number;
      readonly actualEpoch: number;
      readonly expired: boolean;
    }
  | {
      readonly kind: 'resource';
      /** Which batch of the group. */
      readonly batch: number;
      readonly resource: ResourceKey;
      readonly expected: number | 'absent';
      readonly actual: number | 'absent';
    };

export type WriteAnswer =
  /** `revision` and `hash` are those of the last batch; the group's batches have the revisions just before it, without a gap. */
  | { readonly kind: 'written'; readonly revision: number; readonly hash?: string }
  | { readonly kind: 'conflict'; readonly conflict: WriteConflict };

export interface StoredCommit extends TextCommit {
  readonly revision: number;
  /** Over its content and the hash before it. Commits of a version without the chain have none. */
  readonly hash?: string;
}

/** Where a reader stands: the last commit it has. `commitId` and `hash` are undefined at revision 0. */
export interface Position {
  readonly revision: number;
  readonly commitId?: string;
  readonly hash?: string;
}

/** The position of a snapshot, and what was found wrong while it was read. */
export interface SnapshotAnswer extends Position {
  readonly damage: readonly Damage[];
}

export type ReadAnswer =
  | { readonly kind: 'commits'; readonly commits: readonly StoredCommit[]; readonly head: number }
  /** The revisions after the position are compacted: `oldest` is the lowest one that can still be read. */
  | { readonly kind: 'gone'; readonly oldest: number }
  /** The store has another commit at that revision, or does not reach it: it is not the journal that was followed. */
  | { readonly kind: 'diverged'; readonly head: number }
  /** Commits after the position are missing or do not match the hash chain. */
  | { readonly kind: 'damaged'; readonly damage: Damage };

export interface StoredResource {
  readonly kind: string;
  readonly id: string;
  readonly revision: number;
  readonly body: string;
}

export interface HistoryQuery {
  readonly kind?: string;
  readonly id?: string;
  readonly operation?: string;
  /** Only commits below this revision, newest first. */
  readonly before?: number;
  readonly limit: number;
}

/**
 * Commits that match, newest first. A query by kind answers the changes of that kind (and id) only: a commit that joined a
 * thousand hosts costs the reader of one host one document.
 */
export interface HistoryPage {
  readonly commits: readonly StoredCommit[];
  /** The `before` of the next page; absent when nothing older matches. A page may end early: see `page-bytes.ts`. */
  readonly next?: number;
}

export interface LeaseRequest {
  readonly name: string;
  readonly holder: string;
  /** Where the holder answers: others forward to it. */
  readonly url: string;
  readonly ttlMs: number;
  /**
   * What it ends with. `session` (the default): also with the session that its holder, a server, has with the store. `time`: with its time or
   * a release alone, since the holder is another program; it is renewed through any store on the same data. All requests for one lease say
   * the same.
   */
  readonly endsWith?: 'session' | 'time';
}

/** The lease that is waited for, and until when. */
export interface VacancyWait {
  readonly name: string;
  readonly signal: AbortSignal;
}

export interface Lease {
  readonly name: string;
  readonly holder: string;
  readonly url: string;
  /** Grows at every change of holder, never goes down. */
  readonly epoch: number;
  /** How long it is still good for, on the store's clock; 0 or less when it has run out. */
  readonly expiresInMs: number;
}

export type LeaseAnswer =
  { readonly kind: 'held'; readonly lease: Lease } | { readonly kind: 'refused'; readonly lease: Lease | undefined };

export interface Store {
  /** Which journal this is; made once, with the schema. */
  readonly journalId: string;
  write(group: CommitGroup): Promise<WriteAnswer>;
  /** The commits after a position, oldest first, at most `limit` and at most a page of bytes: read on until `head`. */
  read(after: Position, limit: number): Promise<ReadAnswer>;
  /** Every resource at one revision, in pages; answers the position of that revision, and what is damaged. */
  snapshot(take: (page: readonly StoredResource[]) => void): Promise<SnapshotAnswer>;
  history(query: HistoryQuery): Promise<HistoryPage>;
  /** Resolves when there may be commits after `revision`, or when `signal` is aborted. Only a hint: it may be early or never. */
  waitForChange(revision: number, signal: AbortSignal): Promise<void>;
  /** Forgets up to `limit` of the oldest commits made before `beforeMs`, never the newest one. Answers how many went. */
  compact(beforeMs: number, limit: number): Promise<number>;
  /**
   * Takes the lease under the next epoch when it has run out, or when it ends with its holder's session with the store and that has
   * ended: what is left of its time means nothing then, since the old epoch is refused from now on.
   */
  acquireLease(request: LeaseRequest): Promise<LeaseAnswer>;
  renewLease(request: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer>;
  releaseLease(name: string, epoch: number): Promise<void>;
  readLease(name: string): Promise<Lease | undefined>;
  /** All leases whose names begin with this, sorted by name; also those that have run out. */
  readLeases(prefix: string): Promise<readonly Lease[]>;
  /**
   * Resolves when the lease may have no live holder any more (for its holder: when its own session has ended), or when `signal`
   * is aborted. Only a hint that it is time to request the lease: it may come early or never.
   */
  awaitVacancy(wait: VacancyWait): Promise<void>;
  close(): Promise<void>;
}

/**
 * The store could not be reached or could not write. `outcome` says whether a group may be there all the same: only
 * `unknown` has to be resolved by commit id.
 */
export class StoreUnavailable extends Error {
  readonly code = 'store-unavailable';
  readonly retryable = true;
  readonly outcome: 'failed' | 'unknown';

  constructor(message: string, options: { readonly outcome: 'failed' | 'unknown'; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.name = 'StoreUnavailable';
    this.outcome = options.outcome;
  }
}

/** The store cannot be used by this program as it is: a newer schema, an unsafe setting. A person has to act. */
export class StoreUnusable extends Error {
  readonly code: string;
  readonly retryable = false;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'StoreUnusable';
    this.code = code;
  }
}

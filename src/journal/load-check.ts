// What is checked while a store is loaded: every document against its digest, all of them against the totals of the head, the
// end of the log against the hash chain. Cheap enough for every start; `muster verify` checks the whole log.
import { digestDocument, type ChainPosition, type Sha256 } from './chain.ts';
import { ChainWalk } from './chain-walk.ts';
import type { CommitRow } from './commit-row.ts';
import type { Damage, DocumentTotals } from './damage.ts';
import { decodeRow, type StoredHead } from './read-answer.ts';
import type { StoredResource } from './store.ts';

/** Beyond so many findings the rest says nothing new. */
const FINDINGS_MAX = 100;

/** So many of the newest commits are checked at a start: what a crash can damage is at the end. Some milliseconds. */
const TAIL_CHECKED = 1000;

/** And of those no more than this, if the last one is not larger itself: a commit may have a thousand changes, and they are read into memory. */
const TAIL_BYTES_MAX = 4 * 1024 * 1024;

/** Up to so many commits are searched for gaps at a start: reading more would hold it up. */
export const GAP_SEARCH_MAX = 100_000;

/** A document as it lies in the database. Those written before the hash chain have no digest. */
export interface ResourceRow extends StoredResource {
  readonly digest: string | null;
}

export interface LoadedHead extends StoredHead {
  readonly commitId: string | null;
  readonly hash: string | null;
  /** Undefined when a server of an older version wrote last and they were not counted since. */
  readonly totals: DocumentTotals | undefined;
}

/** The part of the log that a start checks. */
export interface LogTail {
  /** The commit before the first of `rows`. */
  readonly after: ChainPosition;
  /** The newest commits, oldest first; also those above the head, which must not be. */
  readonly rows: readonly CommitRow[];
  /** Revisions that are missing below the newest commit, in the checked part. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
}

/** A start never checks the log before this revision. */
export function tailFloor({ revision, floorRevision }: Pick<StoredHead, 'revision' | 'floorRevision'>): number {
  return Math.max(floorRevision, revision - TAIL_CHECKED);
}

/** The revision after which a start checks the log, from the sizes of the commits after the earliest one, newest first. */
export function tailStart(
  earliest: number,
  sizes: readonly { readonly revision: number; readonly bytes: number }[],
): number {
  let [start, sum] = [Infinity, 0];
  for (const { revision, bytes } of sizes) {
    sum += bytes;
    if (sum > TAIL_BYTES_MAX && start !== Infinity) return start;
    start = revision - 1;
  }
  return earliest;
}

export class LoadCheck {
  readonly #sha256: Sha256;
  readonly #damage: Damage[] = [];
  #count = 0;
  #revisionSum = 0;

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  /** Takes the next document; answers it without what only the check needs. */
  take({ kind, id, revision, body, digest }: ResourceRow): StoredResource {
    this.#count += 1;
    this.#revisionSum += revision;
    const document = { kind, id, revision, body };
    if (digest !== null && digest !== digestDocument(this.#sha256, document)) {
      this.#report({ kind: 'document', resource: [kind, id], revision });
    }
    return document;
  }

  /** All documents were taken. */
  finish(head: LoadedHead, log: LogTail): readonly Damage[] {
    const actual = { count: this.#count, revisionSum: this.#revisionSum };
    const { totals = actual } = head;
    if (actual.count !== totals.count || actual.revisionSum !== totals.revisionSum) {
      this.#report({ kind: 'documents', expected: totals, actual });
    }
    for (const damage of logDamage(this.#sha256, head, log)) this.#report(damage);
    return this.#damage;
  }

  #report(damage: Damage): void {
    if (this.#damage.length < FINDINGS_MAX) this.#damage.push(damage);
  }
}

function* logDamage(sha256: Sha256, head: LoadedHead, { after, rows, gaps }: LogTail): Generator<Damage> {
  for (const { from, to } of gaps) yield { kind: 'missing-commits', from, to };
  const walk = new ChainWalk(sha256, { after, chainedFrom: head.chainedFrom });
  for (const row of rows) {
    const commit = decodeRow(row);
    const damage =
      commit === undefined ? walk.skip({ revision: Number(row.revision), hash: row.hash }) : walk.take(commit);
    const isKnown =
      damage?.kind === 'missing-commits' && gaps.some(({ from, to }) => from <= damage.from && to >= damage.to);
    if (damage !== undefined && !isKnown) yield damage;
  }
  const missing = walk.end(head.revision);
  if (missing === undefined) yield* headDamage(head, rows.at(-1));
  else yield missing;
}

/** The head must name the newest commit, which at the floor is the last one that was compacted. */
function* headDamage(head: LoadedHead, newest: CommitRow | undefined): Generator<Damage> {
  const last = newest ?? { revision: head.floorRevision, id: head.floorCommitId, hash: head.floorHash };
  const { revision } = head;
  if (Number(last.revision) !== revision || last.id !== head.commitId || last.hash !== head.hash) {
    yield { kind: 'head', revision, lastCommit: Number(last.revision) };
  }
}

/** Pairs of revisions between which commits are missing. `floor` and `table` are SQL. */
export function gapsSql(floor: string, table: string): string {
  return `SELECT before + 1 AS gap_from, revision - 1 AS gap_to FROM (
      SELECT revision, lag(revision, 1, ${floor}) OVER (ORDER BY revision) AS before FROM ${table}) AS pairs
    WHERE revision <> before + 1 ORDER BY revision LIMIT ${FINDINGS_MAX}`;
}

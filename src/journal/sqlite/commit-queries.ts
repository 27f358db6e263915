// Reading commits from SQLite, on whichever connection and thread: following, and history. Each answer is bounded by rows and
// by bytes.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { COMMIT_COLUMNS, type CommitRow, commitOf } from '../commit-row.ts';
import { historySql } from '../history-sql.ts';
import { chooseHistoryPage, PAGE_BYTES_MAX, type SizedCommit } from '../page-bytes.ts';
import { readAnswer, type StoredHead } from '../read-answer.ts';
import { sha256 } from '../sha256-store.ts';
import { SqliteTransactions } from './transactions.ts';
import type { HistoryPage, HistoryQuery, Position, ReadAnswer } from '../store.ts';

interface RevisionRow {
  readonly revision: number;
  readonly floor_revision: number;
  readonly floor_commit_id: string | null;
  readonly floor_hash: string | null;
  readonly chained_from: number | null;
}

interface FoundPage {
  readonly rows: readonly CommitRow[];
  readonly isFull: boolean;
}

export class SqliteCommitQueries {
  readonly #database: DatabaseSync;
  readonly #transactions: SqliteTransactions;
  readonly #sql: ReturnType<typeof prepareAll>;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#transactions = new SqliteTransactions(database);
    this.#sql = prepareAll(database);
  }

  read(after: Position, limit: number): ReadAnswer {
    return this.#transactions.run('read', () => {
      const found = this.#rowsFrom(after.revision, limit + 1);
      return readAnswer(after, limit, { head: this.#head(), ...found }, sha256);
    });
  }

  /** The position's own commit and the ones after it, until a page is full. */
  #rowsFrom(revision: number, limit: number): FoundPage {
    const rows: CommitRow[] = [];
    let chars = 0;
    for (const one of this.#sql.readFrom.iterate(revision, limit)) {
      const row = one as unknown as CommitRow;
      rows.push(row);
      if (row.revision !== revision) chars += row.changes.length;
      if (chars >= PAGE_BYTES_MAX) break;
    }
    return { rows, isFull: chars >= PAGE_BYTES_MAX };
  }

  history(query: HistoryQuery): HistoryPage {
    const { text, values } = historySql(query, (nth) => `?${nth}`, '');
    return this.#transactions.run('read', () => {
      const found = this.#database.prepare(text).all(...values) as unknown as SizedCommit[];
      const { revisions, next } = chooseHistoryPage(found, query.limit);
      const commits = revisions.map((revision) => {
        const row = this.#sql.one.get(revision) as unknown as CommitRow;
        return commitOf(row, query);
      });
      return { commits, ...(next !== undefined && { next }) };
    });
  }

  #head(): StoredHead {
    const row = this.#sql.head.get() as unknown as RevisionRow;
    return {
      revision: row.revision,
      floorRevision: row.floor_revision,
      floorCommitId: row.floor_commit_id,
      floorHash: row.floor_hash,
      chainedFrom: row.chained_from,
    };
  }
}

function prepareAll(database: DatabaseSync): Record<'head' | 'one' | 'readFrom', StatementSync> {
  return {
    head: database.prepare('SELECT revision, floor_revision, floor_commit_id, floor_hash, chained_from FROM head'),
    one: database.prepare(`SELECT ${COMMIT_COLUMNS} FROM commit_log c WHERE c.revision = ?`),
    readFrom: database.prepare(
      `SELECT ${COMMIT_COLUMNS} FROM commit_log c WHERE c.revision >= ? ORDER BY c.revision LIMIT ?`,
    ),
  };
}

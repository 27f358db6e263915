// Every document of a SQLite file, page by page, checked on the way: the one implementation for the main thread and for the
// thread that reads. The caller holds a read transaction from the first page to the last, so all pages are of one moment.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { COMMIT_COLUMNS, type CommitRow } from '../commit-row.ts';
import {
  tailFloor,
  gapsSql,
  LoadCheck,
  type LoadedHead,
  type LogTail,
  type ResourceRow,
  GAP_SEARCH_MAX,
  tailStart,
} from '../load-check.ts';
import { positionOf } from '../read-answer.ts';
import { sha256 } from '../sha256-store.ts';
import { type SqliteHeadRow, toLoadedHead } from './head-row.ts';
import type { SnapshotAnswer } from '../store.ts';

/** Taking in so many documents takes some milliseconds: the event loop runs between two pages. */
const PAGE_DOCUMENTS_MAX = 512;

/** And so many characters, if one document is not larger itself: texts must die young, or a start keeps them all. */
const PAGE_CHARS_MAX = 512 * 1024;

/** Documents of one kind, in columns: copied from thread to thread, a few long lists cost less than many small objects. */
export interface SnapshotPage {
  readonly kind: string;
  readonly ids: readonly string[];
  readonly revisions: readonly number[];
  readonly bodies: readonly string[];
}

export function* readSnapshot(database: DatabaseSync): Generator<SnapshotPage, SnapshotAnswer> {
  const sql = prepareAll(database);
  const check = new LoadCheck(sha256);
  let page = emptyPage('');
  let chars = 0;
  for (const row of sql.resources.iterate()) {
    const { kind, id, revision, body } = check.take(row as unknown as ResourceRow);
    if (kind !== page.kind || page.ids.length >= PAGE_DOCUMENTS_MAX || chars >= PAGE_CHARS_MAX) {
      if (page.ids.length > 0) yield page;
      page = emptyPage(kind);
      chars = 0;
    }
    page.ids.push(id);
    page.revisions.push(revision);
    page.bodies.push(body);
    chars += body.length;
  }
  if (page.ids.length > 0) yield page;
  const head = toLoadedHead(sql.head.get() as unknown as SqliteHeadRow);
  return { ...positionOf(head), damage: check.finish(head, readTail(sql, head)) };
}

function emptyPage(kind: string) {
  return { kind, ids: [] as string[], revisions: [] as number[], bodies: [] as string[] };
}

function readTail(sql: ReturnType<typeof prepareAll>, head: LoadedHead): LogTail {
  const earliest = tailFloor(head);
  const sizes = sql.sizesAfter.all(earliest) as unknown as { revision: number; bytes: number }[];
  const start = tailStart(earliest, sizes);
  const { floorRevision, floorHash, revision } = head;
  const before = start === floorRevision ? floorHash : sql.hashAt.get(start)?.['hash'];
  const rows = sql.readFrom.all(start + 1) as unknown as CommitRow[];
  const gaps = revision - floorRevision > GAP_SEARCH_MAX ? [] : sql.gaps.all();
  return {
    after: { revision: start, hash: (before ?? null) as string | null },
    rows,
    gaps: gaps.map(({ gap_from: from, gap_to: to }) => ({ from: Number(from), to: Number(to) })),
  };
}

function prepareAll(database: DatabaseSync) {
  const prepare = (sql: string): StatementSync => database.prepare(sql);
  return {
    head: prepare('SELECT * FROM head'),
    resources: prepare('SELECT kind, id, revision, body, digest FROM resource'),
    hashAt: prepare('SELECT hash FROM commit_log WHERE revision = ?'),
    gaps: prepare(gapsSql('(SELECT floor_revision FROM head)', 'commit_log')),
    sizesAfter: prepare(
      'SELECT revision, octet_length(changes) AS bytes FROM commit_log WHERE revision > ? ORDER BY revision DESC',
    ),
    readFrom: prepare(`SELECT ${COMMIT_COLUMNS} FROM commit_log c WHERE c.revision >= ? ORDER BY c.revision`),
  };
}

// GET /api/v1/audit: who did what and who was refused, as JSON lines, oldest first. Commits come from the journal and are the same at
// every server; refusals are this server's own. Output follows the speed of the reader; a line at the end confirms that nothing is missing.
import { Type, type Static } from 'typebox';
import {
  strictObject,
  IDEMPOTENCY,
  stream,
  type StreamSink,
  type Route,
  type RouteContext,
} from '../../access/index.ts';
import type { Position, StoredCommit, Store } from '../../journal/index.ts';
import type { RefusalFiles, TimeRange } from './refusal-files.ts';
import type { RefusalLine } from './refusal-log.ts';

/** Commits read at once. One may have a thousand changes. */
const PAGE = 50;
/** Successive lease holders may have had different clocks; none differs by more than this. */
const CLOCKS_DIFFER_MS = 3_600_000;

const Time = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description: 'milliseconds since 1970' });
const Query = strictObject({ sinceMs: Type.Optional(Time), untilMs: Type.Optional(Time) });

interface CommitLine {
  readonly type: 'commit';
  readonly at: string;
  readonly atMs: number;
  readonly revision: number;
  readonly by: string;
  readonly why?: string;
  readonly operation?: string;
  readonly changes: readonly { readonly kind: string; readonly id: string; readonly change: 'put' | 'delete' }[];
}

type AuditLine = CommitLine | RefusalLine;

export interface AuditSources {
  /** Undefined when none are kept. */
  readonly files: RefusalFiles | undefined;
  readonly server: () => string;
}

export function auditRoute(audited: AuditSources): Route {
  return stream({
    method: 'GET',
    path: '/api/v1/audit',
    tag: 'journal',
    about: 'Export who did what and who was refused, as JSON lines, oldest first',
    access: 'admin',
    query: Query,
    answers: { 200: { about: 'a line for each commit and refusal, and one at the end', type: 'application/x-ndjson' } },
    handle: ({ query }, world) => ({
      kind: 'stream',
      type: 'application/x-ndjson',
      run: (out) => exportAudit(out, { ...audited, world, range: rangeOf(query) }),
    }),
  });
}

function rangeOf({ sinceMs = 0, untilMs = Number.MAX_SAFE_INTEGER }: Static<typeof Query>): TimeRange {
  return { sinceMs, untilMs };
}

interface ExportContext extends AuditSources {
  readonly world: Pick<RouteContext, 'journal' | 'clock'>;
  readonly range: TimeRange;
}

/** The export cannot be whole: it says so and has no end. */
class JournalUnreadable extends Error {
  readonly code: string;
  readonly retryable = false;

  constructor(what: 'diverged' | 'damaged' | 'compacted', revision: number) {
    super(`the journal is ${what} after revision ${revision}`);
    this.name = 'JournalUnreadable';
    this.code = `journal-${what}`;
  }
}

async function exportAudit(out: StreamSink, exporting: ExportContext): Promise<void> {
  try {
    await sendLines(out, exporting);
  } catch (error) {
    if (!(error instanceof JournalUnreadable)) throw error;
    await out.send(`${JSON.stringify({ type: 'error', code: error.code, detail: error.message })}\n`);
  }
}

async function sendLines(out: StreamSink, { files, server, world, range }: ExportContext): Promise<void> {
  const { journal, clock } = world;
  const head = journal.position;
  const counts = { commit: 0, refusal: 0 };
  const refusals = files === undefined ? [] : [files.read('known', range), files.read('strangers', range)];
  for await (const line of mergeByTime([commitLines(journal.store, range, head), ...refusals])) {
    counts[line.type] += 1;
    if (!(await out.send(`${JSON.stringify(line)}\n`))) return;
    // Reading from memory never awaits I/O: yield to the event loop.
    if ((counts.commit + counts.refusal) % PAGE === 0) await clock.turn();
  }
  const at = new Date(clock.nowMs()).toISOString();
  await out.send(
    `${JSON.stringify({ type: 'end', at, server: server(), revision: head.revision, commits: counts.commit, refusals: counts.refusal })}\n`,
  );
}

/**
 * The commits up to the head that the export began with. Each page is read after the commit that was read last, not after its revision alone: a
 * store that fell back, or forgot what was not read yet, would else go unnoticed, and the export would confirm a history that never was.
 */
async function* commitLines(store: Store, range: TimeRange, head: Position): AsyncGenerator<CommitLine> {
  let after: Position = { revision: await findRevisionBefore(store, range.sinceMs - CLOCKS_DIFFER_MS, head.revision) };
  let hasBegun = false;
  while (after.revision < head.revision) {
    const page = await store.read(after, PAGE);
    if (page.kind === 'diverged' || page.kind === 'damaged') throw new JournalUnreadable(page.kind, after.revision);
    if (page.kind === 'gone') {
      if (hasBegun) throw new JournalUnreadable('compacted', after.revision);
      after = { revision: Math.max(after.revision + 1, page.oldest - 1) };
      continue;
    }
    // The head that it began with is not there any more.
    if (page.commits.length === 0) throw new JournalUnreadable('diverged', after.revision);
    hasBegun = true;
    for (const commit of page.commits) {
      after = positionOf(commit);
      if (after.revision > head.revision || commit.atMs >= range.untilMs + CLOCKS_DIFFER_MS) return;
      if (after.revision === head.revision && after.commitId !== head.commitId)
        throw new JournalUnreadable('diverged', after.revision - 1);
      if (commit.atMs >= range.sinceMs && commit.atMs < range.untilMs) yield lineOf(commit);
    }
  }
}

function positionOf({ revision, id: commitId, hash }: StoredCommit): Position {
  return { revision, commitId, ...(hash !== undefined && { hash }) };
}

/** By halving: a journal may have millions of commits. */
async function findRevisionBefore(store: Store, atMs: number, head: number): Promise<number> {
  let [from, to] = [0, head];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const page = await store.read({ revision: middle }, 1);
    if (page.kind === 'gone') from = Math.min(to, Math.max(middle + 1, page.oldest - 1));
    else if (page.kind !== 'commits') throw new JournalUnreadable(page.kind, middle);
    else if ((page.commits[0]?.atMs ?? Infinity) >= atMs) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** A kept answer is how a request was sent, not what it did. */
function isExported({ kind }: { readonly kind: string }): boolean {
  return kind !== IDEMPOTENCY.name;
}

/** Who, when, why and what; not what the documents say, which the history shows. */
function lineOf({ atMs, revision, by, why, operation, changes }: StoredCommit): CommitLine {
  return {
    type: 'commit',
    at: new Date(atMs).toISOString(),
    atMs,
    revision,
    by,
    ...(why !== undefined && { why }),
    ...(operation !== undefined && { operation }),
    changes: changes
      .filter(isExported)
      .map(({ kind, id, body }) => ({ kind, id, change: body === null ? 'delete' : 'put' })),
  };
}

async function* mergeByTime(sources: readonly AsyncGenerator<AuditLine>[]): AsyncGenerator<AuditLine> {
  const heads = await Promise.all(sources.map((source) => source.next()));
  for (;;) {
    let first: number | undefined;
    for (const [at, { done, value }] of heads.entries()) {
      if (done === true) continue;
      const chosen = first === undefined ? undefined : (heads[first]?.value as AuditLine);
      if (chosen === undefined || isBefore(value, chosen)) first = at;
    }
    if (first === undefined) return;
    yield heads[first]?.value as AuditLine;
    heads[first] = (await sources[first]?.next()) as IteratorResult<AuditLine>;
  }
}

/** Within a millisecond a refusal follows the commits that its server had. Equal ones keep the order of their sources, commits first. */
function isBefore(line: AuditLine, other: AuditLine): boolean {
  return line.atMs < other.atMs || (line.atMs === other.atMs && line.revision < other.revision);
}

// GET /api/v1/watch: commits as server-sent events, from any revision that is still kept.
import { Type } from 'typebox';
import {
  strictObject,
  refusalAnswer,
  stream,
  type HandlerResult,
  type StreamSink,
  type ReadableJournal,
  type Route,
  type StreamAnswer,
} from '../access/index.ts';
import { suggestion, type Refusal } from '../fleet/index.ts';
import type { Commit, Position, WatchEvent } from '../journal/index.ts';
import type { Audience, ChangeRepresentations } from './change-representation.ts';
import type { FairScheduler } from './limits/fair-scheduler.ts';

/** A follower may lag this far behind the server that gave the client the revision. */
const CATCH_UP_MS = 2000;

/** Text is sent in pieces of about this size, each when the reader has taken the one before. */
const PIECE_CHARS = 64 * 1024;

/** Up to so many changes are rendered at once: that is what a watcher gets that keeps up, and it costs less than a turn. */
const CHANGES_AT_ONCE_MAX = 16;

const Query = strictObject({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'the last revision already seen; else from now on',
    }),
  ),
  kind: Type.Optional(Type.String({ maxLength: 500, description: 'only these kinds, separated by commas' })),
});

export function watchRoute(representations: ChangeRepresentations, workload: FairScheduler): Route {
  return stream({
    method: 'GET',
    path: '/api/v1/watch',
    tag: 'journal',
    about: 'Watch changes as server-sent events, from any revision that is still kept',
    access: 'viewer',
    scope: 'site',
    forProjects: true,
    query: Query,
    answers: {
      200: {
        about: 'events `open`, `commit`, `gone`, `diverged`; the event id is the revision and the id of its commit',
        type: 'text/event-stream',
      },
    },
    handle: async ({ query, caller, lastEventId }, { journal, redactorFor }) => {
      const kinds = kindsOf(query.kind, representations);
      if (kinds !== undefined && 'code' in kinds) return refusalAnswer(kinds);
      const after = positionIn(lastEventId) ?? (query.after === undefined ? undefined : { revision: query.after });
      const { fleet } = journal;
      const audience = { fleet, caller, sight: redactorFor(caller, fleet), kinds };
      return startWatch(journal, { representations, workload, audience }, after);
    },
  });
}

/** The kinds of a filter, or what is wrong with it. */
function kindsOf(
  text: string | undefined,
  representations: ChangeRepresentations,
): ReadonlySet<string> | Refusal | undefined {
  if (text === undefined) return undefined;
  const kinds = text.split(',');
  const unknown = kinds.find((kind) => !representations.kinds.includes(kind));
  return unknown === undefined ? new Set(kinds) : unknownKind(unknown, representations);
}

export function unknownKind(kind: string, representations: ChangeRepresentations): Refusal {
  const message = `There is no kind "${kind}"${suggestion(kind, representations.kinds)}. Use one of ${representations.kinds.join(', ')}.`;
  return { kind: 'invalid', code: 'unknown-kind', message, field: '/kind' };
}

/** Revisions begin anew in no journal, but a restored one has other commits under them: an event id names its commit as well. */
function eventIdOf({ revision, commitId }: Position): string {
  return commitId === undefined ? String(revision) : `${revision}.${commitId}`;
}

function positionIn(lastEventId: string | undefined): Position | undefined {
  const [, revision, commitId] = /^(\d{1,15})(?:\.([\w.-]{1,200}))?$/.exec(lastEventId ?? '') ?? [];
  if (revision === undefined) return undefined;
  return { revision: Number(revision), ...(commitId !== undefined && { commitId }) };
}

interface WatchContext {
  readonly representations: ChangeRepresentations;
  readonly workload: FairScheduler;
  readonly audience: Audience;
}

async function startWatch(
  journal: ReadableJournal,
  showing: WatchContext,
  wanted: Position | undefined,
): Promise<StreamAnswer | HandlerResult> {
  const { workload, audience } = showing;
  if (wanted !== undefined && !(await journal.waitForRevision(wanted.revision, CATCH_UP_MS)))
    return refusalAnswer(revisionAhead(wanted.revision, journal.fleet.revision));
  const { position } = journal;
  const isBehind = wanted !== undefined && wanted.revision < position.revision;
  if (!isBehind && wanted?.commitId !== undefined && wanted.commitId !== position.commitId)
    return refusalAnswer(denyOtherJournal(wanted.revision));
  const after = isBehind ? wanted : position;
  const over = new AbortController();
  const events = journal.watch(after, over.signal, {
    read: (work) => workload.read(audience.caller, work),
    slice: (work) => workload.slice(audience.caller, work),
  });
  // What is gone is answered before the stream begins, as long as nothing has to be waited for.
  const first = isBehind ? (await events.next()).value : undefined;
  if (first?.kind === 'gone') return refusalAnswer(denyCompactedRevision(after.revision, first.oldest));
  if (first?.kind === 'diverged') return refusalAnswer(denyOtherJournal(after.revision));
  const run = async (out: StreamSink): Promise<void> => {
    const stop = (): void => over.abort();
    out.closed.addEventListener('abort', stop, { once: true });
    if (out.closed.aborted) stop();
    const writer = new WatchWriter(out, showing);
    await out.send(
      `retry: 1000\nid: ${eventIdOf(after)}\nevent: open\ndata: ${JSON.stringify({ revision: after.revision, head: journal.fleet.revision, journal: journal.journalId })}\n\n`,
    );
    if (first === undefined || (await writer.write(first))) {
      for await (const event of events) if (!(await writer.write(event))) break;
    }
    over.abort();
  };
  return { kind: 'stream', type: 'text/event-stream', run };
}

class WatchWriter {
  readonly #out: StreamSink;
  readonly #showing: WatchContext;

  constructor(out: StreamSink, showing: WatchContext) {
    this.#out = out;
    this.#showing = showing;
  }

  /** False when the reader or the journal has ended. */
  async write(event: WatchEvent): Promise<boolean> {
    if (event.kind === 'gone') return this.#writeLast('gone', { oldest: event.oldest });
    if (event.kind === 'diverged') return this.#writeLast('diverged', {});
    const pieces = this.#pieces(event.commits);
    if (isSmall(event.commits)) return this.#out.send([...pieces].join(''));
    const { workload, audience } = this.#showing;
    for (;;) {
      const { value: piece } = await workload.slice(audience.caller, () => pieces.next());
      if (piece === undefined) return true;
      if (!(await this.#out.send(piece))) return false;
    }
  }

  /** The events of commits, in pieces that may end anywhere but together are whole. */
  *#pieces(commits: readonly Commit[]): Generator<string, void> {
    const { representations, audience } = this.#showing;
    let text = '';
    let sentRevision: number | undefined;
    for (const commit of commits) {
      let separator = `id: ${eventIdOf({ revision: commit.revision, commitId: commit.id })}\nevent: commit\ndata: `;
      for (const part of representations.commitPieces(commit, audience)) {
        text += separator + part;
        separator = '';
        sentRevision = commit.revision;
        if (text.length < PIECE_CHARS) continue;
        yield text;
        text = '';
      }
      if (separator === '') text += '\n\n';
    }
    const last = commits.at(-1);
    // An id without data moves the client's place on past what it may not see, and shows it nothing.
    if (last !== undefined && last.revision !== sentRevision)
      text += `id: ${eventIdOf({ revision: last.revision, commitId: last.id })}\n\n`;
    if (text !== '') yield text;
  }

  async #writeLast(event: string, facts: object): Promise<false> {
    await this.#out.send(`event: ${event}\ndata: ${JSON.stringify(facts)}\n\n`);
    return false;
  }
}

function denyCompactedRevision(after: number, oldest: number): Refusal {
  const message = `The changes after revision ${after} are compacted; the oldest one kept is ${oldest}. List the resources anew and watch from the revision of that answer.`;
  return { kind: 'gone', code: 'revision-gone', message, field: '/after', facts: { oldest } };
}

function revisionAhead(after: number, revision: number): Refusal {
  const message = `The journal has not reached revision ${after}: it is at ${revision}, perhaps restored from an older state. List the resources anew and watch from the revision of that answer.`;
  return { kind: 'conflict', code: 'revision-ahead', message, field: '/after', facts: { revision } };
}

function denyOtherJournal(revision: number): Refusal {
  const message = `Revision ${revision} is another commit in this journal than the one that was watched: it was restored from a backup, or a database that lagged behind took over. List the resources anew and watch from the revision of that answer.`;
  return { kind: 'conflict', code: 'journal-diverged', message, field: '/after', facts: { revision } };
}

function isSmall(commits: readonly Commit[]): boolean {
  let changes = 0;
  for (const commit of commits) changes += commit.changes.length;
  return changes <= CHANGES_AT_ONCE_MAX;
}

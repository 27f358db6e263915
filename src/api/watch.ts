// GET /api/v1/watch: commits as server-sent events, from any revision that is still kept, to whoever reads them.
import { Type } from 'typebox';
import {
  closed,
  refused,
  stream,
  type Answered,
  type Out,
  type ReadableJournal,
  type Route,
  type Streamed,
} from '../access/index.ts';
import { suggestion, type Refusal } from '../fleet/index.ts';
import type { WatchEvent } from '../journal/index.ts';
import type { Audience, ChangeViews } from './change-view.ts';

/** A follower may be this far behind the server that told the client of a revision. */
const CATCH_UP_MS = 2000;

const Query = closed({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'the last revision already seen; else from now on',
    }),
  ),
  kind: Type.Optional(Type.String({ maxLength: 500, description: 'only these kinds, separated by commas' })),
});

export function watchRoute(views: ChangeViews): Route {
  return stream({
    method: 'GET',
    path: '/api/v1/watch',
    tag: 'journal',
    about: 'Watch changes as server-sent events, from any revision that is still kept',
    access: 'viewer',
    scope: 'site',
    query: Query,
    answers: {
      200: { about: 'events `open`, `commit`, `gone`; the event id is the revision', type: 'text/event-stream' },
    },
    handle: async ({ query, caller, lastEventId }, { journal }) => {
      const kinds = kindsOf(query.kind, views);
      if (kinds !== undefined && 'code' in kinds) return refused(kinds);
      const after = revisionIn(lastEventId) ?? query.after;
      return startWatch(journal, views, { audience: { fleet: journal.fleet, caller, kinds }, after });
    },
  });
}

/** The kinds of a filter, or what is wrong with it. */
function kindsOf(text: string | undefined, views: ChangeViews): ReadonlySet<string> | Refusal | undefined {
  if (text === undefined) return undefined;
  const kinds = text.split(',');
  const unknown = kinds.find((kind) => !views.kinds.includes(kind));
  return unknown === undefined ? new Set(kinds) : unknownKind(unknown, views);
}

export function unknownKind(kind: string, views: ChangeViews): Refusal {
  const message = `There is no kind "${kind}"${suggestion(kind, views.kinds)}. Known are ${views.kinds.join(', ')}.`;
  return { kind: 'invalid', code: 'unknown-kind', message, field: '/kind' };
}

function revisionIn(lastEventId: string | undefined): number | undefined {
  return lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : undefined;
}

interface Wanted {
  readonly audience: Audience;
  readonly after: number | undefined;
}

async function startWatch(journal: ReadableJournal, views: ChangeViews, wanted: Wanted): Promise<Streamed | Answered> {
  const after = wanted.after ?? journal.fleet.revision;
  if (!(await journal.reached(after, CATCH_UP_MS))) return refused(ahead(after, journal.fleet.revision));
  const over = new AbortController();
  const events = journal.watch(after, over.signal);
  // What is gone is answered before the stream begins, as long as nothing has to be waited for.
  const first = after < journal.fleet.revision ? (await events.next()).value : undefined;
  if (first?.kind === 'gone') return refused(gone(after, first.oldest));
  if (first?.kind === 'diverged') return refused(ahead(after, journal.fleet.revision));
  const run = async (out: Out): Promise<void> => {
    const stop = (): void => over.abort();
    out.over.addEventListener('abort', stop, { once: true });
    if (out.over.aborted) stop();
    const teller = new Teller(out, views, wanted.audience);
    await out.send(`retry: 1000\nid: ${after}\nevent: open\ndata: {"revision":${after}}\n\n`);
    if (first === undefined || (await teller.tell(first))) {
      for await (const event of events) if (!(await teller.tell(event))) break;
    }
    over.abort();
  };
  return { kind: 'stream', type: 'text/event-stream', run };
}

class Teller {
  readonly #out: Out;
  readonly #views: ChangeViews;
  readonly #audience: Audience;

  constructor(out: Out, views: ChangeViews, audience: Audience) {
    this.#out = out;
    this.#views = views;
    this.#audience = audience;
  }

  /** False when there is nobody left to tell, or nothing left to tell. */
  async tell(event: WatchEvent): Promise<boolean> {
    if (event.kind === 'gone') return this.#last('gone', { oldest: event.oldest });
    if (event.kind === 'diverged') return this.#last('diverged', {});
    let text = '';
    for (const commit of event.commits) {
      const shown = this.#views.commitText(commit, this.#audience);
      if (shown !== undefined) text += `id: ${commit.revision}\nevent: commit\ndata: ${shown}\n\n`;
    }
    const last = event.commits.at(-1)?.revision;
    // An id without data moves the client's place on past what it may not see, and shows it nothing.
    if (last !== undefined && !text.includes(`id: ${last}\n`)) text += `id: ${last}\n\n`;
    return this.#out.send(text);
  }

  async #last(event: string, facts: object): Promise<false> {
    await this.#out.send(`event: ${event}\ndata: ${JSON.stringify(facts)}\n\n`);
    return false;
  }
}

function gone(after: number, oldest: number): Refusal {
  const message = `The changes after revision ${after} are compacted; the oldest one kept is ${oldest}. List the resources anew and watch from the revision of that answer.`;
  return { kind: 'gone', code: 'revision-gone', message, field: '/after', facts: { oldest } };
}

function ahead(after: number, revision: number): Refusal {
  const message = `The journal has not reached revision ${after}: it is at ${revision}, perhaps restored from an older state. List the resources anew and watch from the revision of that answer.`;
  return { kind: 'conflict', code: 'revision-ahead', message, field: '/after', facts: { revision } };
}

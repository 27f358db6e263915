// GET /api/v1/history: who changed what, when, why and in which operation, newest first. Of one resource it also tells
// which fields changed.
import { Type, type Static } from 'typebox';
import {
  answer,
  closed,
  ID,
  refused,
  read,
  type Answered,
  type Caller,
  type ReadableJournal,
  type Route,
} from '../access/index.ts';
import type { AnyDoc, Change, Refusal } from '../fleet/index.ts';
import type { Commit, ReadCommit } from '../journal/index.ts';
import { noteOf, type ChangeViews } from './change-view.ts';
import { unknownKind } from './watch.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
/** How many commits are looked through for one page when most of them are not the caller's to see. */
const LOOKED_THROUGH_MAX = 5000;

const Query = closed({
  kind: Type.Optional(Type.String({ maxLength: 50 })),
  id: Type.Optional(ID),
  operation: Type.Optional(ID),
  before: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'only what is older than this revision',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX })),
});

type Wanted = Static<typeof Query>;

const Entry = Type.Object({
  revision: Type.Integer(),
  atMs: Type.Integer(),
  by: Type.String(),
  why: Type.Optional(Type.String()),
  operation: Type.Optional(Type.String()),
  changes: Type.Array(
    Type.Object({
      kind: Type.String(),
      id: Type.String(),
      doc: Type.Union([Type.Object({}), Type.Null()]),
      fields: Type.Optional(
        Type.Array(
          Type.Object({ field: Type.String(), from: Type.Optional(Type.Unknown()), to: Type.Optional(Type.Unknown()) }),
        ),
      ),
    }),
  ),
});

export function historyRoute(views: ChangeViews): Route {
  return read({
    method: 'GET',
    path: '/api/v1/history',
    tag: 'journal',
    about: 'Show who changed what, when and why, newest first',
    access: 'viewer',
    scope: 'site',
    query: Query,
    answers: {
      200: {
        about: 'a page of commits',
        schema: Type.Object({
          items: Type.Array(Entry),
          next: Type.Optional(Type.Integer({ description: 'hand it in as `before` for the next page' })),
        }),
      },
    },
    handle: ({ query, caller }, { journal }) => history(journal, views, { query, caller }),
  });
}

interface Asked {
  readonly query: Wanted;
  readonly caller: Caller;
}

async function history(journal: ReadableJournal, views: ChangeViews, asked: Asked): Promise<Answered> {
  const { kind, id, before, limit = LIMIT_DEFAULT } = asked.query;
  if (kind !== undefined && views.view(kind) === undefined) return refused(unknownKind(kind, views));
  if (id !== undefined && kind === undefined) return refused(idWithoutKind());
  const page = await visiblePage(journal, views, { ...asked, limit });
  if (page.items.length === 0 && before !== undefined) {
    const oldest = await oldestAfter(journal, before);
    if (oldest !== undefined) return refused(gone(before, oldest));
  }
  const items = page.items.map((entry, at) =>
    shownEntry(views, entry, id === undefined ? undefined : (page.items[at + 1] ?? page.older)),
  );
  return answer({ items, ...(page.next !== undefined && { next: page.next }) });
}

interface Seen {
  readonly commit: Commit;
  readonly changes: readonly Change[];
}

interface Page {
  readonly items: readonly Seen[];
  /** The entry below the page, for what changed in the last one. */
  readonly older?: Seen | undefined;
  readonly next?: number | undefined;
}

/** Reads on until the page is full: what the caller may not see is skipped. */
async function visiblePage(
  journal: ReadableJournal,
  views: ChangeViews,
  asked: Asked & { readonly limit: number },
): Promise<Page> {
  const { query, limit } = asked;
  const kinds = query.kind === undefined ? undefined : new Set([query.kind]);
  const audience = { fleet: journal.fleet, caller: asked.caller, kinds };
  const seen: Seen[] = [];
  let { before } = query;
  for (let looked = 0; seen.length <= limit && looked < LOOKED_THROUGH_MAX;) {
    const { kind, id, operation } = query;
    const commits = await journal.store.history({
      ...(kind !== undefined && { kind }),
      ...(id !== undefined && { id }),
      ...(operation !== undefined && { operation }),
      ...(before !== undefined && { before }),
      limit: limit + 1,
    });
    looked += commits.length;
    for (const one of commits) {
      const commit = parsed(one);
      const changes = views.visible(commit, audience).filter((change) => id === undefined || change.id === id);
      if (changes.length > 0) seen.push({ commit, changes });
    }
    before = commits.at(-1)?.revision;
    if (commits.length <= limit || before === undefined)
      return { items: seen.slice(0, limit), older: seen[limit], next: cut(seen, limit) };
  }
  return { items: seen.slice(0, limit), older: seen[limit], next: cut(seen, limit) ?? before };
}

function cut(seen: readonly Seen[], limit: number): number | undefined {
  return seen.length > limit ? seen[limit - 1]?.commit.revision : undefined;
}

function parsed(text: ReadCommit): Commit {
  const changes = text.changes.map(({ kind, id, body }) => ({
    kind,
    id,
    doc: body === null ? null : (JSON.parse(body) as AnyDoc),
  }));
  return { ...text, changes };
}

function shownEntry(views: ChangeViews, { commit, changes }: Seen, before: Seen | undefined): object {
  const shown = changes.map((change) => {
    const now = views.shown(change);
    const older = before?.changes.find((one) => one.kind === change.kind && one.id === change.id);
    return older === undefined ? now : { ...now, fields: changedFields(views.shown(older).doc, now.doc) };
  });
  return { ...noteOf(commit), changes: shown };
}

interface FieldChange {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** The top-level fields that differ, by JSON pointer. */
function changedFields(before: object | null, after: object | null): FieldChange[] {
  const [from, to] = [(before ?? {}) as Record<string, unknown>, (after ?? {}) as Record<string, unknown>];
  return [...new Set([...Object.keys(from), ...Object.keys(to)])]
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => ({
      field: `/${name}`,
      ...(name in from && { from: from[name] }),
      ...(name in to && { to: to[name] }),
    }));
}

/** The oldest revision kept, when what lies below `before` is compacted. */
async function oldestAfter(journal: ReadableJournal, before: number): Promise<number | undefined> {
  if (before < 2) return undefined;
  const answered = await journal.store.read({ revision: before - 2 }, 1);
  return answered.kind === 'gone' ? answered.oldest : undefined;
}

function gone(before: number, oldest: number): Refusal {
  const message = `What lies before revision ${before} is compacted; the oldest commit kept is ${oldest}.`;
  return { kind: 'gone', code: 'revision-gone', message, field: '/before', facts: { oldest } };
}

function idWithoutKind(): Refusal {
  const message = 'An id alone does not name a resource. Say of which kind it is.';
  return { kind: 'invalid', code: 'kind-required', message, field: '/kind' };
}

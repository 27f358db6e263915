// GET /api/v1/history: who changed what, when, why and in which operation, newest first. For one resource it also has
// the fields that changed.
import { Type, type Static } from 'typebox';
import {
  strictObject,
  HOST_MARK,
  HOST_REF,
  ID,
  read,
  refusalAnswer,
  type HandlerResult,
  type Caller,
  type HostMark,
  type ReadableJournal,
  type Route,
  type Redactor,
} from '../access/index.ts';
import type { Change, Fleet, Refusal } from '../fleet/index.ts';
import { parseChange, type CommitNote, type StoredCommit, type TextChange } from '../journal/index.ts';
import { commitMetadata, type Audience, type ChangeRepresentations } from './change-representation.ts';
import { unknownKind } from './watch.ts';
import type { FairScheduler } from './limits/fair-scheduler.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 500;
/** Commits scanned for one page when the caller may not see most of them. */
const SCANNED_MAX = 5000;
/** Stored text of one page's documents: a page ends early when it is full, and has at least one commit. */
const PAGE_CHARS_MAX = 1024 * 1024;
/** Changes parsed or rendered in one slice: a commit of a thousand documents in one would take longer than all others should wait. */
const CHANGES_PER_SLICE = 50;

const Query = strictObject({
  kind: Type.Optional(Type.String({ maxLength: 50 })),
  id: Type.Optional(
    Type.String({
      ...HOST_REF,
      [HOST_MARK]: 'id' satisfies HostMark,
      description: 'of this kind; a host by any id of it',
    }),
  ),
  operation: Type.Optional(ID),
  before: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'only what is older than this revision',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMIT_MAX,
      description: 'at most so many commits; a page of large ones ends earlier: go on while there is a `next`',
    }),
  ),
});

type HistoryFilter = Static<typeof Query>;

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

export function historyRoute(representations: ChangeRepresentations, workload: FairScheduler): Route {
  return read({
    method: 'GET',
    path: '/api/v1/history',
    tag: 'journal',
    about: 'Show who changed what, when and why, newest first',
    access: 'viewer',
    scope: 'site',
    forProjects: true,
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
    handle: ({ query, caller }, { journal, redactorFor }) =>
      readHistory({ journal, representations, workload }, { query, caller, sight: redactorFor(caller, journal.fleet) }),
  });
}

interface HistoryRequest {
  readonly query: HistoryFilter;
  readonly caller: Caller;
  readonly sight: Redactor | undefined;
}

/** What history is read from, and how the reading is shared out. */
interface HistorySource {
  readonly journal: ReadableJournal;
  readonly representations: ChangeRepresentations;
  readonly workload: FairScheduler;
}

async function readHistory(source: HistorySource, request: HistoryRequest): Promise<HandlerResult> {
  const { journal, representations, workload } = source;
  const { caller } = request;
  const { kind, id, before } = request.query;
  if (kind !== undefined && representations.find(kind) === undefined)
    return refusalAnswer(unknownKind(kind, representations));
  if (id !== undefined && kind === undefined) return refusalAnswer(idWithoutKind());
  workload.refuseOverload(caller);
  const page = await readVisiblePage(source, request);
  if (page.items.length === 0 && before !== undefined) {
    const oldest = await workload.read(caller, () => findOldestKept(journal, before));
    if (oldest !== undefined) return refusalAnswer(denyCompactedRevision(before, oldest));
  }
  const texts: string[] = [];
  for (const [at, entry] of page.items.entries()) {
    const older = id === undefined ? undefined : (page.items[at + 1] ?? page.older);
    texts.push(await renderEntry(source, { entry, older, caller, sight: request.sight }));
  }
  const next = page.next === undefined ? '' : `,"next":${page.next}`;
  return { kind: 'answer', status: 200, text: `{"items":[${texts.join(',')}]${next}}` };
}

interface VisibleCommit {
  readonly commit: CommitNote & { readonly revision: number };
  readonly changes: readonly Change[];
  /** Of the documents in it, as they are stored. */
  readonly chars: number;
}

interface RepresentedPage {
  readonly items: readonly VisibleCommit[];
  /** The entry below the page, for what changed in the last one. */
  readonly older?: VisibleCommit | undefined;
  readonly next?: number | undefined;
}

/** Reads on until the page is full: what the caller may not see is skipped. */
async function readVisiblePage(
  source: HistorySource,
  { query, caller, sight }: HistoryRequest,
): Promise<RepresentedPage> {
  const { journal, workload } = source;
  const { kind, id, operation, limit = LIMIT_DEFAULT } = query;
  const kinds = kind === undefined ? undefined : new Set([kind]);
  const audience = { fleet: journal.fleet, caller, sight, kinds };
  const seen: VisibleCommit[] = [];
  let [chars, looked] = [0, 0];
  let { before } = query;
  do {
    const wanted = {
      ...(kind !== undefined && { kind }),
      ...(id !== undefined && { id }),
      ...(operation !== undefined && { operation }),
      ...(before !== undefined && { before }),
      limit: limit + 1,
    };
    const page = await workload.read(caller, () => journal.store.history(wanted));
    for (const commit of page.commits) {
      const entry = await readVisibleCommit(source, commit, audience);
      if (entry === undefined) continue;
      chars += entry.chars;
      seen.push(entry);
      if (seen.length > limit || (seen.length > 1 && chars > PAGE_CHARS_MAX)) return splitPage(seen);
    }
    looked += page.commits.length;
    before = page.next;
  } while (before !== undefined && looked < SCANNED_MAX);
  return { items: seen, next: before };
}

/** The last one found is the first of the next page. */
function splitPage(seen: readonly VisibleCommit[]): RepresentedPage {
  const items = seen.slice(0, -1);
  return { items, older: seen.at(-1), next: items.at(-1)?.commit.revision };
}

/** What the caller may see of a commit; undefined for nothing. Documents of kinds that are not shown are not parsed. */
async function readVisibleCommit(
  { representations, workload }: HistorySource,
  commit: StoredCommit,
  audience: Audience & { readonly fleet: Fleet },
): Promise<VisibleCommit | undefined> {
  const texts = commit.changes.filter(({ kind }) => representations.isKindVisible(kind, audience));
  const parse = (some: readonly TextChange[]): Change[] => {
    const changes = some.map((text) => parseChange(audience.fleet.registry, text));
    return representations.filterVisibleChanges({ ...commit, changes }, audience);
  };
  const visible: Change[] = [];
  for (const some of splitIntoSlices(texts))
    visible.push(...(await workload.slice(audience.caller, () => parse(some))));
  if (visible.length === 0) return undefined;
  return { commit, changes: visible, chars: texts.reduce((sum, { body }) => sum + (body?.length ?? 0), 0) };
}

function* splitIntoSlices<T>(all: readonly T[]): Generator<readonly T[], void> {
  for (let at = 0; at < all.length; at += CHANGES_PER_SLICE) yield all.slice(at, at + CHANGES_PER_SLICE);
}

interface Rendering {
  readonly entry: VisibleCommit;
  /** The one before it. */
  readonly older: VisibleCommit | undefined;
  readonly caller: Caller;
  readonly sight: Redactor | undefined;
}

/** As JSON text. */
async function renderEntry(
  { representations, workload }: HistorySource,
  { entry, older: before, caller, sight }: Rendering,
): Promise<string> {
  const { commit, changes } = entry;
  const render = (change: Change): string => {
    const now = representations.toJson(change, sight);
    const older = before?.changes.find((one) => one.kind === change.kind && one.id === change.id);
    if (older === undefined) return JSON.stringify(now);
    return JSON.stringify({ ...now, fields: listChangedFields(representations.toJson(older, sight).doc, now.doc) });
  };
  const texts: string[] = [];
  for (const some of splitIntoSlices(changes))
    texts.push(await workload.slice(caller, () => some.map((change) => render(change)).join(',')));
  return `${JSON.stringify(commitMetadata(commit, sight)).slice(0, -1)},"changes":[${texts.join(',')}]}`;
}

interface FieldChange {
  readonly field: string;
  readonly from?: unknown;
  readonly to?: unknown;
}

/** The top-level fields that differ, by JSON pointer. */
function listChangedFields(before: object | null, after: object | null): FieldChange[] {
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
async function findOldestKept(journal: ReadableJournal, before: number): Promise<number | undefined> {
  if (before < 2) return undefined;
  const answered = await journal.store.read({ revision: before - 2 }, 1);
  return answered.kind === 'gone' ? answered.oldest : undefined;
}

function denyCompactedRevision(before: number, oldest: number): Refusal {
  const message = `What lies before revision ${before} is compacted; the oldest commit kept is ${oldest}. Request what is before a later revision, or leave \`before\` out.`;
  return { kind: 'gone', code: 'revision-gone', message, field: '/before', facts: { oldest } };
}

function idWithoutKind(): Refusal {
  const message = 'An id alone does not name a resource. Say of which kind it is, with `kind`.';
  return { kind: 'invalid', code: 'kind-required', message, field: '/kind' };
}

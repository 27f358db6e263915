// Lists: paged, filtered, sorted. The plain case costs O(log n + limit); a filter with an index walks that index only; what
// is left walks the kind once and keeps no more than a page.
import { Type, type TObject, type TOptional, type TProperties, type TSchema } from 'typebox';
import type { AnyDoc, Fleet, FleetReader, Id, Index, Refusal, Stored } from '../fleet/index.ts';
import { refusalAnswer } from './answer.ts';
import { strictObject, type HandlerResult, type Call } from './route.ts';
import { isBound, permits, type Caller } from './role.ts';
import type { Redactor } from './redactor.ts';
import { isVisibleTo, type Representation } from './representation.ts';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;
/** Documents scanned by a filter between two turns of the event loop. */
const WALK_PAGE = 1000;

type SortValue = string | number;

export interface FilterField<D extends AnyDoc> {
  readonly schema: TSchema;
  /** What the document has for this filter; one of them must equal the requested value. */
  readonly valuesOf: (doc: D, id: string, fleet: FleetReader) => readonly (string | number | boolean | undefined)[];
  /** Set when documents can be found by the value instead of by a scan. */
  readonly index?: Index<string, D>;
  /** The key of a value in that index, when it is not the value itself. */
  readonly keyOf?: (value: string) => string;
  /**
   * The kind that the value names, where documents name what their readers may not see: to a caller that does not see it nothing is
   * under that name. Else a caller could guess a name and learn what is redacted in the document.
   */
  readonly names?: string;
  /** What the document has as a caller sees it that does not see everything: else a guess at what is redacted would be confirmed. */
  readonly redactedValuesOf?: (doc: D, sight: Redactor) => readonly (string | number | boolean | undefined)[];
}

export interface Listing<K extends string, D extends AnyDoc> {
  readonly representation: Representation<K, D>;
  readonly filters: Readonly<Record<string, FilterField<D>>>;
  /** The JSON text of one, when it shows more than its document. */
  readonly text?: (stored: Stored<K, D>, fleet: FleetReader, sight?: Redactor) => string;
  /** Set when the name is the id: sorting by it costs nothing then. */
  readonly nameIsId?: boolean;
  /** By name; `id` is always there. */
  readonly sorts: Readonly<Record<string, (doc: D) => SortValue>>;
}

export interface ListQuery extends Readonly<Record<string, unknown>> {
  readonly limit?: number;
  readonly after?: string;
  readonly sort?: string;
}

/** The query parameters that a listing understands. */
export function listQuery<K extends string, D extends AnyDoc>(listing: Listing<K, D>): TObject {
  const names = ['id', ...Object.keys(listing.sorts)];
  const filters: Record<string, TOptional> = {};
  for (const [name, filter] of Object.entries(listing.filters)) filters[name] = Type.Optional(filter.schema);
  const fields: TProperties = {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `at most ${LIMIT_MAX}, else ${LIMIT_DEFAULT}` }),
    ),
    after: Type.Optional(Type.String({ maxLength: 1000, description: 'the `next` of the page before' })),
    sort: Type.Optional(
      Type.Union(
        names.flatMap((name) => [Type.Literal(name), Type.Literal(`-${name}`)]),
        { description: 'a leading - turns the order round' },
      ),
    ),
    ...filters,
  };
  return strictObject(fields);
}

/**
 * Whether a page of this list may mean looking through the whole kind: by a sort, by a filter without an index, or by several, since
 * what the index of one finds may all be sifted out by another. The site that a caller is bound to is a filter like any other.
 */
export function scansFleet<K extends string, D extends AnyDoc>(
  listing: Listing<K, D>,
  { query: request, caller }: { readonly query: unknown; readonly caller: Caller },
): boolean {
  const query = request as ListQuery;
  const { sort = 'id' } = query;
  if (sort !== 'id' && !(sort === 'name' && listing.nameIsId === true)) return true;
  const filters: (FilterField<D> | undefined)[] = Object.entries(listing.filters)
    .filter(([name]) => query[name] !== undefined)
    .map(([, filter]) => filter);
  if (isBound(caller)) filters.push(listing.filters['site']);
  return filters.length > 1 || filters.some((filter) => filter?.index === undefined);
}

/** Of things that are shown as the schema says. */
export function listAnswer(schema: TObject): TObject {
  return Type.Object({
    items: Type.Array(schema),
    next: Type.Optional(
      Type.String({ description: 'hand it in as `after` for the next page; absent on the last one' }),
    ),
    revision: Type.Integer({ description: 'the revision of the fleet that was read' }),
  });
}

/** Where a page ends: the id, and the value it was sorted by. */
type Cursor = readonly [id: string, value?: SortValue];

/** A cursor as it is handed out: with a mark of the list that it is of. */
interface NamedCursor {
  readonly cursor: Cursor;
  /** Undefined in one of a server that is a version older. */
  readonly list: string | undefined;
}

export function listResources<K extends string, D extends AnyDoc>(
  fleet: Fleet,
  listing: Listing<K, D>,
  call: Call<unknown, ListQuery>,
  sight?: Redactor,
): HandlerResult {
  const { representation } = listing;
  if (!permits(call.caller, representation.access)) return refusalAnswer(accessDenied(representation.kind.name));
  const { after, limit = LIMIT_DEFAULT, sort: sortName = 'id' } = call.query;
  const sort = sortName === 'name' && listing.nameIsId === true ? 'id' : sortName;
  const list = listMark(listing, call.query, sort);
  const named = after === undefined ? undefined : decodeCursor(after);
  if (after !== undefined && named === undefined) return refusalAnswer(badCursor());
  if (named?.list !== undefined && named.list !== list) return refusalAnswer(otherCursor());
  const cursor = named?.cursor;
  const wanted = combineFilters(fleet, listing, { call, sight });
  const ordered =
    sort === 'id' ? listInIdOrder(fleet, listing, { wanted, after: cursor?.[0] ?? '', limit, call }) : undefined;
  const found = ordered ?? sortPage(candidates(fleet, listing, call), { listing, wanted, sort, cursor, limit });
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const next = found.length > limit && last !== undefined ? encodeCursor(last, listing, { sort, list }) : undefined;
  const { text } = listing;
  const items = page
    .map((stored) => (text === undefined ? representation.toJsonText(stored, sight) : text(stored, fleet, sight)))
    .join(',');
  const tail = next === undefined ? '' : `,"next":${JSON.stringify(next)}`;
  return { kind: 'answer', status: 200, text: `{"items":[${items}],"revision":${fleet.revision}${tail}}` };
}

type DocumentPredicate<D> = ((doc: D, id: string) => boolean) | undefined;

/** The filters of a call as one predicate; undefined when the call has none and its caller sees every document. */
function combineFilters<K extends string, D extends AnyDoc>(
  fleet: Fleet,
  listing: Listing<K, D>,
  { call, sight }: { readonly call: Call<unknown, ListQuery>; readonly sight: Redactor | undefined },
): DocumentPredicate<D> {
  const tests: ((doc: D, id: string) => boolean)[] = [];
  for (const [name, filter] of Object.entries(listing.filters)) {
    const value = call.query[name];
    if (value === undefined) continue;
    const { names, redactedValuesOf } = filter;
    if (names !== undefined && sight?.canSee(names, value as string) === false) return () => false;
    if (redactedValuesOf !== undefined && sight !== undefined)
      tests.push((doc) => redactedValuesOf(doc, sight).includes(value as string));
    else tests.push((doc, id) => filter.valuesOf(doc, id, fleet).includes(value as string));
  }
  const { caller } = call;
  if (isBound(caller))
    tests.push((doc, id) => isVisibleTo(caller, listing.representation, { stored: { id, doc }, fleet }));
  return tests.length === 0 ? undefined : (doc, id) => tests.every((test) => test(doc, id));
}

interface Walk<D extends AnyDoc> {
  readonly wanted: DocumentPredicate<D>;
  readonly after: string;
  readonly limit: number;
  readonly call: Call<unknown, ListQuery>;
}

function listInIdOrder<K extends string, D extends AnyDoc>(
  fleet: Fleet,
  listing: Listing<K, D>,
  { wanted, after, limit, call }: Walk<D>,
): Stored<K, D>[] {
  const { kind } = listing.representation;
  if (wanted === undefined) return fleet.page(kind, after, limit + 1);
  const found: Stored<K, D>[] = [];
  const under = findIndexedIds(fleet, listing, call);
  if (under !== undefined) {
    for (const id of under) {
      if (id <= after) continue;
      const stored = fleet.get(kind, id as Id<K>);
      if (stored !== undefined && wanted(stored.doc, id)) found.push(stored);
      if (found.length > limit) break;
    }
    return found;
  }
  for (let at = after; found.length <= limit;) {
    const page = fleet.page(kind, at, WALK_PAGE);
    for (const stored of page) if (wanted(stored.doc, stored.id)) found.push(stored);
    if (page.length < WALK_PAGE) break;
    at = page.at(-1)?.id ?? at;
  }
  return found;
}

/** The shortest list of ids that holds all requested documents; undefined when no filter has an index. */
function findIndexedIds<K extends string, D extends AnyDoc>(
  fleet: Fleet,
  listing: Listing<K, D>,
  call: Call<unknown, ListQuery>,
): readonly string[] | undefined {
  let best: readonly string[] | undefined;
  for (const [name, { index, keyOf }] of Object.entries(listing.filters)) {
    const value = call.query[name] ?? (name === 'site' ? call.caller.site : undefined);
    if (index === undefined || typeof value !== 'string') continue;
    const ids = fleet.lookupIds(index.name, keyOf?.(value) ?? value);
    if (best === undefined || ids.length < best.length) best = ids;
  }
  return best;
}

function candidates<K extends string, D extends AnyDoc>(
  fleet: Fleet,
  listing: Listing<K, D>,
  call: Call<unknown, ListQuery>,
): Iterable<Stored<K, D>> {
  const under = findIndexedIds(fleet, listing, call);
  if (under === undefined) return fleet.all(listing.representation.kind);
  return under
    .map((id) => fleet.get(listing.representation.kind, id as Id<K>))
    .filter((stored) => stored !== undefined);
}

interface Sorting<K extends string, D extends AnyDoc> {
  readonly listing: Listing<K, D>;
  readonly wanted: DocumentPredicate<D>;
  readonly sort: string;
  readonly cursor: Cursor | undefined;
  readonly limit: number;
}

/** The page after the cursor: everything is scanned, but never more than two pages are kept and sorted. */
function sortPage<K extends string, D extends AnyDoc>(
  all: Iterable<Stored<K, D>>,
  { listing, wanted, sort, cursor, limit }: Sorting<K, D>,
): Stored<K, D>[] {
  const turn = sort.startsWith('-') ? -1 : 1;
  const value = valueFor(listing, sort);
  const compare = (one: Cursor, other: Cursor): number =>
    turn * (compareValues(one[1] ?? '', other[1] ?? '') || compareValues(one[0], other[0]));
  const keyOf = (stored: Stored<K, D>): Cursor => [stored.id, value(stored)];
  let kept: { readonly key: Cursor; readonly stored: Stored<K, D> }[] = [];
  const trim = (): void => {
    kept.sort((one, other) => compare(one.key, other.key));
    kept = kept.slice(0, limit + 1);
  };
  for (const stored of all) {
    if (wanted !== undefined && !wanted(stored.doc, stored.id)) continue;
    const key = keyOf(stored);
    if (cursor !== undefined && compare(key, cursor) <= 0) continue;
    kept.push({ key, stored });
    if (kept.length > 2 * limit + WALK_PAGE) trim();
  }
  trim();
  return kept.map((one) => one.stored);
}

function valueFor<K extends string, D extends AnyDoc>(
  listing: Listing<K, D>,
  sort: string,
): (stored: Stored<K, D>) => SortValue {
  const name = sort.startsWith('-') ? sort.slice(1) : sort;
  const of = listing.sorts[name];
  return of === undefined ? (stored) => stored.id : (stored) => of(stored.doc);
}

function compareValues(one: SortValue, other: SortValue): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function encodeCursor<K extends string, D extends AnyDoc>(
  stored: Stored<K, D>,
  listing: Listing<K, D>,
  { sort, list }: { readonly sort: string; readonly list: string },
): string {
  const value = sort === 'id' ? '' : valueFor(listing, sort)(stored);
  return encodeURIComponent(JSON.stringify([stored.id, value, list])).replaceAll('%', '~');
}

/** What a list is of: the kind, the order and the filters. A cursor of one list is not valid for another. */
function listMark<K extends string, D extends AnyDoc>(listing: Listing<K, D>, query: ListQuery, sort: string): string {
  const filters = Object.keys(listing.filters)
    .sort()
    .flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]]));
  return fingerprint(JSON.stringify([listing.representation.kind.name, sort, filters]));
}

/** FNV-1a, 32 bits: it distinguishes lists and protects no secret. */
function fingerprint(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}

function decodeCursor(text: string): NamedCursor | undefined {
  try {
    const [id, value, list] = JSON.parse(decodeURIComponent(text.replaceAll('~', '%'))) as unknown[];
    if (typeof id !== 'string' || (list !== undefined && typeof list !== 'string')) return undefined;
    if (value === undefined) return { cursor: [id], list };
    return typeof value === 'string' || typeof value === 'number' ? { cursor: [id, value], list } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof URIError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function badCursor(): Refusal {
  const message = 'This is not a `next` of an answer. Start again without `after`.';
  return { kind: 'invalid', code: 'bad-cursor', message, field: '/after' };
}

function otherCursor(): Refusal {
  const message =
    'This `next` is of a list with another order or other filters. Use the same ones, or start again without `after`.';
  return { kind: 'invalid', code: 'cursor-of-another-list', message, field: '/after' };
}

function accessDenied(kind: string): Refusal {
  return {
    kind: 'forbidden',
    code: 'forbidden',
    message: `Your token may not list ${kind.replaceAll('-', ' ')}s. Use a token with another role.`,
  };
}

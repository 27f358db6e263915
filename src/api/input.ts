// A request against its route's schemas. Bodies are taken as they are; query strings, which are all text, are read as the
// numbers and booleans that the schema names, and only when they are written exactly so.
import type { TObject, TSchema } from 'typebox';
import type { Route } from '../access/index.ts';
import { checker, type Problem } from '../fleet/index.ts';
import { malformed } from './problem.ts';

export interface Raw {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

export type Checked = Raw;

type Fields = Readonly<Record<string, unknown>>;

/** Compiled once per route. Throws a problem that names every wrong field; a body that has passed before passes. */
export function inputChecker(route: Route): (raw: Raw, bodyHasPassed: boolean) => Checked {
  const params = route.params && checker(route.params);
  const query = route.query && checker(route.query);
  const body = route.body && checker(route.body);
  const readers = queryReaders(route.query);
  return (raw, bodyHasPassed) => {
    if (params !== undefined) refuseIfAny('path', params(raw.params));
    const given = readQuery(raw.query as Fields, readers);
    if (query !== undefined) refuseIfAny('query', query(given));
    else refuseIfAny('query', unknownNames(given));
    if (body === undefined) {
      if (raw.body !== undefined) refuseIfAny('body', [{ field: '', message: 'must be empty' }]);
      return { params: raw.params, query: given, body: undefined };
    }
    // No body is an empty one; a body of `null` is not.
    const wanted = raw.body === undefined ? {} : raw.body;
    if (!bodyHasPassed) refuseIfAny('body', body(wanted));
    return { params: raw.params, query: given, body: wanted };
  };
}

function refuseIfAny(where: 'path' | 'query' | 'body', problems: readonly Problem[]): void {
  if (problems.length > 0) throw malformed(where, problems);
}

function unknownNames(given: Fields): Problem[] {
  return Object.keys(given).map((name) => ({ field: `/${name}`, message: 'is not a known parameter' }));
}

type Reader = (text: string) => unknown;

const NUMBER = /^-?(?:0|[1-9]\d{0,15})$/;

function queryReaders(schema: TObject | undefined): ReadonlyMap<string, Reader> {
  const readers = new Map<string, Reader>();
  for (const [name, field] of Object.entries(schema?.properties ?? {})) {
    const reader = readerOf(field);
    if (reader !== undefined) readers.set(name, reader);
  }
  return readers;
}

function readerOf(schema: TSchema): Reader | undefined {
  switch ((schema as { readonly type?: unknown }).type) {
    case 'integer':
    case 'number':
      return (text) => (NUMBER.test(text) ? Number(text) : text);
    case 'boolean':
      return (text) => (text === 'true' ? true : text === 'false' ? false : text);
    default:
      return undefined;
  }
}

const NOTHING: Fields = {};

function readQuery(query: Fields, readers: ReadonlyMap<string, Reader>): Fields {
  let given: Record<string, unknown> | undefined;
  for (const name of Object.keys(query)) {
    const value = query[name];
    const reader = readers.get(name);
    given ??= Object.create(null) as Record<string, unknown>;
    given[name] = reader !== undefined && typeof value === 'string' ? reader(value) : value;
  }
  return given ?? NOTHING;
}

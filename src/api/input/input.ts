// A request against its route's schemas. Bodies are taken as they are; query strings, which are all text, are read as the
// numbers and booleans that the schema names, and only when they are written exactly so.
import type { TObject, TSchema } from 'typebox';
import type { Route } from '../../access/index.ts';
import { compileChecker, type SchemaProblem } from '../../fleet/index.ts';
import { malformedProblem } from '../problem.ts';

export interface RawInput {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

export type CheckedInput = RawInput;

type Fields = Readonly<Record<string, unknown>>;

/** Compiled once per route. Throws a problem that names every wrong field; a body that has passed before passes. */
export function compileInputCheck(route: Route): (raw: RawInput, bodyHasPassed: boolean) => CheckedInput {
  const params = route.params && compileChecker(route.params);
  const query = route.query && compileChecker(route.query);
  const inLines = route.kind === 'bulk';
  const body = inLines ? undefined : route.body && compileChecker(route.body);
  const readers = queryReaders(route.query);
  return (raw, bodyHasPassed) => {
    if (params !== undefined) demandNoProblems('path', params(raw.params));
    const fields = readQuery(raw.query as Fields, readers);
    if (query !== undefined) demandNoProblems('query', query(fields));
    else demandNoProblems('query', unknownNames(fields));
    // Lines are checked as they come.
    if (inLines) return { params: raw.params, query: fields, body: undefined };
    if (body === undefined) {
      if (raw.body !== undefined) demandNoProblems('body', [{ field: '', message: 'must be empty' }]);
      return { params: raw.params, query: fields, body: undefined };
    }
    // No body is an empty one; a body of `null` is not.
    const wanted = raw.body === undefined ? {} : raw.body;
    if (!bodyHasPassed) demandNoProblems('body', body(wanted));
    return { params: raw.params, query: fields, body: wanted };
  };
}

function demandNoProblems(where: 'path' | 'query' | 'body', problems: readonly SchemaProblem[]): void {
  if (problems.length > 0) throw malformedProblem(where, problems);
}

function unknownNames(fields: Fields): SchemaProblem[] {
  return Object.keys(fields).map((name) => ({ field: `/${name}`, message: 'is not a known parameter' }));
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
  let values: Record<string, unknown> | undefined;
  for (const name of Object.keys(query)) {
    const value = query[name];
    const reader = readers.get(name);
    values ??= Object.create(null) as Record<string, unknown>;
    values[name] = reader !== undefined && typeof value === 'string' ? reader(value) : value;
  }
  return values ?? NOTHING;
}

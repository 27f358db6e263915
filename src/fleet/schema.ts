// Documents against their schema: nothing is coerced, dropped or filled in; what is wrong is named, with a suggestion.
import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import type { AnyDoc, Kind } from './document.ts';
import { optimizeSchema } from './fast-schema.ts';
import { sealedFieldsOf } from './sealed-fields.ts';

/** One thing that is wrong: where (a JSON pointer) and what to do about it. */
export interface SchemaProblem {
  readonly field: string;
  readonly message: string;
}

/** A validation error as TypeBox reports it. */
interface SchemaError {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message?: string | undefined;
}

/** Problems reported at once: a person fixes a few, then tries again. */
const PROBLEMS_MAX = 10;

/** Compiles a schema to a check. Made once per schema, not per document. */
export function compileChecker(schema: TSchema): (value: unknown) => SchemaProblem[] {
  const quick = Compile(optimizeSchema(schema));
  let full: ReturnType<typeof Compile> | undefined; // only what is wrong needs it
  return (value) => {
    if (quick.Check(value)) return [];
    full ??= Compile(schema);
    const problems = problemsFrom(full.Errors(value), schema);
    // A document that fails its check is never fine, whatever the errors say.
    return problems.length > 0 ? problems : [{ field: '', message: 'does not match its schema' }];
  };
}

/** A kind whose documents are checked by a schema on every commit. */
export function schemaKind<K extends string, S extends TSchema>(
  name: K,
  schema: S,
  extra: Omit<Kind<K, Static<S> & AnyDoc>, 'name' | 'check' | 'sealedFields'> = {},
): Kind<K, Static<S> & AnyDoc> {
  const problems = compileChecker(schema);
  const check = (doc: unknown): string | undefined => {
    const found = problems(doc);
    return found.length === 0 ? undefined : found.map((one) => `${one.field}: ${one.message}`).join('; ');
  };
  const sealedFields = sealedFieldsOf(schema);
  return { name, check, ...(sealedFields.length > 0 && { sealedFields }), ...extra };
}

function problemsFrom(errors: readonly SchemaError[], schema: TSchema): SchemaProblem[] {
  const problems = new Map<string, SchemaProblem>();
  for (const error of errors) {
    for (const problem of problemsOf(error, schema)) {
      if (!problems.has(problem.field)) problems.set(problem.field, problem);
    }
  }
  return [...problems.values()].slice(0, PROBLEMS_MAX);
}

function problemsOf(error: SchemaError, schema: TSchema): SchemaProblem[] {
  const params = error.params as Readonly<Record<string, unknown>>;
  const at = error.instancePath;
  switch (error.keyword) {
    // TypeBox reports an unknown field twice: by its own place, and by name at the place of its parent.
    case 'boolean':
      return [unknownField(schema, at.slice(0, at.lastIndexOf('/')), at.slice(at.lastIndexOf('/') + 1))];
    case 'additionalProperties':
      return namesIn(params['additionalProperties']).map((name) => unknownField(schema, at, name));
    case 'required':
      return namesIn(params['requiredProperties']).map((name) => ({
        field: `${at}/${name}`,
        message: 'is required',
      }));
    case 'const':
    case 'enum':
    case 'anyOf':
      return [{ field: at, message: allowedValuesAt(schema, at) ?? error.message ?? 'is not allowed' }];
    case 'format':
      return [{ field: at, message: addressAt(schema, at) ?? error.message ?? 'has a form that is not allowed' }];
    case 'pattern':
      return [{ field: at, message: formAt(schema, at) ?? error.message ?? 'has a form that is not allowed' }];
    default:
      return [{ field: at, message: error.message ?? `violates "${error.keyword}"` }];
  }
}

function unknownField(schema: TSchema, parent: string, name: string): SchemaProblem {
  const message = `is not a known field${suggestion(name, propertiesAt(schema, parent))}`;
  return { field: `${parent}/${name}`, message };
}

function namesIn(names: unknown): string[] {
  return (Array.isArray(names) ? names : []).filter((name) => typeof name === 'string');
}

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
  readonly allOf?: readonly SchemaNode[];
  readonly const?: unknown;
  /** Beside a pattern: what it requires, in words. */
  readonly 'x-form'?: string;
  readonly enum?: readonly unknown[];
  readonly format?: string;
}

function nodesAt(schema: TSchema, pointer: string): SchemaNode[] {
  let nodes: SchemaNode[] = spread(schema);
  for (const part of pointer.split('/').slice(1)) {
    nodes = nodes.flatMap((node) => spread(node.properties?.[part] ?? node.items));
  }
  return nodes;
}

function spread(node: SchemaNode | undefined): SchemaNode[] {
  if (node === undefined) return [];
  return [node, ...(node.anyOf ?? []).flatMap(spread), ...(node.allOf ?? []).flatMap(spread)];
}

function propertiesAt(schema: TSchema, pointer: string): string[] {
  return nodesAt(schema, pointer).flatMap((node) => Object.keys(node.properties ?? {}));
}

function formAt(schema: TSchema, pointer: string): string | undefined {
  const form = nodesAt(schema, pointer).find((node) => node['x-form'] !== undefined)?.['x-form'];
  return form === undefined ? undefined : `must be ${form}`;
}

const ADDRESSES: Readonly<Record<string, readonly [name: string, sample: string]>> = {
  ipv4: ['IPv4', '192.0.2.7'],
  ipv6: ['IPv6', '2001:db8::7'],
};

function addressAt(schema: TSchema, pointer: string): string | undefined {
  const kinds = nodesAt(schema, pointer).flatMap(({ format = '' }) => (format in ADDRESSES ? [ADDRESSES[format]] : []));
  if (kinds.length === 0) return undefined;
  const [names, samples] = [0, 1].map((nth) => kinds.map((kind) => kind?.[nth]).join(' or '));
  return `must be an ${names} address, such as ${samples}`;
}

function allowedValuesAt(schema: TSchema, pointer: string): string | undefined {
  const values = nodesAt(schema, pointer).flatMap((node) => [
    ...(node.const === undefined ? [] : [node.const]),
    ...(node.enum ?? []),
  ]);
  if (values.length === 0) return undefined;
  return `must be ${values.length === 1 ? '' : 'one of '}${values.map((value) => JSON.stringify(value)).join(', ')}`;
}

/** ` (did you mean "x"?)` when one of the known words is close to what was written, or begins with it. */
export function suggestion(word: string, known: readonly string[]): string {
  const meant = closestMatch(word, known) ?? matchPrefix(word, known);
  return meant === undefined ? '' : ` (did you mean "${meant}"?)`;
}

/** Fewer letters begin too much. */
const BEGINNING_MIN = 3;

/** The word that was begun, if it is clear which one: the others that begin so begin with it as well. */
function matchPrefix(word: string, known: readonly string[]): string | undefined {
  if (word.length < BEGINNING_MIN) return undefined;
  const startsAlike = known.filter((name) => name.toLowerCase().startsWith(word.toLowerCase()));
  const [shortest] = startsAlike.toSorted((one, other) => one.length - other.length);
  return shortest !== undefined && startsAlike.every((name) => name.startsWith(shortest)) ? shortest : undefined;
}

function closestMatch(word: string, known: readonly string[]): string | undefined {
  const lower = word.toLowerCase();
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of known) {
    const distance = editDistance(lower, name.toLowerCase());
    if (distance <= Math.max(2, Math.floor(name.length / 3)) && (best === undefined || distance < best.distance)) {
      best = { name, distance };
    }
  }
  return best?.name;
}

function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

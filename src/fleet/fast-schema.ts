// The same schema in a form that is checked sooner: TypeBox hashes the items of a unique list and matches the name of every
// field with a regular expression, on every commit. Exactly the same documents pass; errors are reported by the original schema.
import type { TSchema } from 'typebox';

interface Refinement {
  readonly check: (value: unknown) => boolean;
  readonly error: () => string;
}

type SchemaNode = Readonly<Record<string, unknown>>;

export function optimizeSchema(schema: TSchema): TSchema {
  return rewrite(schema) as TSchema;
}

function rewrite(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(rewrite);
  if (typeof node !== 'object' || node === null) return node;
  const copy: Record<string, unknown> = {};
  for (const name of Object.getOwnPropertyNames(node)) {
    copy[name] = LITERAL.has(name) ? (node as SchemaNode)[name] : rewrite((node as SchemaNode)[name]);
  }
  const refinements = [refineUniqueItems(copy), refineKnownFields(copy)].filter((one) => one !== undefined);
  if (refinements.length === 0) return copy;
  copy['~refine'] = [...((copy['~refine'] as readonly Refinement[] | undefined) ?? []), ...refinements];
  return copy;
}

/** Keywords whose value is data, not a schema. */
const LITERAL = new Set(['const', 'enum', 'default', 'examples', 'required', '~refine']);

/** Up to so many are compared with each other: that is sooner done than a set is made. */
const COMPARED_MAX = 8;

const DISTINCT_ITEMS: Refinement = {
  check: (value) => !Array.isArray(value) || areDistinct(value),
  error: () => 'items must be unique',
};

function areDistinct(values: readonly unknown[]): boolean {
  if (values.length > COMPARED_MAX) return new Set(values).size === values.length;
  for (let at = 1; at < values.length; at += 1) if (values.lastIndexOf(values[at], at - 1) !== -1) return false;
  return true;
}

/** Takes `uniqueItems` out of a list of strings. */
function refineUniqueItems(node: Record<string, unknown>): Refinement | undefined {
  const items = node['items'] as SchemaNode | undefined;
  if (node['uniqueItems'] !== true || items?.['type'] !== 'string') return undefined;
  delete node['uniqueItems'];
  return DISTINCT_ITEMS;
}

/** Takes `additionalProperties: false` out of an object whose fields are all named. */
function refineKnownFields(node: Record<string, unknown>): Refinement | undefined {
  const { properties, additionalProperties, patternProperties } = node as SchemaNode;
  if (additionalProperties !== false || patternProperties !== undefined) return undefined;
  if (typeof properties !== 'object' || properties === null) return undefined;
  delete node['additionalProperties'];
  const known = new Set(Object.keys(properties));
  const check = (value: unknown): boolean => {
    if (typeof value !== 'object' || value === null) return true;
    // Unlike a list of the names, this makes nothing. It has inherited names too, which documents do not.
    for (const name in value) if (!known.has(name) && Object.hasOwn(value, name)) return false;
    return true;
  };
  return { check, error: () => 'fields must be known' };
}

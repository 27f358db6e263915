// The fields of a kind that hold sealed secrets, found by a mark in its schema. A text elsewhere that looks like a sealed secret is a text like any other.
import type { TSchema } from 'typebox';

/** Marks the schema of a field that holds a sealed secret. */
export const SEALED_MARK = 'x-sealed';

/** The names on the way to a field; `*` stands for every item of a list, and for every field of a record. */
export type FieldPath = readonly string[];

interface SchemaNode {
  readonly [SEALED_MARK]?: unknown;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>;
  readonly anyOf?: readonly SchemaNode[];
  readonly allOf?: readonly SchemaNode[];
}

export function sealedFieldsOf(schema: TSchema): readonly FieldPath[] {
  // The variants of a union may share a field.
  return [...new Map(pathsIn(schema).map((path) => [path.join('/'), path])).values()];
}

function pathsIn(node: SchemaNode | boolean | undefined): FieldPath[] {
  if (typeof node !== 'object') return [];
  if (node[SEALED_MARK] === true) return [[]];
  const { properties = {}, items, additionalProperties, patternProperties = {}, anyOf = [], allOf = [] } = node;
  const each = [items, additionalProperties, ...Object.values(patternProperties)];
  return [
    ...Object.entries(properties).flatMap(([name, field]) => pathsIn(field).map((path) => [name, ...path])),
    ...each.flatMap((one) => pathsIn(one).map((path) => ['*', ...path])),
    ...[...anyOf, ...allOf].flatMap(pathsIn),
  ];
}

/** The document with each sealed text replaced. */
export function mapSealed<D extends object>(
  doc: D,
  fields: readonly FieldPath[],
  replace: (sealed: string) => string,
): D {
  return fields.reduce<unknown>((changed, path) => mapAt(changed, path, replace), doc) as D;
}

function mapAt(value: unknown, [name, ...rest]: FieldPath, replace: (sealed: string) => string): unknown {
  if (name === undefined) return typeof value === 'string' ? replace(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return name === '*' ? value.map((item) => mapAt(item, rest, replace)) : value;
  const entries = Object.entries(value).map(([field, inner]: [string, unknown]): [string, unknown] => {
    return [field, name === '*' || name === field ? mapAt(inner, rest, replace) : inner];
  });
  return Object.fromEntries(entries);
}

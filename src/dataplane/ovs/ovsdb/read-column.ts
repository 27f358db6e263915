// Reads a column as the type of the schema. A column that is not monitored reads as absent.
import type { Atom, OvsdbRow, Value } from './value.ts';

/** Undefined when the column is absent, empty or not a string. */
export function textColumn(row: OvsdbRow | undefined, column: string): string | undefined {
  const [first] = atomsOf(row?.[column]);
  return typeof first === 'string' ? first : undefined;
}

export function numberColumn(row: OvsdbRow | undefined, column: string): number | undefined {
  const [first] = atomsOf(row?.[column]);
  return typeof first === 'number' ? first : undefined;
}

export function booleanColumn(row: OvsdbRow | undefined, column: string): boolean | undefined {
  const [first] = atomsOf(row?.[column]);
  return typeof first === 'boolean' ? first : undefined;
}

/** The rows that a column refers to. */
export function uuidsColumn(row: OvsdbRow | undefined, column: string): readonly string[] {
  return atomsOf(row?.[column]).flatMap((atom) => (typeof atom === 'object' && 'uuid' in atom ? [atom.uuid] : []));
}

/** A map of strings, such as external_ids; entries of other types are left out. */
export function textMapColumn(row: OvsdbRow | undefined, column: string): Readonly<Record<string, string>> {
  const value = row?.[column];
  if (value === undefined || typeof value !== 'object' || !('map' in value)) return {};
  return Object.fromEntries(value.map.filter(isTextPair));
}

function isTextPair(pair: readonly [Atom, Atom]): pair is readonly [string, string] {
  return typeof pair[0] === 'string' && typeof pair[1] === 'string';
}

function atomsOf(value: Value | undefined): readonly Atom[] {
  if (value === undefined) return [];
  if (typeof value === 'object') {
    if ('set' in value) return value.set;
    if ('map' in value) return [];
  }
  return [value];
}

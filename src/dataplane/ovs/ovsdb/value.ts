// The values of RFC 7047 in both directions. On the wire a set with one element looks like the element; only the reader of a column knows
// its type, so reading takes the expected type and checks it.
import { MalformedMessage } from '../transport/failures.ts';

/** Integers beyond 2^53 lose precision; only traffic counters reach that. */
export type Atom = string | number | boolean | Uuid | NamedUuid;

export interface Uuid {
  readonly uuid: string;
}

/** A row that the same transaction inserts, by its name there. */
export interface NamedUuid {
  readonly namedUuid: string;
}

export interface SetOf {
  readonly set: readonly Atom[];
}

export interface MapOf {
  readonly map: readonly (readonly [Atom, Atom])[];
}

export type Value = Atom | SetOf | MapOf;

export type OvsdbRow = Readonly<Record<string, Value>>;

export function setOf(atoms: readonly Atom[]): SetOf {
  return { set: atoms };
}

export function mapOf(entries: Readonly<Record<string, Atom>>): MapOf {
  return { map: Object.entries(entries) };
}

export function encodeValue(value: Value): unknown {
  if (typeof value !== 'object') return value;
  if ('set' in value) return ['set', value.set.map(encodeAtom)];
  if ('map' in value) return ['map', value.map.map(([key, held]) => [encodeAtom(key), encodeAtom(held)])];
  return encodeAtom(value);
}

function encodeAtom(atom: Atom): unknown {
  if (typeof atom !== 'object') return atom;
  return 'uuid' in atom ? ['uuid', atom.uuid] : ['named-uuid', atom.namedUuid];
}

export function encodeRow(row: OvsdbRow): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, encodeValue(value)]));
}

export function decodeRow(wire: unknown): OvsdbRow {
  if (!isRecord(wire)) throw new MalformedMessage(`not a row: ${brief(wire)}`);
  return Object.fromEntries(Object.entries(wire).map(([column, value]) => [column, decodeValue(value)]));
}

export function decodeValue(wire: unknown): Value {
  if (!Array.isArray(wire)) return decodeAtom(wire);
  const [kind, items] = wire as readonly unknown[];
  if (kind === 'set' && Array.isArray(items)) return decodeSet(items);
  if (kind === 'map' && Array.isArray(items)) return { map: items.map(decodePair) };
  return decodeAtom(wire);
}

/** Always in the wire form of a set with one element, so that two copies of a row can be compared. */
function decodeSet(items: readonly unknown[]): Value {
  const set = items.map(decodeAtom);
  const [only] = set;
  return set.length === 1 && only !== undefined ? only : { set };
}

function decodePair(wire: unknown): readonly [Atom, Atom] {
  if (!Array.isArray(wire) || wire.length !== 2) throw new MalformedMessage(`not an entry of a map: ${brief(wire)}`);
  return [decodeAtom(wire[0]), decodeAtom(wire[1])];
}

function decodeAtom(wire: unknown): Atom {
  if (typeof wire === 'string' || typeof wire === 'number' || typeof wire === 'boolean') return wire;
  if (Array.isArray(wire) && wire.length === 2) {
    const [kind, id] = wire as readonly unknown[];
    if (kind === 'uuid' && typeof id === 'string') return { uuid: id };
    if (kind === 'named-uuid' && typeof id === 'string') return { namedUuid: id };
  }
  throw new MalformedMessage(`not a value: ${brief(wire)}`);
}

export function isRecord(wire: unknown): wire is Readonly<Record<string, unknown>> {
  return typeof wire === 'object' && wire !== null && !Array.isArray(wire);
}

function brief(wire: unknown): string {
  return wire === undefined ? 'nothing' : JSON.stringify(wire).slice(0, 200);
}

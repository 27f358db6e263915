// A replica of monitored tables, kept up to date by the updates of the database. A new connection sends the whole state again; only
// differences count as changes.
import { MalformedMessage } from '../transport/failures.ts';
import { decodeRow, encodeValue, isRecord, type OvsdbRow, type Value } from './value.ts';

export type RowChange =
  | { readonly kind: 'inserted'; readonly table: string; readonly uuid: string; readonly after: OvsdbRow }
  | {
      readonly kind: 'changed';
      readonly table: string;
      readonly uuid: string;
      readonly before: OvsdbRow;
      readonly after: OvsdbRow;
    }
  | { readonly kind: 'removed'; readonly table: string; readonly uuid: string; readonly before: OvsdbRow };

type Rows = ReadonlyMap<string, OvsdbRow>;

interface RowUpdate {
  readonly table: string;
  readonly uuid: string;
  /** Undefined: the row was deleted. */
  readonly row: OvsdbRow | undefined;
}

export class Replica {
  readonly #tables: ReadonlyMap<string, Map<string, OvsdbRow>>;

  constructor(tables: readonly string[]) {
    this.#tables = new Map(tables.map((table) => [table, new Map<string, OvsdbRow>()]));
  }

  table(name: string): Rows {
    const rows = this.#tables.get(name);
    if (rows === undefined) throw new Error(`table ${name} is not monitored`);
    return rows;
  }

  /** The whole state again: rows that are not in it were deleted. */
  replace(contents: unknown): RowChange[] {
    const updates = readUpdates(contents, this.#tables);
    const there = new Map([...this.#tables.keys()].map((table) => [table, new Set<string>()]));
    for (const { table, uuid } of updates) there.get(table)?.add(uuid);
    const removed = [...this.#tables].flatMap(([table, rows]) =>
      [...rows.keys()].filter((uuid) => there.get(table)?.has(uuid) !== true).map((uuid) => ({ table, uuid })),
    );
    return this.#take([...removed.map((one) => ({ ...one, row: undefined })), ...updates]);
  }

  /** Applies an update and returns the changes. Nothing is applied when a part of it is malformed. */
  update(updates: unknown): RowChange[] {
    return this.#take(readUpdates(updates, this.#tables));
  }

  #take(updates: readonly RowUpdate[]): RowChange[] {
    return updates.flatMap((update) => this.#takeOne(update) ?? []);
  }

  #takeOne({ table, uuid, row }: RowUpdate): RowChange | undefined {
    const rows = this.#tables.get(table);
    const before = rows?.get(uuid);
    if (row === undefined) {
      rows?.delete(uuid);
      return before && { kind: 'removed', table, uuid, before };
    }
    if (before !== undefined && isSame(before, row)) return undefined;
    rows?.set(uuid, row);
    if (before === undefined) return { kind: 'inserted', table, uuid, after: row };
    return { kind: 'changed', table, uuid, before, after: row };
  }
}

function readUpdates(wire: unknown, tables: ReadonlyMap<string, unknown>): RowUpdate[] {
  if (!isRecord(wire)) throw new MalformedMessage('an update of tables is not an object');
  return Object.entries(wire).flatMap(([table, rows]) => {
    if (!tables.has(table)) throw new MalformedMessage(`an update of table ${table}, which is not monitored`);
    if (!isRecord(rows)) throw new MalformedMessage(`an update of table ${table} is not an object`);
    return Object.entries(rows).map(([uuid, update]) => readUpdate(table, uuid, update));
  });
}

/** `new` has all monitored columns; without it the row was deleted. */
function readUpdate(table: string, uuid: string, update: unknown): RowUpdate {
  if (!isRecord(update) || (update['new'] === undefined && update['old'] === undefined)) {
    throw new MalformedMessage(`an update of row ${uuid} of table ${table} has neither an old nor a new value`);
  }
  return { table, uuid, row: update['new'] === undefined ? undefined : decodeRow(update['new']) };
}

function isSame(one: OvsdbRow, other: OvsdbRow): boolean {
  const columns = Object.keys(one);
  return columns.length === Object.keys(other).length && columns.every((column) => isSameIn(column, one, other));
}

function isSameIn(column: string, one: OvsdbRow, other: OvsdbRow): boolean {
  const [held, come] = [one[column], other[column]];
  if (held === come) return true;
  return held !== undefined && come !== undefined && text(held) === text(come);
}

function text(value: Value): string {
  return JSON.stringify(encodeValue(value));
}

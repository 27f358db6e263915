// The operations of a transaction and their results, as RFC 7047 writes them.
import { MalformedMessage } from '../transport/failures.ts';
import { readRefusal } from './transaction-refused.ts';
import { decodeRow, encodeRow, encodeValue, isRecord, type OvsdbRow, type Value } from './value.ts';

/** An empty list means all rows. */
export type Where = readonly (readonly [column: string, test: Test, value: Value])[];

type Test = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'includes' | 'excludes';

export type Mutation = readonly [column: string, mutator: Mutator, value: Value];

type Mutator = '+=' | '-=' | '*=' | '/=' | '%=' | 'insert' | 'delete';

export type OvsdbOperation =
  | { readonly op: 'insert'; readonly table: string; readonly row: OvsdbRow; readonly name?: string }
  | { readonly op: 'select'; readonly table: string; readonly where: Where; readonly columns?: readonly string[] }
  | { readonly op: 'update'; readonly table: string; readonly where: Where; readonly row: OvsdbRow }
  | { readonly op: 'mutate'; readonly table: string; readonly where: Where; readonly mutations: readonly Mutation[] }
  | { readonly op: 'delete'; readonly table: string; readonly where: Where }
  /** Refuses the transaction unless the rows are as given. */
  | { readonly op: 'wait'; readonly table: string; readonly where: Where; readonly rows: readonly OvsdbRow[] }
  /** Is written to the log of the database. */
  | { readonly op: 'comment'; readonly comment: string };

export type OperationResult =
  | { readonly kind: 'inserted'; readonly uuid: string }
  | { readonly kind: 'counted'; readonly count: number }
  | { readonly kind: 'selected'; readonly rows: readonly OvsdbRow[] }
  | { readonly kind: 'done' };

export function encodeOperation(operation: OvsdbOperation): object {
  switch (operation.op) {
    case 'insert': {
      const { op, table, row, name } = operation;
      return { op, table, row: encodeRow(row), ...(name !== undefined && { 'uuid-name': name }) };
    }
    case 'select': {
      const { op, table, where, columns } = operation;
      return { op, table, where: encodeTriples(where), ...(columns !== undefined && { columns }) };
    }
    case 'update': {
      const { op, table, where, row } = operation;
      return { op, table, where: encodeTriples(where), row: encodeRow(row) };
    }
    case 'mutate': {
      const { op, table, where, mutations } = operation;
      return { op, table, where: encodeTriples(where), mutations: encodeTriples(mutations) };
    }
    case 'delete': {
      const { op, table, where } = operation;
      return { op, table, where: encodeTriples(where) };
    }
    case 'wait': {
      const { op, table, where, rows } = operation;
      const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      // Never waits: the caller retries with what the database has then.
      const wanted = { until: '==', rows: rows.map(encodeRow), timeout: 0 };
      return { op, table, where: encodeTriples(where), ...(columns.length > 0 && { columns }), ...wanted };
    }
    case 'comment':
      return { op: 'comment', comment: operation.comment };
  }
}

function encodeTriples(triples: readonly (readonly [string, string, Value])[]): unknown[] {
  return triples.map(([column, verb, value]) => [column, verb, encodeValue(value)]);
}

/** The results in the order of the operations. Throws `TransactionRefused` when the transaction was not committed. */
export function readResults(operations: readonly OvsdbOperation[], wire: unknown): OperationResult[] {
  if (!Array.isArray(wire)) throw new MalformedMessage('the results of a transaction are not a list');
  const results = wire as readonly unknown[];
  const failed = results.findIndex((result) => isRecord(result) && result['error'] !== undefined);
  if (failed !== -1) throw readRefusal(operations, failed, results[failed]);
  if (results.length < operations.length) {
    throw new MalformedMessage(`${operations.length} operations were sent and ${results.length} answered`);
  }
  return operations.map((operation, index) => readResult(operation, results[index]));
}

function readResult(operation: OvsdbOperation, wire: unknown): OperationResult {
  if (!isRecord(wire)) throw new MalformedMessage(`the result of ${operation.op} is not an object`);
  const { uuid, count, rows } = wire;
  switch (operation.op) {
    case 'insert': {
      const id: unknown = Array.isArray(uuid) && uuid[0] === 'uuid' ? uuid[1] : undefined;
      if (typeof id !== 'string') break;
      return { kind: 'inserted', uuid: id };
    }
    case 'select':
      if (!Array.isArray(rows)) break;
      return { kind: 'selected', rows: rows.map(decodeRow) };
    case 'update':
    case 'mutate':
    case 'delete':
      if (typeof count !== 'number') break;
      return { kind: 'counted', count };
    case 'wait':
    case 'comment':
      return { kind: 'done' };
  }
  throw new MalformedMessage(`not the result of ${operation.op}: ${JSON.stringify(wire).slice(0, 200)}`);
}

// Operations as they are sent, and refusals that say where.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DaemonFailure, MalformedMessage } from '../transport/failures.ts';
import { encodeOperation, type OvsdbOperation, readResults } from './operation.ts';
import { TransactionRefused } from './transaction-refused.ts';
import { mapOf, setOf } from './value.ts';

const ALL: readonly OvsdbOperation[] = [
  { op: 'insert', table: 'Bridge', row: { name: 'b', external_ids: mapOf({ a: '1' }) }, name: 'new1' },
  { op: 'select', table: 'Bridge', where: [['name', '==', 'b']], columns: ['name'] },
  { op: 'update', table: 'Bridge', where: [], row: { fail_mode: 'secure' } },
  {
    op: 'mutate',
    table: 'Open_vSwitch',
    where: [],
    mutations: [['bridges', 'insert', setOf([{ namedUuid: 'new1' }])]],
  },
  { op: 'delete', table: 'Port', where: [['_uuid', '==', { uuid: 'u' }]] },
  { op: 'wait', table: 'Bridge', where: [], rows: [{ name: 'b' }] },
  { op: 'comment', comment: 'why' },
];

const RESULTS = [{ uuid: ['uuid', 'u1'] }, { rows: [{ name: 'b' }] }, { count: 2 }, { count: 1 }, { count: 0 }, {}, {}];

function refusedOf(operations: readonly OvsdbOperation[], results: readonly unknown[]): TransactionRefused {
  try {
    readResults(operations, results);
  } catch (error) {
    if (error instanceof TransactionRefused) return error;
  }
  throw new Error('it was not refused');
}

describe('operations', () => {
  test('they-are-written-as-the-protocol-has-them', () => {
    expect(ALL.map(encodeOperation)).toEqual([
      { op: 'insert', table: 'Bridge', row: { name: 'b', external_ids: ['map', [['a', '1']]] }, 'uuid-name': 'new1' },
      { op: 'select', table: 'Bridge', where: [['name', '==', 'b']], columns: ['name'] },
      { op: 'update', table: 'Bridge', where: [], row: { fail_mode: 'secure' } },
      {
        op: 'mutate',
        table: 'Open_vSwitch',
        where: [],
        mutations: [['bridges', 'insert', ['set', [['named-uuid', 'new1']]]]],
      },
      { op: 'delete', table: 'Port', where: [['_uuid', '==', ['uuid', 'u']]] },
      { op: 'wait', table: 'Bridge', where: [], columns: ['name'], until: '==', rows: [{ name: 'b' }], timeout: 0 },
      { op: 'comment', comment: 'why' },
    ]);
  });

  test('results-are-read-in-the-order-of-the-operations', () => {
    expect(readResults(ALL, RESULTS)).toEqual([
      { kind: 'inserted', uuid: 'u1' },
      { kind: 'selected', rows: [{ name: 'b' }] },
      { kind: 'counted', count: 2 },
      { kind: 'counted', count: 1 },
      { kind: 'counted', count: 0 },
      { kind: 'done' },
      { kind: 'done' },
    ]);
  });

  test.each([
    ['no list', {}],
    ['too few', RESULTS.slice(1)],
    ['another kind', [{}, ...RESULTS.slice(1)]],
  ])('results-are-malformed: %s', (_, wire) => {
    expect(() => readResults(ALL, wire)).toThrow(MalformedMessage);
  });

  test('never: random results do anything but fail by name', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.array(fc.oneof(fc.constantFrom(...RESULTS), fc.jsonValue()))), (wire) => {
        try {
          readResults(ALL, wire);
        } catch (error) {
          expect(error).toBeInstanceOf(DaemonFailure);
        }
      }),
    );
  });
});

/** Sentences of Open vSwitch 3.1. */
describe('refusals', () => {
  const insert: OvsdbOperation = { op: 'insert', table: 'Bridge', row: { name: 'x', fail_mode: 'no' } };

  test.each([
    ['unknown column', 'No column nme in table Bridge.', 'nme'],
    ['constraint violation', 'no is not one of the allowed values ([secure, standalone])', 'fail_mode'],
    ['constraint violation', 'Cannot update immutable column name in table Bridge.', 'name'],
  ])('the-column-is-named: %s: %s', (error, details, column) => {
    const refused = refusedOf([{ op: 'comment', comment: '' }, insert], [{}, { error, details }]);
    expect(refused).toMatchObject({ operation: 1, table: 'Bridge', column, error, retryable: false });
    expect(refused.message).toBe(`operation 2 (insert), table Bridge, column ${column}: ${error}: ${details}`);
  });

  test('a-value-that-is-repeated-tells-the-column', () => {
    const bad: OvsdbOperation = { op: 'insert', table: 'Bridge', row: { name: 5, datapath_type: 'netdev' } };
    const error = { error: 'syntax error', details: 'expected string', syntax: '5' };
    expect(refusedOf([bad], [error])).toMatchObject({ operation: 0, table: 'Bridge', column: 'name' });
  });

  test('one-written-column-is-the-one', () => {
    const update: OvsdbOperation = { op: 'update', table: 'Interface', where: [], row: { ofport_request: 70_000 } };
    const error = { error: 'constraint violation', details: '70000 is not in the valid range 1 to 65279 (inclusive)' };
    expect(refusedOf([update], [error])).toMatchObject({ table: 'Interface', column: 'ofport_request' });
  });

  test.each([
    [
      'Transaction causes multiple rows in "Bridge" table to have identical values (br-int) for index on column "name".',
      { table: 'Bridge', column: 'name' },
    ],
    [
      'Table Port column interfaces row 644b references nonexistent row 0000 in table Interface.',
      { table: 'Port', column: 'interfaces' },
    ],
  ])('an-error-of-the-whole-transaction-is-of-no-operation: %s', (details, where) => {
    const refused = refusedOf([insert], [{ uuid: ['uuid', 'u'] }, { error: 'constraint violation', details }]);
    expect(refused).toMatchObject({ operation: undefined, ...where });
    expect(refused.message).toMatch(/^the transaction, table \w+, column \w+: constraint violation: /);
  });

  test('a-wait-that-was-in-vain-may-be-tried-again', () => {
    const wait: OvsdbOperation = { op: 'wait', table: 'Bridge', where: [], rows: [] };
    const error = { error: 'timed out', details: '"where" clause test failed' };
    expect(refusedOf([wait], [error])).toMatchObject({ operation: 0, retryable: true });
  });
});

// Values go to the wire and come back; columns are read in the form that is requested.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MalformedMessage } from '../transport/failures.ts';
import { booleanColumn, numberColumn, textColumn, textMapColumn, uuidsColumn } from './read-column.ts';
import {
  type Atom,
  decodeRow,
  decodeValue,
  encodeRow,
  encodeValue,
  mapOf,
  type OvsdbRow,
  setOf,
  type Value,
} from './value.ts';

const atom: fc.Arbitrary<Atom> = fc.oneof(
  fc.string(),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.uuid().map((uuid) => ({ uuid })),
  fc.string().map((namedUuid) => ({ namedUuid })),
);

const value: fc.Arbitrary<Value> = fc.oneof(
  atom,
  fc.array(atom, { maxLength: 5 }).map(setOf),
  fc.array(fc.tuple(atom, atom), { maxLength: 5 }).map((map) => ({ map })),
);

function overTheWire(held: unknown): unknown {
  return JSON.parse(JSON.stringify(held));
}

describe('values', () => {
  test.each([
    ['a text', 'a text'],
    [7, 7],
    [true, true],
    [{ uuid: 'u' }, ['uuid', 'u']],
    [{ namedUuid: 'n' }, ['named-uuid', 'n']],
    [setOf([]), ['set', []]],
    [
      setOf([{ uuid: 'u' }, { uuid: 'v' }]),
      [
        'set',
        [
          ['uuid', 'u'],
          ['uuid', 'v'],
        ],
      ],
    ],
    [
      mapOf({ a: 'b', c: 'd' }),
      [
        'map',
        [
          ['a', 'b'],
          ['c', 'd'],
        ],
      ],
    ],
  ] as const)('%j', (held, wire) => {
    expect(encodeValue(held)).toEqual(wire);
    expect(decodeValue(wire)).toEqual(held);
  });

  test('a-set-of-one-is-the-one', () => {
    expect(decodeValue(['set', [['uuid', 'u']]])).toEqual({ uuid: 'u' });
    expect(decodeValue(['uuid', 'u'])).toEqual({ uuid: 'u' });
  });

  test('what-is-written-is-read-back', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value), (row) => {
        const wire = overTheWire(encodeRow(row));
        const back = decodeRow(wire);
        expect(Object.keys(back).sort()).toEqual(Object.keys(row).sort());
        // A set of one changes its form once, and never again.
        expect(decodeRow(overTheWire(encodeRow(back)))).toEqual(back);
      }),
    );
  });

  test('never: random json does anything but fail by name', () => {
    const words = fc.constantFrom('set', 'map', 'uuid', 'named-uuid');
    const near = fc.tuple(words, fc.jsonValue()).map((pair) => [...pair]);
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), near), (wire) => {
        for (const decode of [decodeValue, decodeRow]) {
          try {
            decode(wire);
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedMessage);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  test('a-column-called-like-the-prototype-is-a-column', () => {
    const row = decodeRow(JSON.parse('{"__proto__":"x","name":"a"}'));
    expect(Object.keys(row)).toEqual(['__proto__', 'name']);
    expect(({} as Readonly<Record<string, unknown>>)['x']).toBeUndefined();
  });
});

describe('columns', () => {
  const row: OvsdbRow = {
    name: 'br-int',
    none: setOf([]),
    ofport: 5,
    enabled: true,
    port: { uuid: 'u' },
    ports: setOf([{ uuid: 'u' }, { uuid: 'v' }]),
    external_ids: mapOf({ a: 'b', n: 5 }),
  };

  test('they-are-read-in-the-wanted-form', () => {
    expect(textColumn(row, 'name')).toBe('br-int');
    expect(numberColumn(row, 'ofport')).toBe(5);
    expect(booleanColumn(row, 'enabled')).toBe(true);
    expect(uuidsColumn(row, 'port')).toEqual(['u']);
    expect(uuidsColumn(row, 'ports')).toEqual(['u', 'v']);
    expect(textMapColumn(row, 'external_ids')).toEqual({ a: 'b' });
  });

  test('what-is-not-there-or-of-another-form-is-absent', () => {
    expect([
      textColumn(row, 'none'),
      textColumn(row, 'ofport'),
      textColumn(row, 'nothing'),
      textColumn(undefined, 'name'),
    ]).toEqual([undefined, undefined, undefined, undefined]);
    expect([numberColumn(row, 'name'), booleanColumn(row, 'name')]).toEqual([undefined, undefined]);
    expect([uuidsColumn(row, 'name'), uuidsColumn(row, 'external_ids'), textMapColumn(row, 'name')]).toEqual([
      [],
      [],
      {},
    ]);
  });
});

// The copy of monitored tables: it ends up as the database is, and reports each change once.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MalformedMessage } from '../transport/failures.ts';
import { Replica, type RowChange } from './replica.ts';

const BR = { name: 'br-int', ports: ['set', []] };

function kinds(changes: readonly RowChange[]): string[] {
  return changes.map(({ kind, table, uuid }) => `${kind} ${table} ${uuid}`);
}

describe('replica', () => {
  test('rows-are-inserted-changed-and-removed', () => {
    const replica = new Replica(['Bridge']);
    expect(kinds(replica.replace({ Bridge: { u1: { new: BR } } }))).toEqual(['inserted Bridge u1']);
    const after = { ...BR, ports: ['uuid', 'p'] };
    expect(replica.update({ Bridge: { u1: { old: { ports: ['set', []] }, new: after } } })).toEqual([
      {
        kind: 'changed',
        table: 'Bridge',
        uuid: 'u1',
        before: { name: 'br-int', ports: { set: [] } },
        after: { name: 'br-int', ports: { uuid: 'p' } },
      },
    ]);
    expect(kinds(replica.update({ Bridge: { u1: { old: after } } }))).toEqual(['removed Bridge u1']);
    expect(replica.table('Bridge').size).toBe(0);
  });

  test('a-whole-copy-anew-tells-only-what-differs', () => {
    const replica = new Replica(['Bridge', 'Port']);
    replica.replace({ Bridge: { a: { new: { name: 'a' } }, b: { new: { name: 'b' } }, c: { new: { name: 'c' } } } });
    const changes = replica.replace({
      Bridge: { a: { new: { name: 'a' } }, b: { new: { name: 'B' } } },
      Port: { p: { new: { name: 'p' } } },
    });
    expect(kinds(changes)).toEqual(['removed Bridge c', 'changed Bridge b', 'inserted Port p']);
    expect(replica.replace({ Port: { p: { new: { name: 'p' } } } })).toHaveLength(2);
    expect(replica.replace({})).toHaveLength(1);
  });

  test.each([
    ['no object', 5],
    ['a table that is not monitored', { Bridge: { good: { new: BR } }, Queue: {} }],
    ['a row that is no object', { Bridge: { good: { new: BR }, bad: 7 } }],
    ['neither old nor new', { Bridge: { good: { new: BR }, bad: {} } }],
    ['a value that is none', { Bridge: { good: { new: BR }, bad: { new: { name: null } } } }],
  ])('malformed-and-nothing-of-it-is-taken: %s', (_, wire) => {
    const replica = new Replica(['Bridge']);
    expect(() => replica.update(wire)).toThrow(MalformedMessage);
    expect(() => replica.replace(wire)).toThrow(MalformedMessage);
    expect(replica.table('Bridge').size).toBe(0);
  });

  test('a-table-that-is-not-monitored-is-a-mistake-of-the-caller', () => {
    expect(() => new Replica(['Bridge']).table('Port')).toThrow(/not monitored/);
  });

  /** What a database sends, and a copy that gets all of it, or everything anew now and then. */
  test('never: the copy and the database differ, nor is a change told twice', () => {
    const rows = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('x', 'y'));
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), rows), { maxLength: 10 }), (states) => {
        const replica = new Replica(['T']);
        const expected = new Map<string, unknown>();
        let before: Readonly<Record<string, string>> = {};
        for (const [anew, state] of states) {
          const changes = anew ? replica.replace({ T: wireOf(state) }) : replica.update({ T: between(before, state) });
          for (const change of changes) {
            expect(expected.has(change.uuid)).toBe(change.kind !== 'inserted');
            if (change.kind === 'removed') expected.delete(change.uuid);
            else {
              expect(expected.get(change.uuid)).not.toEqual(change.after['name']);
              expected.set(change.uuid, change.after['name']);
            }
          }
          expect(Object.fromEntries(expected)).toEqual(state);
          expect(new Map([...replica.table('T')].map(([uuid, row]) => [uuid, row['name']]))).toEqual(expected);
          before = state;
        }
      }),
    );
  });

  test('never: random json does anything but fail by name', () => {
    const row = fc.dictionary(fc.constantFrom('old', 'new'), fc.oneof(fc.jsonValue(), fc.constant({ name: 'x' })));
    const near = fc.dictionary(fc.constantFrom('T', 'X'), fc.dictionary(fc.string(), row));
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), near), (wire) => {
        try {
          new Replica(['T']).update(wire);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedMessage);
        }
      }),
    );
  });
});

function wireOf(state: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(state).map(([uuid, name]) => [uuid, { new: { name } }]));
}

function between(before: Readonly<Record<string, string>>, after: Readonly<Record<string, string>>): object {
  const removed = Object.keys(before).filter((uuid) => after[uuid] === undefined);
  const changed = Object.entries(after).filter(([uuid, name]) => before[uuid] !== name);
  return {
    ...Object.fromEntries(removed.map((uuid) => [uuid, { old: { name: before[uuid] } }])),
    ...wireOf(Object.fromEntries(changed)),
  };
}

import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { AscendingMap, PART_KEYS } from './ascending-map.ts';

const key = (nth: number): string => `k-${String(nth).padStart(6, '0')}`;

/** Half a part, one, and a few of them. */
const anyCount = fc.constantFrom(0, 1, PART_KEYS / 2, PART_KEYS, PART_KEYS + 1, 3 * PART_KEYS + 7);
const anyStep = fc.tuple(fc.constantFrom('set', 'delete', 'clear-range'), fc.nat(4 * PART_KEYS));

it('is a map, whatever came in order, came late and went again', () => {
  const property = fc.property(anyCount, fc.array(anyStep, { maxLength: 30 }), (count, steps) => {
    const map = new AscendingMap<number>();
    const naive = new Map<string, number>();
    const set = (nth: number, value: number): void => {
      map.set(key(nth), value);
      naive.set(key(nth), value);
    };
    const remove = (nth: number): void => {
      map.delete(key(nth));
      naive.delete(key(nth));
    };
    // Every second one, so that there is room between them.
    for (let nth = 0; nth < count; nth += 1) set(2 * nth + 1, nth);
    for (const [what, nth] of steps) {
      if (what === 'set') set(nth, -nth);
      else if (what === 'delete') remove(nth);
      else for (let at = nth; at < nth + 2 * PART_KEYS + 2; at += 1) remove(at);
      expect(map.size).toBe(naive.size);
    }
    for (let nth = 0; nth <= 6 * PART_KEYS + 20; nth += 1) {
      if (map.get(key(nth)) !== naive.get(key(nth)) || map.has(key(nth)) !== naive.has(key(nth))) {
        expect.fail(`${key(nth)} is ${map.get(key(nth))} and not ${naive.get(key(nth))}`);
      }
    }
  });
  fc.assert(property, { numRuns: 60 });
});

it('has the empty text as a key like any other', () => {
  const map = new AscendingMap<number>();
  expect(map.has('')).toBe(false);
  map.set('', 1);
  map.set('a', 2);
  expect([map.get(''), map.get('a'), map.size]).toEqual([1, 2, 2]);
  map.delete('');
  expect([map.get(''), map.size]).toEqual([undefined, 1]);
});

it('finds what is below everything after the first part ran empty', () => {
  const map = new AscendingMap<number>();
  for (let nth = 10; nth < 3 * PART_KEYS; nth += 1) map.set(key(nth), nth);
  for (let nth = 10; nth < 2 * PART_KEYS; nth += 1) map.delete(key(nth));
  map.set(key(1), 1);
  expect([map.get(key(1)), map.get(key(3)), map.get(key(3 * PART_KEYS - 1))]).toEqual([
    1,
    undefined,
    3 * PART_KEYS - 1,
  ]);
});

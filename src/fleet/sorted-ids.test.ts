import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { lowerBound, SortedIds } from './sorted-ids.ts';

const anyId = fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom('a', 'b', 'Z', '-', '9') });
const anyStep = fc.tuple(fc.constantFrom('add', 'delete', 'walk'), anyId);

it('walks in order whatever was added, deleted and walked before', () => {
  const property = fc.property(fc.array(anyStep), (steps) => {
    const ids = new SortedIds();
    const naive = new Set<string>();
    for (const [what, id] of steps) {
      if (what === 'add') {
        ids.add(id);
        naive.add(id);
      } else if (what === 'delete') {
        ids.delete(id);
        naive.delete(id);
      } else expect(ids.toArray()).toEqual([...naive].sort());
      expect(ids.size).toBe(naive.size);
      expect(ids.has(id)).toBe(naive.has(id));
      // It need not know, but what it says is so.
      if (ids.isBeyond(id)) expect([...naive].every((one) => one < id)).toBe(true);
    }
    expect(ids.toArray()).toEqual([...naive].sort());
  });
  fc.assert(property);
});

it('walks in order when a whole snapshot came in disorder', () => {
  const ids = new SortedIds();
  const names = Array.from({ length: 500 }, (_, nth) => `h-${(nth * 7919) % 500}`);
  for (const name of [...names, ...names]) ids.add(name);
  expect(ids.size).toBe(500);
  expect(ids.toArray()).toEqual([...names].sort());
});

const LARGE = Array.from({ length: 1000 }, (_, nth) => `n-${String(nth).padStart(4, '0')}`);
const anyLargeStep = fc.tuple(
  fc.constantFrom('delete', 'delete', 'delete', 'add', 'add-new', 'walk'),
  fc.integer({ min: 0, max: 999 }),
);

it('walks a large set in order, of which many ids are deleted between two walks, and some come back', () => {
  const property = fc.property(fc.array(anyLargeStep, { minLength: 300, maxLength: 900, size: 'max' }), (steps) => {
    const ids = new SortedIds();
    for (const id of LARGE) ids.add(id);
    const naive = new Set(LARGE);
    for (const [what, nth] of steps) {
      const id = what === 'add-new' ? `n-${nth}-later` : (LARGE[nth] as string);
      if (what === 'walk' && nth < 100) expect(ids.toArray()).toEqual([...naive].sort());
      if (what === 'delete') {
        ids.delete(id);
        naive.delete(id);
      } else if (what !== 'walk') {
        ids.add(id);
        naive.add(id);
      }
      expect(ids.size).toBe(naive.size);
      expect(ids.has(id)).toBe(naive.has(id));
      if (ids.isBeyond(id)) expect([...naive].every((one) => one < id)).toBe(true);
    }
    expect(ids.toArray()).toEqual([...naive].sort());
  });
  fc.assert(property, { numRuns: 30 });
});

it('is empty after all ids of a large set were deleted, and fills again', () => {
  const ids = new SortedIds();
  for (const id of LARGE) ids.add(id);
  for (const id of LARGE) ids.delete(id);
  for (const id of LARGE) ids.delete(id);
  expect([ids.size, ids.toArray()]).toEqual([0, []]);
  for (const id of LARGE.toReversed()) ids.add(id);
  expect(ids.toArray()).toEqual(LARGE);
});

it('knows that an id comes after all others, as long as they came in order', () => {
  const ids = new SortedIds();
  expect(ids.isBeyond('a')).toBe(true);
  for (const id of ['b', 'd']) ids.add(id);
  expect(['c', 'd', 'e'].map((id) => ids.isBeyond(id))).toEqual([false, false, true]);
});

it('finds the first that is not below', () => {
  const sorted = ['b', 'd'];
  expect(['a', 'b', 'c', 'd', 'e'].map((id) => lowerBound(sorted, id))).toEqual([0, 0, 1, 1, 2]);
});

import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { eachInSteps, filterInSteps, finish, mapInSteps, sortInSteps, type Steps } from './steps.ts';

const byKey = (one: { key: number }, other: { key: number }): number => one.key - other.key;

function count(steps: Steps<unknown>): number {
  let taken = 0;
  while (steps.next().done !== true) taken += 1;
  return taken;
}

test('sorted in steps is sorted: the same order, also of those that are equal', () => {
  const keys = fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 5000, size: 'max' });
  fc.assert(
    fc.property(keys, (list) => {
      const things = list.map((key, nth) => ({ key, nth }));
      expect(finish(sortInSteps(things, byKey))).toEqual([...things].sort(byKey));
    }),
    { numRuns: 30 },
  );
});

test('what is sorted stays as it is', () => {
  const things = [3, 1, 2];
  finish(sortInSteps(things, (one, other) => one - other));
  expect(things).toEqual([3, 1, 2]);
});

test('others can have their turns in a long work', () => {
  const many = Array.from({ length: 10_000 }, (_, nth) => ({ key: (nth * 7919) % 10_000 }));
  expect(count(eachInSteps(many, () => undefined))).toBeGreaterThan(30);
  expect(count(mapInSteps(many, () => 1))).toBeGreaterThan(30);
  expect(count(filterInSteps(many, () => true))).toBeGreaterThan(30);
  // Ten runs, merged four times over.
  expect(count(sortInSteps(many, byKey))).toBeGreaterThan(40);
});

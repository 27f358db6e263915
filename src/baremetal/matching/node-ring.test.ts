// The ring against a sorted list.
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { NodeRing, ringPosition, RING_SIZE } from './node-ring.ts';

const anyStep = fc.record({ adds: fc.boolean(), nth: fc.nat({ max: 600 }) });

function naiveFirst(ids: ReadonlySet<string>, position: number, except: ReadonlySet<string>): string | undefined {
  const distance = (id: string): number => (ringPosition(id) - position + RING_SIZE) % RING_SIZE;
  const left = [...ids].filter((id) => !except.has(id));
  return left.sort((one, other) => distance(one) - distance(other) || (one < other ? -1 : 1))[0];
}

it('never: a ring finds another first node than a sorted list does', () => {
  const steps = fc.array(anyStep, { minLength: 1, maxLength: 900, size: 'max' });
  fc.assert(
    fc.property(steps, fc.array(fc.nat({ max: RING_SIZE - 1 }), { minLength: 3, maxLength: 3 }), (taken, positions) => {
      const ring = new NodeRing();
      const ids = new Set<string>();
      for (const { adds, nth } of taken) {
        const id = `n${nth}`;
        if (adds && !ids.has(id)) {
          ids.add(id);
          ring.add(id);
        }
        if (!adds && ids.delete(id)) ring.delete(id);
      }
      expect(ring.size).toBe(ids.size);
      const copy = ring.copy();
      for (const position of positions) {
        const except = new Set<string>();
        for (let lost = 0; lost < 3; lost += 1) {
          const found = ring.firstFrom(position, except)?.id;
          expect(found).toBe(naiveFirst(ids, position, except));
          expect(copy.firstFrom(position, except)?.id).toBe(found);
          if (found !== undefined) except.add(found);
        }
      }
    }),
    { numRuns: 60 },
  );
});

it('many-nodes-in-many-parts', () => {
  const ring = new NodeRing();
  const ids = new Set(Array.from({ length: 3000 }, (_, nth) => `n${nth}`));
  for (const id of ids) ring.add(id);
  for (const id of [...ids].filter((one, nth) => nth % 3 === 0 && ids.delete(one))) ring.delete(id);
  ring.delete('nobody');
  expect(ring.size).toBe(2000);
  for (let nth = 0; nth < 200; nth += 1) {
    const position = ringPosition(`from-${nth}`);
    expect(ring.firstFrom(position)?.id).toBe(naiveFirst(ids, position, new Set()));
  }
  const first = ring.firstFrom(0)?.id as string;
  expect(ring.firstFrom(RING_SIZE - 1)?.id).toBe(first);
  expect(ring.firstFrom(RING_SIZE - 1, new Set([first]))?.id).toBe(naiveFirst(ids, RING_SIZE - 1, new Set([first])));
  expect(ring.firstFrom(RING_SIZE - 1, ids)).toBeUndefined();
});

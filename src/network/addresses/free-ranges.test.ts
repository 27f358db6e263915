import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CHUNK_RANGES_MAX, FreeRanges, floorIndex } from './free-ranges.ts';

const SIZE = 40;
/** Two million changes, on a machine that may be busy. */
const LONG = { timeout: 60_000 };

interface Step {
  readonly kind: 'take' | 'give' | 'has' | 'from';
  readonly at: bigint;
}

const anyStep: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('take', 'take', 'give', 'has', 'from'),
  at: fc.bigInt({ min: -1n, max: BigInt(SIZE) }),
});

/** Ranges that do not touch the ends: addresses outside stay outside. */
const anyRanges = fc
  .uniqueArray(fc.integer({ min: 0, max: SIZE - 1 }), { maxLength: 8 })
  .map((cuts) => {
    const sorted = [...cuts].sort((one, other) => one - other);
    return sorted.flatMap((first, at) => (at % 2 === 0 ? [{ first, last: sorted[at + 1] ?? first }] : []));
  })
  .map((ranges) => ranges.map(({ first, last }) => ({ first: BigInt(first), last: BigInt(last) })));

describe('free ranges', () => {
  test('answer as a plain set of addresses does', () => {
    fc.assert(
      fc.property(anyRanges, fc.array(anyStep, { maxLength: 60 }), (ranges, steps) => {
        const free = new FreeRanges(ranges);
        const naive = new Set<bigint>();
        for (const { first, last } of ranges) for (let at = first; at <= last; at += 1n) naive.add(at);
        const lowest = (from: bigint) => [...naive].filter((at) => at >= from).sort((a, b) => (a < b ? -1 : 1))[0];
        for (const { kind, at } of steps) {
          if (kind === 'take') expect(free.take(at)).toBe(naive.delete(at));
          else if (kind === 'give') {
            expect(free.give(at)).toBe(!naive.has(at));
            naive.add(at);
          } else if (kind === 'has') expect(free.has(at)).toBe(naive.has(at));
          else expect(free.firstFrom(at)).toBe(lowest(at));
          expect(free.size).toBe(BigInt(naive.size));
          expect(free.first()).toBe(lowest(-10n));
        }
      }),
    );
  });

  test('a-/64-is-one-range, whatever is allocated and released', () => {
    const first = 0x2001_0db8n << 96n;
    const last = first + (1n << 64n) - 1n;
    const free = new FreeRanges([{ first, last }]);
    expect(free.size).toBe(1n << 64n);
    expect(free.take(first + 5n)).toBe(true);
    expect(free.take(last)).toBe(true);
    expect(free.size).toBe((1n << 64n) - 2n);
    expect(free.chunkSizes()).toEqual([2]);
    expect(free.give(first + 5n)).toBe(true);
    expect(free.give(last)).toBe(true);
    expect(free.chunkSizes()).toEqual([1]);
  });

  test('of-10^6-addresses-in-the-worst-order, a-change-moves-one-small-chunk-and-a-search-looks-at-few', LONG, () => {
    const addresses = 1_000_000;
    const free = new FreeRanges([{ first: 0n, last: BigInt(addresses - 1) }]);
    // Every second one is allocated: half a million ranges of one address each.
    for (let at = 0; at < addresses; at += 2) free.take(BigInt(at));
    const sizes = free.chunkSizes();
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(addresses / 2);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(CHUNK_RANGES_MAX);
    // Chunks are at least a quarter full, so that there are few of them: a search halves their list, then one of them.
    expect(sizes.length).toBeLessThanOrEqual(addresses / 2 / (CHUNK_RANGES_MAX / 4));
    const looks = countLooks(sizes.length) + countLooks(CHUNK_RANGES_MAX);
    expect(looks).toBeLessThanOrEqual(2 + Math.log2(addresses));
    expect(free.first()).toBe(1n);
    // The next one may begin another chunk.
    const missed = Array.from({ length: 2000 }, (_, at) => BigInt(2 * at)).filter(
      (at) => free.firstFrom(at) !== at + 1n,
    );
    expect(missed).toEqual([]);
    // And back again: no small chunks are left.
    for (let at = 0; at < addresses; at += 2) free.give(BigInt(at));
    expect(free.chunkSizes()).toEqual([1]);
  });

  test('chunks-stay-few-when-ranges-go-at-random', () => {
    const ranges = 20_000;
    const free = new FreeRanges(
      Array.from({ length: ranges }, (_, at) => ({ first: BigInt(2 * at), last: BigInt(2 * at) })),
    );
    // A stride that meets every range once, in scattered order.
    for (let nth = 0; nth < ranges - 100; nth += 1) free.take(BigInt(2 * ((nth * 7919) % ranges)));
    const sizes = free.chunkSizes();
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100);
    expect(sizes.length).toBeLessThanOrEqual(3);
  });
});

/** The most values that a search among so many reads. */
function countLooks(length: number): number {
  let most = 0;
  for (const wanted of [-1n, BigInt(length) / 2n, BigInt(length)]) {
    let looks = 0;
    floorIndex(
      length,
      (nth) => {
        looks += 1;
        return BigInt(nth);
      },
      wanted,
    );
    most = Math.max(most, looks);
  }
  return most;
}

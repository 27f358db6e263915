import { describe, expect, test } from 'vitest';
import type { Change } from '../../fleet/index.ts';
import { DRAINING, KINDS, newFleet, putManager, putOwned, putWork, withLater } from './managers-fixture.ts';
import { offerNodes } from './share.ts';

const nodes = (manager: string, count: number, managerEpoch = 3): Change[] =>
  Array.from({ length: count }, (_, nth) => putOwned(`${manager}-${managerEpoch}-${nth}`, manager, { managerEpoch }));

interface Offered {
  readonly to?: string;
  readonly max?: number;
  readonly ownOnly?: boolean;
  readonly later?: readonly Change[];
}

/** How many of whose, and how many there are in all. */
function offer(
  changes: readonly Change[],
  { to = 'm1', max = 100, ownOnly = false, later = [] }: Offered = {},
): string {
  const fleet = withLater(newFleet(...changes), ...later);
  const offered = offerNodes({ fleet, kinds: KINDS, ownOnly, nowMs: 200 }, to, max);
  const counts = new Map<string, number>();
  for (const id of offered.nodes) {
    const from = id.slice(0, id.lastIndexOf('-'));
    counts.set(from, (counts.get(from) ?? 0) + 1);
  }
  return `${[...counts].map(([from, count]) => `${count} of ${from}`).join(', ') || 'none'} of ${offered.count}`;
}

const LIVE = [putManager('m1'), putManager('m2')];

describe('offered nodes', () => {
  test.each<[string, readonly Change[], Offered, string]>([
    ['none-while-all-have-managers', [...LIVE, ...nodes('m1', 2), ...nodes('m2', 9)], {}, 'none of 0'],
    [
      'orphans-of-a-lost-one, up-to-an-even-share',
      [...LIVE, ...nodes('m1', 2), putManager('m3', { state: 'lost' }), ...nodes('m3', 8)],
      {},
      '3 of m3-3 of 3',
    ],
    ['of-one-that-stopped', [...LIVE, putManager('m3', { state: 'stopped' }), ...nodes('m3', 8)], {}, '4 of m3-3 of 4'],
    ['of-one-that-was-forgotten', [...LIVE, ...nodes('m3', 8)], {}, '4 of m3-3 of 4'],
    [
      'own-former-ones-first',
      [...LIVE, ...nodes('m1', 3, 2), putManager('m3', { state: 'lost' }), ...nodes('m3', 5)],
      {},
      '3 of m1-2, 1 of m3-3 of 4',
    ],
    [
      'own-former-ones-of-several-leases',
      [...LIVE, ...nodes('m1', 2, 1), ...nodes('m1', 2, 2), ...nodes('m2', 9)],
      {},
      '2 of m1-1, 2 of m1-2 of 4',
    ],
    ['own-former-ones-up-to-a-share', [...LIVE, ...nodes('m1', 8, 2), ...nodes('m2', 2)], {}, '5 of m1-2 of 5'],
    [
      'what-the-share-of-another-leaves',
      [...LIVE, ...nodes('m1', 8, 2), ...nodes('m2', 2)],
      { to: 'm2' },
      '3 of m1-2 of 3',
    ],
    ['not-what-another-takes-back', [...LIVE, ...nodes('m1', 3, 2), ...nodes('m2', 2)], { to: 'm2' }, 'none of 0'],
    [
      'own-ones-alone, by-a-server-that-serves-since-a-moment',
      [...LIVE, ...nodes('m1', 8, 2), putManager('m3', { state: 'lost' }), ...nodes('m3', 5)],
      { ownOnly: true },
      '8 of m1-2 of 8',
    ],
    ['at-most-as-many-as-wanted', [...LIVE, ...nodes('m3', 8)], { max: 3 }, '3 of m3-3 of 4'],
    ['of-one-that-drains', [...LIVE, putManager('m3', DRAINING), ...nodes('m3', 5)], {}, '3 of m3-3 of 3'],
    [
      'former-ones-of-one-that-drains',
      [...LIVE, putManager('m3', DRAINING), ...nodes('m3', 5, 2)],
      {},
      '3 of m3-2 of 3',
    ],
    ['none-to-one-that-drains', [...LIVE, putManager('m3', DRAINING), ...nodes('m3', 5, 2)], { to: 'm3' }, 'none of 0'],
    [
      'its-own-to-one-that-drains, where-no-other-is',
      [putManager('m3', DRAINING), ...nodes('m3', 5, 2), ...nodes('m4', 2)],
      { to: 'm3' },
      '5 of m3-2 of 5',
    ],
    ['none-to-one-that-is-not-registered', [...LIVE, ...nodes('m3', 5)], { to: 'm9' }, 'none of 0'],
  ])('%s', (_name, changes, wanted, expected) => {
    expect(offer(changes, wanted)).toBe(expected);
  });

  /** By the clock of a server that was ahead of the one that began the drain. */
  const BEFORE = { sinceMs: 150 };
  test.each<[string, readonly Change[], string]>([
    [
      'a-step-that-began-before',
      putWork('op', { target: { kind: 'node', id: 'm3-3-0' }, ...BEFORE }),
      '1 of m3-3 of 1',
    ],
    [
      'a-step-of-its-instance',
      putWork('op', { target: { kind: 'instance', id: 'of-m3-3-0' }, ...BEFORE }),
      '1 of m3-3 of 1',
    ],
    [
      'work-without-a-task',
      putWork('op', { target: { kind: 'node', id: 'm3-3-0' }, step: 'none', ...BEFORE }),
      '2 of m3-3 of 2',
    ],
    [
      'work-that-is-done',
      putWork('op', { target: { kind: 'node', id: 'm3-3-0' }, state: 'done', ...BEFORE }),
      '2 of m3-3 of 2',
    ],
  ])('of-one-that-drains, with %s', (_name, work, expected) => {
    expect(offer([putManager('m1'), putManager('m3', DRAINING), ...nodes('m3', 2), ...work])).toBe(expected);
  });

  test('of-one-that-drains, with-a-step-that-it-has-not-begun, although-a-clock-says-that-it-was-before', () => {
    const later = putWork('op', { target: { kind: 'node', id: 'm3-3-0' }, sinceMs: 50 });
    const changes = [putManager('m1'), putManager('m3', DRAINING), ...nodes('m3', 2)];
    expect(offer(changes, { later })).toBe('2 of m3-3 of 2');
  });

  test('bring every manager to an even share, and none beyond, in whatever order they request', () => {
    const lost = [putManager('m9', { state: 'lost' }), ...nodes('m9', 101)];
    const names = ['m1', 'm2', 'm3', 'm4'];
    const fleet = newFleet(...names.map((name) => putManager(name)), ...nodes('m1', 20), ...nodes('m2', 3), ...lost);
    for (let round = 0; round < 40; round += 1) {
      const name = names[round % 4] as string;
      const { nodes: found } = offerNodes({ fleet, kinds: KINDS, ownOnly: false, nowMs: 200 }, name, 7);
      fleet.apply(
        fleet.revision + 1,
        found.map((id) => putOwned(id, name)),
      );
    }
    const count = (name: string): number =>
      [...fleet.all({ name: 'node', check: () => undefined })].filter(
        ({ doc }) => (doc as { manager?: string }).manager === name,
      ).length;
    expect(names.map(count)).toEqual([31, 31, 31, 31]);
  });
});

import { describe, expect, test } from 'vitest';
import type { Fleet } from '../fleet/index.ts';
import { findAlternates, schedule } from './schedule.ts';
import { choice, host, newFleet, nic, request, segment } from './scheduler-fixture.ts';

const anywhere = request({ nics: [nic('n', choice('s0'), choice('s1'))] });
const hostsOf = (fleet: Fleet, requested = anywhere, count = 9): string[] =>
  findAlternates(fleet, requested, count).map((one) => one.host);

describe('alternates', () => {
  test('the-best-host-of-another-segment-comes-before-a-second-one-of-the-same', () => {
    const fleet = newFleet(
      ...segment('s0', 'n', 9, 0),
      ...segment('s1', 'n', 9, 1),
      ...['a', 'b', 'c'].map((id) => host(id, { physicalNetworks: ['p-s0'], memoryMiB: 32_768 })),
      host('d', { physicalNetworks: ['p-s1'] }),
    );
    expect(hostsOf(fleet)).toEqual(['a', 'd', 'b', 'c']);
  });

  test('another-site-comes-first-where-there-is-one-with-another-pool', () => {
    const fleet = newFleet(
      ...segment('s0', 'n', 9, 0),
      ...segment('s1', 'n', 9, 1),
      host('a', { physicalNetworks: ['p-s0'], memoryMiB: 32_768 }),
      host('b', { physicalNetworks: ['p-s1'], memoryMiB: 20_000 }),
      host('c', { physicalNetworks: ['p-s1'], site: 'edge' }),
    );
    expect(hostsOf(fleet)).toEqual(['a', 'c', 'b']);
    expect(hostsOf(fleet, { ...anywhere, site: 'central' })).toEqual(['a', 'b']);
  });

  test('a-network-that-is-everywhere-does-not-keep-the-others-from-differing', () => {
    const fleet = newFleet(
      ...segment('s0', 'n', 9, 0),
      ...segment('s1', 'n', 9, 1),
      ...['a', 'b'].map((id) => host(id, { physicalNetworks: ['p-s0'], memoryMiB: 32_768 })),
      host('c', { physicalNetworks: ['p-s1'] }),
    );
    const plain = nic('m', { pool: 'network:m', takes: [] });
    expect(hostsOf(fleet, { ...anywhere, nics: [plain, ...anywhere.nics] })).toEqual(['a', 'c', 'b']);
  });

  test('scheduling-29: after tries in one segment the poor host elsewhere is next, though better ones are left', () => {
    const fleet = newFleet(
      ...segment('s0', 'n', 9, 0),
      ...segment('s1', 'n', 1, 1),
      ...[1, 2, 3, 4, 5].map((nth) => host(`h${nth}`, { physicalNetworks: ['p-s0'], memoryMiB: 65_536 })),
      host('poor', { physicalNetworks: ['p-s1'], memoryMiB: 2048 }),
    );
    const tried = [{ site: 'central', pools: ['segment:s0' as const] }];
    expect(schedule(fleet, { ...anywhere, tried })).toMatchObject({ host: 'poor' });
    // A pool that ran empty is not tried again.
    const excludedPools = ['segment:s0' as const, 'segment:s1' as const];
    expect(schedule(fleet, { ...anywhere, tried, excludedPools })).toMatchObject({ kind: 'none' });
  });

  test('only-so-many-as-are-asked-for', () => {
    const fleet = newFleet(host('a'), host('b'), host('c'));
    expect(hostsOf(fleet, request(), 2)).toEqual(['a', 'b']);
    expect(hostsOf(newFleet(), request(), 2)).toEqual([]);
  });
});

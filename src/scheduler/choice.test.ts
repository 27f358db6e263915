// What each filter and weigher does to the choice, and the hosts of the reference's fixture F.
import { describe, expect, test } from 'vitest';
import { idOf, put, type Change, type Fleet } from '../fleet/index.ts';
import { CLAIM } from '../network/index.ts';
import { prepareRequest } from './search/prepared-request.ts';
import { BLOCK } from './host-index/bits.ts';
import { BUILD_FAILURES } from './build-failures.ts';
import { schedule, composeClaim } from './schedule.ts';
import { choice, claim, commit, host, newFleet, nic, request, segment, settings } from './scheduler-fixture.ts';
import { findBest } from './search/search.ts';
import { PACKING } from './settings.ts';
import type { ScheduleRequest } from './request.ts';

function chosenHost(fleet: Fleet, requested: ScheduleRequest): string {
  const answer = schedule(fleet, requested);
  return answer.kind === 'chosen' ? answer.host : 'none';
}

/** Places this many, one after the other, each with its claim. */
function placeAll(fleet: Fleet, requested: ScheduleRequest, count: number): string[] {
  return Array.from({ length: count }, () => {
    const answer = schedule(fleet, requested);
    if (answer.kind === 'none') return 'none';
    const id = `placed-${fleet.revision}`;
    commit(fleet, claim(id, answer.host, composeClaim(requested, answer)));
    return answer.host;
  });
}

describe('fixture F: five hosts, each with less memory than the one before, and two segments', () => {
  const fixtureF = (...more: readonly Change[]): Fleet =>
    newFleet(
      ...segment('seg0', 'n', 9, 0),
      ...segment('seg2', 'n', 9, 2),
      ...['', '0', '2', '0', '0 2'].map((segments, at) =>
        host(`h${at + 1}`, {
          memoryMiB: 32_768 - at * 1024,
          physicalNetworks: segments.split(' ').map((one) => `p-seg${one}`),
        }),
      ),
      ...more,
    );
  const deferred = nic('n', choice('seg0'), choice('seg2'));

  test('scheduling-1: a deferred port goes to h2, never to h1, with an address of seg0', () => {
    expect(schedule(fixtureF(), request({ nics: [deferred] }))).toEqual({
      kind: 'chosen',
      host: 'h2',
      pools: ['segment:seg0'],
    });
  });

  test('scheduling-2: a port with an address in seg2 goes to h3', () => {
    expect(chosenHost(fixtureF(), request({ nics: [nic('n', choice('seg2', { takes: [] }))] }))).toBe('h3');
  });

  test('scheduling-4: ports in seg0 and in seg2 go to h5 only', () => {
    const requested = request({ nics: [nic('n', choice('seg0')), nic('n', choice('seg2'))] });
    expect(chosenHost(fixtureF(), requested)).toBe('h5');
    expect(chosenHost(fixtureF(host('h5', { state: 'draining' })), requested)).toBe('none');
  });

  test('scheduling-5: with h2 excluded an address in seg0 goes to h4', () => {
    const requested = request({ nics: [nic('n', choice('seg0', { takes: [] }))], excludedHosts: ['h2'] });
    expect(chosenHost(fixtureF(), requested)).toBe('h4');
  });

  test('scheduling-18: an address in a segment that no host reaches fails', () => {
    const requested = request({ nics: [nic('n', choice('seg9', { takes: [] }))] });
    expect(chosenHost(fixtureF(...segment('seg9', 'n', 5, 9)), requested)).toBe('none');
  });

  test('scheduling-28: no more are placed than there are addresses', () => {
    const fleet = newFleet(...segment('s', 'n', 3), host('h1', { physicalNetworks: ['p-s'] }));
    expect(placeAll(fleet, request({ nics: [nic('n', choice('s'))] }), 5)).toEqual(['h1', 'h1', 'h1', 'none', 'none']);
  });

  test('scheduling-35: bandwidth is claimed with the host, on the physical network that leads to the pool', () => {
    const resources = { 'bandwidth-kbps:p-s': 1000 };
    const fleet = newFleet(
      ...segment('s', 'n', 9),
      host('h1', { physicalNetworks: ['p-s'], resources }),
      host('h2', { physicalNetworks: ['p-s'] }),
    );
    const requested = request({ nics: [{ ...nic('n', choice('s')), minBandwidthKbps: 400 }] });
    expect(placeAll(fleet, requested, 3)).toEqual(['h1', 'h1', 'none']);
    expect(fleet.get(CLAIM, idOf(CLAIM, 'placed-1'))?.doc.resources).toEqual({ 'bandwidth-kbps:p-s': 400 });
  });
});

const FAILING = { code: 'unreachable', message: 'no answer', sinceMs: 0 };

describe('filters', () => {
  const two = (other: Parameters<typeof host>[1]): Fleet => newFleet(host('a', other), host('b', { memoryMiB: 8192 }));

  test.each<[name: string, other: Parameters<typeof host>[1], requested: Partial<ScheduleRequest>]>([
    ['a-host-that-is-disabled', { disabled: { reason: 'x', by: 'x', atMs: 0 } }, {}],
    ['a-host-that-is-forced-down', { forcedDown: { reason: 'x', by: 'x', atMs: 0 } }, {}],
    ['a-host-that-is-suspect', { connection: { state: 'suspect', sinceMs: 0 } }, {}],
    ['a-host-whose-switch-is-out-of-control', { degraded: [{ type: 'switch', ...FAILING }] }, {}],
    ['a-host-whose-instance-runtime-fails', { degraded: [{ type: 'instance-runtime', ...FAILING }] }, {}],
    ['a-host-that-is-draining', { state: 'draining' }, {}],
    ['a-host-that-is-removed', { state: 'removed' }, {}],
    ['a-host-that-is-excluded', {}, { excludedHosts: ['a'] }],
    ['another-host-than-the-only-one', {}, { onlyHost: 'b' }],
    ['another-site', { site: 'edge' }, { site: 'central' }],
    ['another-zone', { zone: 'z2' }, { zone: 'z1' }],
    ['a-forbidden-trait', { traits: ['old'] }, { forbiddenTraits: ['old'] }],
    ['too-few-vcpus', { vcpus: 3 }, { amounts: { vcpus: 4, memoryMiB: 1, diskGiB: 0 } }],
    ['too-little-memory', { memoryMiB: 1000 }, { amounts: { vcpus: 1, memoryMiB: 1001, diskGiB: 0 } }],
    ['too-little-disk', { diskGiB: 3 }, { amounts: { vcpus: 1, memoryMiB: 1, diskGiB: 4 } }],
  ])('%s is skipped', (_name, other, requested) => {
    expect(chosenHost(two(other), request(requested))).toBe('b');
  });

  test.each<[name: string, other: Parameters<typeof host>[1], requested: Partial<ScheduleRequest>]>([
    ['a-required-trait', { traits: ['gpu', 'ssd'] }, { requiredTraits: ['gpu', 'ssd'] }],
    ['an-aggregate', { aggregates: ['x', 'y'] }, { aggregates: ['x', 'y'] }],
    [
      'a-resource-class',
      { resources: { gpus: 1 } },
      { amounts: { vcpus: 1, memoryMiB: 1, diskGiB: 0, resources: { gpus: 1 } } },
    ],
  ])('%s is found', (_name, other, requested) => {
    const fleet = newFleet(host('a', { ...other, memoryMiB: 4096 }), host('b'));
    expect(chosenHost(fleet, request(requested))).toBe('a');
  });

  test('a-ratio-lets-more-be-promised-and-a-decimal-one-to-the-last-unit', () => {
    const fleet = newFleet(host('a', { vcpus: 100, ratios: { vcpus: 1.15, memory: 1, disk: 1 } }));
    expect(chosenHost(fleet, request({ amounts: { vcpus: 115, memoryMiB: 1, diskGiB: 0 } }))).toBe('a');
    expect(chosenHost(fleet, request({ amounts: { vcpus: 116, memoryMiB: 1, diskGiB: 0 } }))).toBe('none');
  });

  test('an-instance-cap-fills-hosts-up-to-it', () => {
    const fleet = newFleet(settings({}, { instancesPerHostMax: 2 }), host('a'), host('b'));
    expect(placeAll(fleet, request(), 5).sort()).toEqual(['a', 'a', 'b', 'b', 'none']);
  });

  test('affinity-begins-anywhere-and-stays-there', () => {
    const requested = request({ group: { id: 'g', policy: 'affinity' } });
    expect(placeAll(newFleet(host('a', { vcpus: 3 }), host('b', { vcpus: 2 })), requested, 4)).toEqual([
      'a',
      'a',
      'a',
      'none',
    ]);
  });

  test('anti-affinity-takes-each-host-once', () => {
    const requested = request({ group: { id: 'g', policy: 'anti-affinity' } });
    expect(placeAll(newFleet(host('a'), host('b')), requested, 3)).toEqual(['a', 'b', 'none']);
  });

  test('what-a-pool-loses-counts-for-the-same-request-though-another-is-still-the-scarcest', () => {
    const pools = [9, 7, 6, 1].flatMap((free, nth) => segment(`s${nth}`, 'n', free, nth));
    const hosts = [host('a', { physicalNetworks: ['p-s1'] }), host('b', { physicalNetworks: ['p-s2'] })];
    const fleet = newFleet(...pools, ...hosts);
    const requested = request({ nics: [nic('n', choice('s0'), choice('s1'), choice('s2'), choice('s3'))] });
    expect(chosenHost(fleet, requested)).toBe('a');
    const addresses = [{ pool: 'segment:s1', version: 4 as const, count: 3 }];
    commit(fleet, claim('i', 'elsewhere', { addresses }));
    expect(chosenHost(fleet, requested)).toBe('b');
  });

  test('nics-that-contend-are-shared-out-so-that-all-find-an-address', () => {
    // The first NIC prefers s0, which has the most addresses, but it is the only segment that the second can have.
    const fleet = newFleet(
      ...segment('s0', 'n', 1, 0),
      ...segment('s1', 'n', 1, 1),
      host('a', { physicalNetworks: ['p-s0', 'p-s1'] }),
    );
    const requested = request({ nics: [nic('n', choice('s0'), choice('s1')), nic('n', choice('s0'))] });
    expect(schedule(fleet, requested)).toMatchObject({ pools: ['segment:s1', 'segment:s0'] });
    const three = request({ nics: [...requested.nics, nic('n', choice('s1'))] });
    expect(chosenHost(fleet, three)).toBe('none');
  });

  test('many-equal-nics-are-assessed-at-once', () => {
    const many = Array.from({ length: 12 }, (_, nth) => segment(`s${nth}`, 'n', 2, nth)).flat();
    const networks = Array.from({ length: 12 }, (_, nth) => `p-s${nth}`);
    const fleet = newFleet(...many, host('a', { physicalNetworks: networks }));
    const any = nic('n', ...networks.map((_, nth) => choice(`s${nth}`)));
    const requested = (count: number): ScheduleRequest => request({ nics: Array.from({ length: count }, () => any) });
    expect(chosenHost(fleet, requested(24))).toBe('a');
    expect(chosenHost(fleet, requested(25))).toBe('none');
  });
});

describe('weighers', () => {
  const only = { memory: 0, vcpus: 0, disk: 0, spread: 0, balance: 0, stock: 0, failures: 0, softAffinity: 0 };

  test('equal-hosts-are-taken-in-the-order-of-their-ids', () => {
    expect(chosenHost(newFleet(host('b'), host('c'), host('a')), request())).toBe('a');
  });

  test.each<[name: string, weights: Parameters<typeof settings>[0], a: Parameters<typeof host>[1]]>([
    ['memory', { memory: 1 }, { memoryMiB: 20_000 }],
    ['vcpus', { vcpus: 1 }, { vcpus: 20 }],
    ['disk', { disk: 1 }, { diskGiB: 200 }],
    ['memory, negative', { memory: -1 }, { memoryMiB: 10_000 }],
  ])('%s', (_name, weights, better) => {
    const fleet = newFleet(settings({ ...only, ...weights }), host('a'), host('b', better));
    expect(chosenHost(fleet, request())).toBe('b');
  });

  test('spread-counts-instances-however-small', () => {
    const tiny = { vcpus: 0, memoryMiB: 0, diskGiB: 0 };
    const fleet = newFleet(settings({ ...only, spread: 1 }), host('a'), host('b'), claim('i', 'a', tiny));
    expect(chosenHost(fleet, request())).toBe('b');
  });

  test('recent-failures-put-a-host-last-until-a-build-goes-well', () => {
    const failed = put(BUILD_FAILURES, idOf(BUILD_FAILURES, 'a'), { host: 'a', count: 1, lastAtMs: 0 });
    const fleet = newFleet(host('a', { memoryMiB: 65_536 }), host('b'), failed);
    expect(chosenHost(fleet, request())).toBe('b');
    commit(fleet, { ...failed, doc: null });
    expect(chosenHost(fleet, request())).toBe('a');
  });

  test('balance-takes-the-host-that-it-evens-out', () => {
    const fleet = newFleet(
      settings({ ...only, balance: 1 }),
      host('a', { vcpus: 16, memoryMiB: 16_384 }),
      host('b', { vcpus: 16, memoryMiB: 16_384 }),
      claim('i', 'b', { vcpus: 8, memoryMiB: 0 }),
    );
    expect(chosenHost(fleet, request({ amounts: { vcpus: 0, memoryMiB: 8192, diskGiB: 0 } }))).toBe('b');
    expect(chosenHost(fleet, request({ amounts: { vcpus: 8, memoryMiB: 0, diskGiB: 0 } }))).toBe('a');
  });

  test('stock-takes-the-pool-with-the-most-left', () => {
    const hosts = [host('a', { physicalNetworks: ['p-s0'] }), host('b', { physicalNetworks: ['p-s1'] })];
    const fleet = newFleet(...segment('s0', 'n', 5, 0), ...segment('s1', 'n', 6, 1), ...hosts);
    expect(chosenHost(fleet, request({ nics: [nic('n', choice('s0'), choice('s1'))] }))).toBe('b');
  });

  test('soft-groups-gather-or-scatter-as-far-as-there-is-room', () => {
    const soft = (policy: 'soft-affinity' | 'soft-anti-affinity'): string[] =>
      placeAll(newFleet(host('a', { vcpus: 2 }), host('b', { vcpus: 2 })), request({ group: { id: 'g', policy } }), 4);
    expect(soft('soft-affinity')).toEqual(['a', 'a', 'b', 'b']);
    expect(soft('soft-anti-affinity')).toEqual(['a', 'b', 'a', 'b']);
  });

  test('a-member-weighs-on-the-leader-of-a-block-that-is-known-already', () => {
    const weights = { ...only, memory: 1, softAffinity: 2 };
    const fleet = newFleet(settings(weights), host('a', { memoryMiB: 65_536 }), host('b'));
    commit(fleet, claim('i', 'a', { group: 'g' }));
    const prepared = prepareRequest(fleet, request({ group: { id: 'g', policy: 'soft-anti-affinity' } }));
    prepared.profile.refresh(Math.floor((prepared.index.slotOf('a') ?? 0) / BLOCK), prepared.weighing);
    expect(findBest(prepared)?.host).toBe('b');
  });

  test('the-packing-preset-fills-one-host-before-the-next', () => {
    const fleet = newFleet(settings(PACKING), host('a', { vcpus: 3 }), host('b', { vcpus: 3 }));
    expect(placeAll(fleet, request(), 4)).toEqual(['a', 'a', 'a', 'b']);
  });
});

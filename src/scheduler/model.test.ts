import { describe, expect, test } from 'vitest';
import { idOf, type Change, type Fleet } from '../fleet/index.ts';
import { BUILD_FAILURES, recordBuildFailure, clearBuildFailures } from './build-failures.ts';
import { antiAffinityInvariant, schedulerModel } from './model.ts';
import { choice, claim, commit, host, newFleet, nic, request } from './scheduler-fixture.ts';
import { composeClaim } from './schedule.ts';
import { SCHEDULER } from './settings.ts';

function brokenBy(fleet: Fleet, ...changes: readonly Change[]): string[] {
  const applied = fleet.apply(fleet.revision + 1, changes);
  const policies = antiAffinityInvariant((_fleet, group) => (group === 'apart' ? 'anti-affinity' : 'affinity'));
  return [...(schedulerModel.invariants ?? []), policies].flatMap(({ name, check }) =>
    check(applied, fleet).map((sentence) => `${name}: ${sentence}`),
  );
}

describe('what must never be', () => {
  test('a-claim-beyond-what-a-host-has-is-found', () => {
    const fleet = newFleet(host('a', { memoryMiB: 1500, resources: { gpus: 1 } }));
    expect(brokenBy(fleet, claim('i', 'a', { resources: { gpus: 1 } }))).toEqual([]);
    expect(brokenBy(fleet, claim('j', 'a', { resources: { gpus: 1 } }))).toEqual([
      'never: more is claimed of a host than it has to give: host a: 2048 of 1500 memoryMiB',
      'never: more is claimed of a host than it has to give: host a: 2 of 1 gpus',
    ]);
  });

  test('a-host-whose-capacity-was-lowered-is-not-oversold-by-that', () => {
    const fleet = newFleet(host('a'), claim('i', 'a'), claim('j', 'a'));
    expect(brokenBy(fleet, host('a', { memoryMiB: 10 }))).toEqual([]);
    expect(brokenBy(fleet, { ...claim('i', 'a'), doc: null })).toEqual([]);
    expect(brokenBy(fleet, claim('k', 'a', { vcpus: 0, diskGiB: 0, memoryMiB: 1 }))).toHaveLength(1);
  });

  test('a-claim-on-a-degraded-host-is-found-and-one-that-arrives-there-is-none', () => {
    const degraded = [{ type: 'switch' as const, code: 'unreachable', message: 'no answer', sinceMs: 0 }];
    const fleet = newFleet(host('a', { degraded }), host('b'), claim('i', 'b'), claim('i', 'a', { role: 'move' }));
    expect(brokenBy(fleet, claim('j', 'a'))).toEqual([
      'never: a claim is taken on a host that is degraded in a way that excludes new instances: instance j on a, whose switch fails',
    ]);
    const arrived = { ...claim('i', 'a', { role: 'move' }), doc: null };
    expect(brokenBy(fleet, claim('i', 'a'), arrived)).toEqual([]);
  });

  test('a-second-member-of-an-anti-affinity-group-is-found-and-a-move-is-none', () => {
    const fleet = newFleet(host('a'), claim('i', 'a', { group: 'apart' }));
    expect(brokenBy(fleet, claim('i', 'a', { group: 'apart', role: 'move' }))).toEqual([]);
    expect(brokenBy(fleet, claim('j', 'a', { group: 'together' }))).toEqual([]);
    expect(brokenBy(fleet, claim('k', 'a', { group: 'apart' }))).toEqual([
      'never: two members of an anti-affinity group are put on one host: host a: instance k of group apart is the second',
    ]);
  });
});

describe('failed builds', () => {
  test('are-counted-while-they-are-recent-and-forgotten-after-a-good-one', () => {
    const fleet = newFleet();
    const failures = (): unknown => fleet.get(BUILD_FAILURES, idOf(BUILD_FAILURES, 'a'))?.doc;
    expect(clearBuildFailures(fleet, 'a')).toEqual([]);
    commit(fleet, ...recordBuildFailure(fleet, 'a', 1000));
    commit(fleet, ...recordBuildFailure(fleet, 'a', 2000));
    expect(failures()).toEqual({ host: 'a', count: 2, lastAtMs: 2000 });
    commit(fleet, ...recordBuildFailure(fleet, 'a', 2000 + 3_600_000));
    expect(failures()).toEqual({ host: 'a', count: 1, lastAtMs: 3_602_000 });
    commit(fleet, ...clearBuildFailures(fleet, 'a'));
    expect(failures()).toBeUndefined();
  });

  test('expire-an-hour-after-the-last', () => {
    const doc = { host: 'a', count: 1, lastAtMs: 1000 };
    expect(BUILD_FAILURES.expiresAtMs?.(doc, newFleet())).toBe(3_601_000);
    expect(BUILD_FAILURES.check({ ...doc, count: 0 })).toContain('/count');
  });
});

describe('what a claim takes', () => {
  test('amounts-addresses-by-pool-and-bandwidth-by-physical-network', () => {
    const requested = request({
      amounts: { vcpus: 2, memoryMiB: 512, diskGiB: 0, resources: { gpus: 1 } },
      group: { id: 'g', policy: 'affinity' },
      nics: [
        { ...nic('n', choice('s0', { takes: [4, 6] }), choice('s1')), minBandwidthKbps: 100 },
        { ...nic('n', choice('s0', { takes: [4] })), minBandwidthKbps: 50 },
        nic('n', choice('s1', { takes: [] })),
        nic('m', { pool: 'network:m', takes: [4] }),
      ],
    });
    const pools = ['segment:s0', 'segment:s0', 'segment:s1', 'network:m'] as const;
    expect(composeClaim(requested, { host: 'a', pools })).toEqual({
      host: 'a',
      vcpus: 2,
      memoryMiB: 512,
      diskGiB: 0,
      group: 'g',
      resources: { gpus: 1, 'bandwidth-kbps:p-s0': 150 },
      addresses: [
        { pool: 'segment:s0', version: 4, count: 2 },
        { pool: 'segment:s0', version: 6, count: 1 },
        { pool: 'network:m', version: 4, count: 1 },
      ],
    });
  });
});

describe('the setting', () => {
  test('its-default-is-valid-and-nonsense-is-not', () => {
    expect(SCHEDULER.problems(SCHEDULER.defaultValue)).toEqual([]);
    const { weights } = SCHEDULER.defaultValue;
    expect(SCHEDULER.problems({ weights: { ...weights, memory: 1e9 }, instancesPerHostMax: 0 })).toHaveLength(1);
    expect(SCHEDULER.problems({ weights, instancesPerHostMax: -1 })).toHaveLength(1);
  });
});

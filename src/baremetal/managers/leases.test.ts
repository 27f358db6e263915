import { describe, expect, test } from 'vitest';
import type { Lease } from '../../journal/index.ts';
import { ManagerLeases } from './leases.ts';

class HandClock {
  now = 1000;
  nowMs(): number {
    return this.now;
  }
}

const lease = (manager: string, expiresInMs: number, epoch = 3): Lease => ({
  ...{ name: `manager/${manager}`, holder: `${manager}-1`, url: '', epoch, expiresInMs },
});

describe('a lease', () => {
  test('lasts from when it was requested, never from when it was answered', () => {
    const clock = new HandClock();
    const leases = new ManagerLeases(clock);
    const requestedAtMs = clock.now;
    clock.now += 400;
    leases.note('m1', lease('m1', 1000), requestedAtMs);
    expect([leases.isLive('m1', 3), leases.remainingMs('m1'), leases.firstEndMs()]).toEqual([true, 600, 2000]);
    clock.now = 1999;
    expect(leases.isLive('m1', 3)).toBe(true);
    clock.now = 2000;
    expect([leases.isLive('m1', 3), leases.remainingMs('m1'), leases.firstEndMs()]).toEqual([false, 0, undefined]);
  });

  test.each<[string, string, number]>([
    ['of-another-epoch', 'm1', 2],
    ['of-a-later-epoch', 'm1', 4],
    ['of-an-unknown-manager', 'm2', 3],
  ])('is-not-live-%s', (_name, manager, epoch) => {
    const leases = new ManagerLeases(new HandClock());
    leases.note('m1', lease('m1', 1000), 1000);
    expect(leases.isLive(manager, epoch)).toBe(false);
  });

  test('is as the store said last: an answer to an earlier question is no news, a shorter one to a later question is', () => {
    const leases = new ManagerLeases(new HandClock());
    leases.note('m1', lease('m1', 5000), 1000);
    leases.note('m1', lease('m1', 9000), 900);
    expect(leases.remainingMs('m1')).toBe(5000);
    leases.note('m1', lease('m1', 2000), 1000);
    expect(leases.remainingMs('m1')).toBe(2000);
  });

  test('that a whole answer does not have is not there; one that was noted after the question is', () => {
    const leases = new ManagerLeases(new HandClock());
    leases.note('m1', lease('m1', 5000), 900);
    leases.note('m2', lease('m2', 5000), 1000);
    leases.noteAll([lease('m3', 5000)], 950);
    expect(['m1', 'm2', 'm3'].map((name) => leases.isLive(name, 3))).toEqual([false, true, true]);
    leases.forget('m3');
    expect(leases.isLive('m3', 3)).toBe(false);
  });
});

describe('the time that a server has been serving', () => {
  test('counts from its first read, as long as there is no gap between two', () => {
    const clock = new HandClock();
    const leases = new ManagerLeases(clock);
    const read = (afterMs: number): number => {
      clock.now += afterMs;
      leases.noteAll([], clock.now);
      return leases.servingMs();
    };
    expect(leases.servingMs()).toBe(0);
    expect([read(0), read(1000), read(3000), read(3600), read(1000)]).toEqual([0, 1000, 4000, 0, 1000]);
    clock.now += 3600;
    expect(leases.servingMs()).toBe(0);
  });
});

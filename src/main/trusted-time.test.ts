import { describe, expect, test } from 'vitest';
import { ALARM, alarmId, clockJumpedFinding, raiseAlarm, type IntegrityFinding } from '../alarms/index.ts';
import { Fleet, remove } from '../fleet/index.ts';
import type { Store, TextChange } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import { steadyTime } from './clock.ts';
import { PROGRAM } from './modules.ts';
import { findJumpAtStart, createTrustedTime } from './trusted-time.ts';

const DAY_MS = 24 * 3600 * 1000;
const START_MS = 1_790_000_000_000;

/** A journal that followed no other server. */
const journalOf = (fleet: Fleet) => ({ fleet, fence: undefined, clockAheadMs: () => undefined });

test('a clock set ahead, put right and confirmed: the time is the wall clock, not the steady time that is still ahead', () => {
  const clocks = { wallMs: START_MS, monotonicMs: 0 };
  const { nowMs: steady } = steadyTime(
    () => clocks.wallMs,
    () => clocks.monotonicMs,
  );
  const fleet = new Fleet(PROGRAM.newRegistry());
  fleet.finishLoad(0);
  const reported: string[] = [];
  let isDoubted = false;
  const integrity = {
    report: ({ code, place }: IntegrityFinding) => {
      reported.push(`${code}:${place}`);
      isDoubted = true;
    },
    hasPending: () => isDoubted,
  };
  const readClocks = () => ({ ...clocks });
  const trusted = createTrustedTime({ journal: journalOf(fleet), integrity, readClocks, server: 'm1:7070' });
  const pass = (wallMs: number): number | undefined => {
    clocks.wallMs += wallMs;
    clocks.monotonicMs += 60_000;
    steady();
    return trusted();
  };
  expect(pass(60_000)).toBe(START_MS + 60_000);
  expect(pass(60_000 + 40 * DAY_MS)).toBeUndefined();
  expect(pass(60_000 - 40 * DAY_MS)).toBeUndefined();
  expect(pass(60_000)).toBeUndefined();
  expect(reported).toEqual(['clock-jumped:m1:7070', 'clock-jumped:m1:7070']);
  isDoubted = false;
  expect(pass(60_000)).toBe(START_MS + 5 * 60_000);
  expect(steady()).toBeGreaterThan(START_MS + 39 * DAY_MS);
});

test('the clock of a server is doubted while the alarm of any server stands: whoever decides next forgets nothing either', () => {
  const fleet = new Fleet(PROGRAM.newRegistry());
  fleet.finishLoad(0);
  const readClocks = () => ({ wallMs: START_MS, monotonicMs: 0 });
  const integrity = { report: () => undefined, hasPending: () => false };
  const trusted = createTrustedTime({ journal: journalOf(fleet), integrity, readClocks, server: 'm2:7070' });
  expect(trusted()).toBe(START_MS);
  const { code, place, facts } = clockJumpedFinding('m1:7070', 'it went ahead');
  const alarm = { severity: 'critical' as const, reason: { ...facts, code }, sinceMs: START_MS };
  fleet.apply(1, raiseAlarm(fleet, alarmId(code, place), alarm));
  expect(trusted()).toBeUndefined();
  fleet.apply(2, [remove(ALARM, alarmId(code, place))]);
  expect(trusted()).toBe(START_MS);
});

test('a clock that is ahead of that of the server which decided before is doubted, once in each term', () => {
  const fleet = new Fleet(PROGRAM.newRegistry());
  fleet.finishLoad(0);
  const followed = { epoch: 7, aheadMs: 4 * 60_000 };
  const reported: string[] = [];
  let isDoubted = false;
  const integrity = {
    report: ({ facts }: IntegrityFinding) => {
      reported.push(JSON.stringify(facts));
      isDoubted = true;
    },
    hasPending: () => isDoubted,
  };
  const journal = {
    fleet,
    clockAheadMs: () => followed.aheadMs,
    get fence() {
      return { lease: 'fleet', epoch: followed.epoch };
    },
  };
  const readClocks = () => ({ wallMs: START_MS, monotonicMs: 0 });
  const trusted = createTrustedTime({ journal, integrity, readClocks, server: 'm1:7070' });
  // Less is no reason to require an operator.
  expect(trusted()).toBe(START_MS);
  Object.assign(followed, { epoch: 8, aheadMs: 5 * 3_600_000 });
  expect(trusted()).toBeUndefined();
  expect(reported).toEqual([expect.stringContaining('18000 s ahead of the clock of the server that decided before')]);
  // An operator has looked at it.
  isDoubted = false;
  expect(trusted()).toBe(START_MS);
  followed.epoch = 9;
  expect(trusted()).toBeUndefined();
  expect(reported).toHaveLength(2);
});

describe('a start', () => {
  const CONFIRMED: readonly TextChange[] = [{ kind: 'alarm', id: 'clock-jumped:m1:7070', body: null }];

  /** Commits of so many days ago, the oldest first; one in which an operator confirms the clock takes the alarm away. */
  async function storeWith(...commits: readonly (readonly [daysAgo: number, what?: 'confirmed'])[]): Promise<Store> {
    const store = new MemoryStore(new MemoryDisk({ journalId: 'journal', nowMs: () => START_MS }));
    const alarm = { kind: 'alarm', id: 'clock-jumped:m1:7070', body: '{}' };
    const write = (id: string, atMs: number, changes: readonly TextChange[]): Promise<unknown> =>
      store.write({ batches: [{ id, atMs, by: 'test', changes, preconditions: [] }] });
    for (const [nth, [daysAgo, what]] of commits.entries()) {
      const atMs = START_MS - daysAgo * DAY_MS;
      await write(`c${nth}`, atMs, [what === undefined ? { kind: 'note', id: `n${nth}`, body: '{}' } : alarm]);
      if (what !== undefined) await write(`d${nth}`, atMs, CONFIRMED);
    }
    return store;
  }

  test('finds-a-jump-between-commits', async () => {
    expect(await findJumpAtStart(await storeWith([90], [1]), START_MS)).toContain('89 days');
  });

  test('does-not-ask-again-about-what-was-confirmed', async () => {
    expect(await findJumpAtStart(await storeWith([90], [1, 'confirmed'], [0]), START_MS)).toBeUndefined();
  });

  test('asks-about-what-came-after-it-was-confirmed', async () => {
    expect(await findJumpAtStart(await storeWith([200], [90, 'confirmed'], [89]), START_MS)).toContain('89 days');
  });
});

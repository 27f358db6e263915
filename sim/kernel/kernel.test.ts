import { getPriority } from 'node:os';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimClock } from './clock.ts';
import { Program } from './program.ts';
import { Rng } from './rng.ts';
import { Scheduler } from './scheduler.ts';
import { Timers } from './timers.ts';
import { Trace } from './trace.ts';

function world(seed = 1): { scheduler: Scheduler; program: (name: string) => Program } {
  const scheduler = new Scheduler(new Rng(seed), new Trace());
  return { scheduler, program: (name) => new Program(name, scheduler, { count: () => undefined }) };
}

describe('Rng', () => {
  it('gives the same numbers for the same seed, and these', () => {
    const rng = new Rng(42);
    expect([rng.uint32(), rng.uint32(), rng.below(10), rng.between(5, 7)]).toMatchInlineSnapshot(`
      [
        660444221,
        3652823732,
        0,
        5,
      ]
    `);
  });

  it('stays within its bounds and reaches all of them', () => {
    const rng = new Rng(7);
    const drawn = Array.from({ length: 1000 }, () => rng.between(3, 6));
    expect(new Set(drawn)).toEqual(new Set([3, 4, 5, 6]));
  });

  it('never picks what has no weight', () => {
    const rng = new Rng(7);
    const picked = new Set(
      Array.from({ length: 500 }, () => rng.pickWeighted([{ weight: 0 }, { weight: 1 }, { weight: 3 }]).weight),
    );
    expect(picked).toEqual(new Set([1, 3]));
  });

  it('a fork does not depend on what is drawn from its parent later', () => {
    const [one, other] = [new Rng(3), new Rng(3)];
    const [fork, same] = [one.fork(), other.fork()];
    one.uint32();
    expect(fork.uint32()).toBe(same.uint32());
  });
});

it('Timers give what is due first, and equals in the order they came', () => {
  const property = fc.property(fc.array(fc.integer({ min: 0, max: 5 })), (times) => {
    const timers = new Timers();
    times.forEach((dueMs, order) => timers.push({ dueMs, order, cancelled: false }));
    const out = times.map(() => timers.pop()!).map(({ dueMs, order }) => [dueMs, order]);
    const sorted = times.map((dueMs, order) => [dueMs, order]).sort(([a, b], [c, d]) => a! - c! || b! - d!);
    expect(out).toEqual(sorted);
    expect(timers.pop()).toBeUndefined();
  });
  fc.assert(property);
});

describe('Scheduler', () => {
  it('lets time pass only when nothing is ready', async () => {
    const { scheduler } = world();
    const seen: string[] = [];
    scheduler.after(10, 'late', () => seen.push(`late at ${scheduler.nowMs}`));
    scheduler.after(0, 'now', () => {
      seen.push(`now at ${scheduler.nowMs}`);
      scheduler.after(0, 'still', () => seen.push(`still at ${scheduler.nowMs}`));
    });
    await scheduler.run(100);
    expect(seen).toEqual(['now at 0', 'still at 0', 'late at 10']);
    expect(scheduler.nowMs).toBe(100);
  });

  it('drains every microtask before the next task', async () => {
    const { scheduler } = world();
    const seen: string[] = [];
    const long = async (): Promise<void> => {
      for (let at = 0; at < 100; at += 1) await Promise.resolve();
      seen.push('all microtasks');
    };
    scheduler.after(1, 'first', () => void long());
    scheduler.after(2, 'second', () => seen.push('second task'));
    await scheduler.run(10);
    expect(seen).toEqual(['all microtasks', 'second task']);
  });

  it('picks among what is ready by the seed', async () => {
    const orders = new Set<string>();
    for (let seed = 1; seed <= 30; seed += 1) {
      const { scheduler } = world(seed);
      let order = '';
      for (const name of 'abc') scheduler.after(5, name, () => (order += name));
      await scheduler.run(10);
      orders.add(order);
    }
    expect(orders.size).toBe(6);
  });

  it('notices when time stands still', async () => {
    const { scheduler } = world();
    const again = (): void => void scheduler.after(0, 'again', again);
    again();
    await expect(scheduler.run(10)).rejects.toThrow('time stands still at "again"');
  });

  it('does not run what was cancelled', async () => {
    const { scheduler } = world();
    scheduler.after(1, 'never', () => expect.unreachable()).cancel();
    await scheduler.run(10);
    expect(scheduler.steps).toBe(0);
  });
});

describe('Program', () => {
  it('that is dead has calls that never settle, and makes no new ones', async () => {
    const { scheduler, program } = world();
    const dead = program('server');
    let settled = 0;
    const call = (): void =>
      void dead.call('store', 'write', (reply) => void reply.answer(5, 1)).finally(() => (settled += 1));
    call();
    dead.crash();
    call();
    await scheduler.run(100);
    expect(settled).toBe(0);
    expect(scheduler.steps).toBe(0);
  });

  it('that is paused gets its answers afterwards', async () => {
    const { scheduler, program } = world();
    const paused = program('server');
    const clock = new SimClock(paused);
    let awakeAtMs = 0;
    void clock.sleep(5).then(() => (awakeAtMs = scheduler.nowMs));
    paused.pause(60);
    await scheduler.run(100);
    expect(awakeAtMs).toBe(60);
  });

  it('a sleep ends early when it is aborted', async () => {
    const { scheduler, program } = world();
    const clock = new SimClock(program('server'));
    const stop = new AbortController();
    let awakeAtMs = -1;
    void clock.sleep(50, stop.signal).then(() => (awakeAtMs = scheduler.nowMs));
    scheduler.after(7, 'stop', () => stop.abort());
    await scheduler.run(100);
    expect(awakeAtMs).toBe(7);
  });
});

describe('Trace', () => {
  it('has another hash when anything differs', () => {
    const hashOf = (...entry: Parameters<Trace['add']>): string => {
      const trace = new Trace();
      trace.add(...entry);
      return trace.hash;
    };
    const hashes = [
      hashOf(1, 'a', 'b'),
      hashOf(2, 'a', 'b'),
      hashOf(1, 'b', 'a'),
      hashOf(1, 'ab', ''),
      hashOf(1, 'a', 'c'),
    ];
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(hashOf(1, 'a', 'b')).toBe(hashes[0]);
  });

  it('keeps the last lines', () => {
    const trace = new Trace();
    for (let at = 0; at < 1000; at += 1) trace.add(at, 'server', `step ${at}`);
    const lines = trace.lastLines();
    expect(lines.at(-1)).toContain('step 999');
    expect(lines[0]).toContain(`step ${1000 - lines.length}`);
  });
});

it('never: a worker that plays worlds takes the processor from suites that measure in real time', () => {
  expect(getPriority()).toBeGreaterThanOrEqual(5);
});

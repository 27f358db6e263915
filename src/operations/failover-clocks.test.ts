// Servers whose clocks differ, and a deadline that outlives the one that decided: whoever decides next, it never passes too early. It may pass late.
import { describe, expect, test } from 'vitest';
import { idOf } from '../fleet/index.ts';
import { flushMicrotasks, makeReady, OP, start, world, type TestServer } from './controllers-fixture.ts';
import { ITEM, OPERATION } from './model.ts';

const HOUR_MS = 3_600_000;
const SECOND_MS = 1000;
/** What a follower may be late by. */
const READ_LATE_MS = 2 * SECOND_MS;

interface Running extends TestServer {
  readonly isDeciding: () => boolean;
  /** Requests the lease from now on. */
  campaign(): void;
  stop(): void;
}

function setting() {
  const { clock, server } = world();
  const running: Running[] = [];
  const begin = async (name: string, offMs: number, facts: { readonly follows?: boolean } = {}): Promise<Running> => {
    const one = server(name, offMs);
    const over = new AbortController();
    await one.journal.open();
    const campaign = (): void => void one.lease.run(over.signal);
    void one.engine.run(over.signal);
    void one.journal.follow(over.signal);
    if (facts.follows !== true) campaign();
    await flushMicrotasks();
    const life = { ...one, isDeciding: () => one.journal.fence !== undefined, campaign, stop: () => over.abort() };
    running.push(life);
    return life;
  };
  return { time: clock, begin, stopAll: () => running.forEach((one) => one.stop()) };
}

const stateOf = ({ journal }: Running): string | undefined => journal.fleet.get(OPERATION, OP)?.doc.state;

/** The lease holder stops, and the other server takes over. */
async function failOver(time: { pass(ms: number): Promise<void> }, from: Running, to: Running): Promise<void> {
  from.stop();
  await time.pass(3 * SECOND_MS);
  expect(to.isDeciding()).toBe(true);
}

/** An operation of one hour, and what is left of it when the second server decides. */
async function failOverWithAnHourLeft(facts: { readonly firstOffMs?: number; readonly secondOffMs?: number }) {
  const { time, begin, stopAll } = setting();
  const first = await begin('s1', facts.firstOffMs ?? 0);
  const second = await begin('s2', facts.secondOffMs ?? 0);
  await time.pass(3 * SECOND_MS);
  expect([first.isDeciding(), second.isDeciding()]).toEqual([true, false]);
  await start(first.journal, false, HOUR_MS, first.clock.nowMs());
  await time.pass(3 * SECOND_MS);
  expect(stateOf(second)).toBe('running');
  return { time, first, second, stopAll };
}

describe('a deadline of a server that is gone, at a server whose clock', () => {
  test.each([
    ['is-right', 0, 0],
    ['is-hours-ahead-since-before-it-started', 0, 5 * HOUR_MS],
    ['is-seconds-ahead', 0, 7 * SECOND_MS],
    ['is-right, of-one-whose-clock-was-hours-behind', -5 * HOUR_MS, 0],
  ])('%s', async (_name, firstOffMs, secondOffMs) => {
    const { time, first, second, stopAll } = await failOverWithAnHourLeft({ firstOffMs, secondOffMs });
    await failOver(time, first, second);
    await time.pass(HOUR_MS - 20 * SECOND_MS - READ_LATE_MS);
    expect(stateOf(second)).toBe('running');
    // Not for ever either.
    await time.pass(60 * SECOND_MS);
    expect(stateOf(second)).toBe('failed');
    stopAll();
  });

  test('is-hours-behind: late, never early', async () => {
    const { time, first, second, stopAll } = await failOverWithAnHourLeft({ secondOffMs: -5 * HOUR_MS });
    await failOver(time, first, second);
    await time.pass(HOUR_MS + 60 * SECOND_MS);
    expect(stateOf(second)).toBe('running');
    stopAll();
  });

  test('was-set-ahead-while-it-followed', async () => {
    const { time, first, second, stopAll } = await failOverWithAnHourLeft({});
    second.clock.setAhead(24 * HOUR_MS);
    await failOver(time, first, second);
    await time.pass(HOUR_MS - 60 * SECOND_MS);
    expect(stateOf(second)).toBe('running');
    await time.pass(120 * SECOND_MS);
    expect(stateOf(second)).toBe('failed');
    stopAll();
  });

  test('was-set-ahead-in-an-earlier-term: what another server gave since is not cut short', async () => {
    const { time, begin, stopAll } = setting();
    const first = await begin('s1', 0);
    await time.pass(SECOND_MS);
    first.clock.setAhead(24 * HOUR_MS);
    await time.pass(10 * SECOND_MS);
    const second = await begin('s2', 0);
    await time.pass(SECOND_MS);
    // The session of the first ends for a moment: the second one takes the lease.
    await first.store.releaseLease('fleet', first.journal.fence?.epoch ?? 0);
    await time.pass(5 * SECOND_MS);
    expect([first.isDeciding(), second.isDeciding()]).toEqual([false, true]);
    await start(second.journal, false, HOUR_MS, second.clock.nowMs());
    await time.pass(3 * SECOND_MS);
    await failOver(time, second, first);
    await time.pass(HOUR_MS - 60 * SECOND_MS);
    expect(stateOf(first)).toBe('running');
    await time.pass(120 * SECOND_MS);
    expect(stateOf(first)).toBe('failed');
    stopAll();
  });
});

test('the-clock-of-whoever-decided-last-counts, not that of an earlier one', async () => {
  const { time, begin, stopAll } = setting();
  const first = await begin('s1', 5 * HOUR_MS);
  await time.pass(SECOND_MS);
  const last = await begin('s2', 5 * HOUR_MS, { follows: true });
  await makeReady(first.journal);
  await time.pass(3 * SECOND_MS);
  first.stop();
  const between = await begin('s3', 0);
  await time.pass(3 * SECOND_MS);
  await start(between.journal, false, HOUR_MS, between.clock.nowMs());
  await time.pass(3 * SECOND_MS);
  last.campaign();
  await failOver(time, between, last);
  await time.pass(HOUR_MS - 60 * SECOND_MS);
  expect(stateOf(last)).toBe('running');
  stopAll();
});

test('a-term-after-which-no-other-server-committed-moves-no-deadline-again', async () => {
  const { time, first, second, stopAll } = await failOverWithAnHourLeft({ secondOffMs: 5 * HOUR_MS });
  await failOver(time, first, second);
  await time.pass(10 * SECOND_MS);
  const deadline = () => second.journal.fleet.get(OPERATION, OP)?.doc.deadlineAtMs;
  const given = deadline();
  expect(given).toBeGreaterThan(5 * HOUR_MS);
  const { epoch = 0 } = second.journal.fence ?? {};
  await second.store.releaseLease('fleet', epoch);
  await time.pass(20 * SECOND_MS);
  expect(second.journal.fence?.epoch).toBeGreaterThan(epoch);
  expect(deadline()).toBe(given);
  stopAll();
});

test('clocks-that-are-right-cost-no-commit-at-a-failover', async () => {
  const { time, first, second, stopAll } = await failOverWithAnHourLeft({});
  const { revision } = first.journal.fleet;
  await failOver(time, first, second);
  await time.pass(20 * SECOND_MS);
  expect(second.journal.fleet.revision).toBe(revision);
  expect(second.journal.fleet.get(ITEM, idOf(ITEM, 'op-1.a'))?.doc.state).toBe('waiting');
  stopAll();
});

import { expect, test } from 'vitest';
import type { TrafficResults } from './traffic/results.ts';
import { runTrial, type TrialOutcome } from './trial.ts';

const lost = (packets: number, overruns = 0): TrafficResults => ({
  echo: [],
  push: [{ flow: 1, to: 'vm', sent: 10, received: 10 - packets, duplicates: 0, gapMs: 1, pairs: ['a:1'] }],
  tcp: [],
  ping: [],
  overruns,
});

/** What each load loses, in their order; an event that happened is noted. */
async function tried(
  losses: readonly number[],
  accept?: () => readonly string[],
  overruns?: number,
): Promise<[TrialOutcome, string[]]> {
  const left = [...losses];
  const log: string[] = [];
  const outcome = await runTrial({
    load: async (event) => {
      await event?.();
      log.push('load');
      return lost(left.shift()!, event && overruns);
    },
    event: async () => void log.push('event'),
    ...(accept !== undefined && { accept }),
  });
  return [outcome, log];
}

test('first-without-then-with-the-event', async () => {
  const [outcome, log] = await tried([0, 0]);
  expect(outcome.kind).toBe('passed');
  expect(log).toEqual(['load', 'event', 'load']);
});

test('a-loss-with-the-event-is-a-failure-that-says-why', async () => {
  const [outcome] = await tried([0, 3]);
  expect(outcome).toMatchObject({ kind: 'failed', problems: ['3 of 10 pushed packets lost'] });
});

test('a-machine-that-loses-nothing-the-third-time-will-do', async () => {
  const [outcome, log] = await tried([1, 1, 0, 0]);
  expect(outcome.kind).toBe('passed');
  expect(log).toEqual(['load', 'load', 'load', 'event', 'load']);
});

test('a-machine-that-always-loses-says-nothing', async () => {
  const [outcome, log] = await tried([1, 2, 3]);
  expect(outcome).toMatchObject({ kind: 'machine-too-busy', tries: [{}, {}, {}] });
  expect(log).not.toContain('event');
});

test('what-is-meant-to-lose-something-is-assessed-otherwise', async () => {
  expect((await tried([0, 5], () => []))[0].kind).toBe('passed');
  expect((await tried([0, 0], () => ['slower than the others']))[0]).toMatchObject({
    kind: 'failed',
    problems: ['slower than the others'],
  });
});

test('a-loss-with-the-event-says-nothing-when-the-machine-dropped-as-many-packets-by-itself', async () => {
  expect((await tried([0, 3], undefined, 3))[0]).toMatchObject({ kind: 'machine-too-busy', tries: [{}, {}] });
  expect((await tried([0, 0], undefined, 9))[0].kind).toBe('passed');
});

test('more-is-lost-than-the-machine-dropped: it-is-a-failure', async () => {
  expect((await tried([0, 3], undefined, 2))[0]).toMatchObject({
    kind: 'failed',
    problems: ['3 of 10 pushed packets lost', 'the machine dropped 2 packets in queues'],
  });
});

test('another-trouble-than-a-loss-is-one-whatever-the-machine-dropped', async () => {
  expect((await tried([0, 0], () => ['slower than the others'], 9))[0].kind).toBe('failed');
});

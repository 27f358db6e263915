import { expect, onTestFinished, test } from 'vitest';
import { VirtualClock } from '../journal/virtual-clock-fixture.ts';
import { LinkDown, type Reply } from './call.ts';
import { LeaderClient } from './leader-client.ts';
import { LongPoll, type PollOutcome } from './long-poll.ts';

interface Ask {
  readonly atMs: number;
  readonly isResumed: boolean;
}

interface Served {
  /** How long the server lets the caller wait. */
  readonly waitMs?: number;
  readonly reply: Reply<PollOutcome> | 'down';
}

const answer = (outcome: PollOutcome, waitMs = 0): Served => ({ reply: { kind: 'answer', answer: outcome }, waitMs });
const REFUSED: Served = { reply: { kind: 'refused', code: 'token-revoked', message: 'no' } };

/** Polls a server that answers so, the last answer again and again, for some time; returns when it was polled. */
async function poll(
  passMs: number,
  served: readonly Served[],
  secret: () => string | undefined = () => 'secret',
): Promise<Ask[]> {
  const clock = new VirtualClock();
  const startMs = clock.nowMs();
  const polls: Ask[] = [];
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const stop = new AbortController();
  const longPoll = new LongPoll<PollOutcome>(
    { clock, random: () => 0.5 },
    {
      leader: new LeaderClient(['http://127.0.0.1:1'], log),
      secret,
      request: async (_to, { isResumed, signal }) => {
        const { waitMs = 0, reply } = served[Math.min(polls.length, served.length - 1)] as Served;
        polls.push({ atMs: clock.nowMs() - startMs, isResumed });
        if (waitMs > 0) await clock.sleep(waitMs, signal);
        if (reply === 'down' || signal.aborted) throw new LinkDown('cut');
        return reply;
      },
      take: (outcome) => Promise.resolve(outcome),
    },
  );
  const ended = longPoll.run(stop.signal);
  onTestFinished(() => stop.abort());
  await clock.pass(passMs);
  stop.abort();
  await ended;
  return polls;
}

const gapsOf = (polls: readonly Ask[]): number[] => polls.slice(1).map(({ atMs }, at) => atMs - (polls[at]?.atMs ?? 0));

test('asks-again-at-once-after-something-new-and-after-a-wait-at-the-server', async () => {
  const polls = await poll(50_500, [answer('taken'), answer('taken'), answer('unchanged', 25_000)]);
  expect(polls.map(({ atMs }) => atMs)).toEqual([0, 0, 0, 25_000, 50_000]);
});

test.each<[string, Served]>([
  ['unchanged at once', answer('unchanged')],
  ['what is of no use, whenever', answer('not-taken', 2000)],
  ['a refusal', REFUSED],
  ['nothing', { reply: 'down' }],
])('is-no-busy-loop-when-the-server-answers-%s', async (_name, served) => {
  const waited = served.waitMs ?? 0;
  const gaps = gapsOf(await poll(60_000, [served]));
  expect(gaps.length).toBeGreaterThan(3);
  expect(gaps[0]).toBeGreaterThan(waited);
  expect(gaps.at(-1)).toBeGreaterThan((gaps[0] ?? 0) * 2);
});

test('begins-with-short-waits-again-after-something-new', async () => {
  const down: Served = { reply: 'down' };
  const gaps = gapsOf(await poll(60_000, [down, down, down, down, answer('taken'), down]));
  expect(gaps[3]).toBeGreaterThan(gaps[0] ?? 0);
  expect([gaps[4], gaps[5]]).toEqual([0, gaps[0]]);
});

test('asks-for-everything-after-a-start, after a cut and after a refusal', async () => {
  const polls = await poll(5000, [
    answer('taken'),
    { reply: 'down' },
    answer('taken'),
    REFUSED,
    answer('taken', 10_000),
  ]);
  expect(polls.map(({ isResumed }) => isResumed)).toEqual([false, true, false, true, false]);
});

test('does-not-poll-without-a-secret', async () => {
  expect(await poll(60_000, [answer('taken', 100)], () => undefined)).toEqual([]);
});

test('ends-a-wait-at-the-server-when-it-is-stopped', async () => {
  expect(await poll(1000, [answer('unchanged', 25_000)])).toEqual([{ atMs: 0, isResumed: false }]);
});

import { expect, test } from 'vitest';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import { LeaderClient, LinkDown, type Reply } from '../../link/index.ts';
import type { ManagerLink, ReservationReply } from './ports.ts';
import { requestReservation } from './reserve-task.ts';

const SILENT = { info: () => undefined, warn: () => undefined, error: () => undefined };
const TASK = { id: 'op.i1:reserve:1', kind: 'reserve', args: { request: { instance_uuid: 'i1' } } };
const state = (name: string, node?: string): Reply<ReservationReply> => ({
  kind: 'answer',
  answer: { state: name, ...(node !== undefined && { node }) },
});
const refused = (code: string): Reply<never> => ({ kind: 'refused', code, message: `It says ${code}.` });

type Said = Reply<ReservationReply> | LinkDown;

async function reserve(script: readonly Said[], { endsAfterMs = 3_600_000 } = {}) {
  const clock = new VirtualClock();
  const beganMs = clock.nowMs();
  const left = [...script];
  const requests: unknown[] = [];
  const link = {
    reserve: async (_to: unknown, request: unknown) => {
      requests.push(request);
      const said = left.shift() ?? new LinkDown('away');
      if (said instanceof LinkDown) throw said;
      return said;
    },
  } as unknown as ManagerLink;
  const over = new AbortController();
  const right = { mayAct: () => clock.nowMs() < beganMs + endsAfterMs, signal: over.signal };
  const options = { ports: { link, clock, random: () => 0.5 }, leader: new LeaderClient(['s1'], SILENT), right };
  let result: { readonly value: unknown } | undefined;
  const run = async (): Promise<void> => {
    result = { value: await requestReservation(TASK, { ...options, token: () => 'token', manager: 'm1' }) };
  };
  void run();
  await clock.until('it has ended', () => result !== undefined);
  return { result: result?.value, requests, tookMs: clock.nowMs() - beganMs };
}

test.each<[string, readonly Said[], unknown, number]>([
  ['a-node-at-once', [state('active', 'n1')], { outcome: 'done', facts: { node: 'n1' } }, 1],
  [
    'a-node-later',
    [state('allocating'), state('allocating'), state('active', 'n1')],
    { outcome: 'done', facts: { node: 'n1' } },
    3,
  ],
  [
    'none-that-matches',
    [state('error')],
    { outcome: 'failed', problems: [], facts: { reason: { code: 'no-match' } } },
    1,
  ],
  [
    'none-that-matches, as a refusal',
    [refused('no-match')],
    { outcome: 'failed', problems: ['It says no-match.'], facts: { reason: { code: 'no-match' } } },
    1,
  ],
  ['a-build-that-went-to-another', [refused('build-not-waiting')], undefined, 1],
  [
    'a-server-that-is-away',
    [new LinkDown('away'), state('active', 'n1')],
    { outcome: 'done', facts: { node: 'n1' } },
    2,
  ],
])('requests a node: %s', async (_name, script, expected, calls) => {
  const { result, requests } = await reserve(script);
  expect(result).toEqual(expected);
  expect(requests).toEqual(Array.from({ length: calls }, () => ({ instance_uuid: 'i1', manager: 'm1' })));
});

test('baremetal-35: overload is waited for as long as it says, and costs no attempt', async () => {
  const busy = new LinkDown('503', { retryAfterMs: 7000 });
  const { result, tookMs } = await reserve([busy, busy, state('active')]);
  expect([result, tookMs]).toEqual([{ outcome: 'done' }, 14_000]);
});

test('ends without an answer when the right is over', async () => {
  const { result, tookMs } = await reserve([], { endsAfterMs: 20_000 });
  expect(result).toBeUndefined();
  expect(tookMs).toBeLessThan(40_000);
});

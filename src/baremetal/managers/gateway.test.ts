// The long poll of a manager at the server.
import { expect, test } from 'vitest';
import { TOKEN } from '../../access/index.ts';
import { idOf, put } from '../../fleet/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { ManagedPlane } from './managed-plane-fixture.ts';
import { startManager } from './test-manager-fixture.ts';

/** Far more than a server that waits looks at the tasks. */
const LOOKS_MAX = 50;

test('a poll that its manager has abandoned ends with the next one, and neither keeps the server busy', async () => {
  const plane = new ManagedPlane();
  await plane.start('s1');
  const manager = startManager(plane, 'm1');
  await plane.clock.until('it may act', () => manager.program.mayAct);
  const { holder, leaseEpoch } = plane.manager('m1');
  let looks = 0;
  const how = {
    closing: new AbortController().signal,
    hash: (): string => {
      looks += 1;
      if (looks > LOOKS_MAX) throw new Error('the tasks are looked at without end');
      return 'same';
    },
  };
  const said: string[] = [];
  const poll = async (name: string): Promise<void> => {
    const reply = await plane.holder.gateway.tasks('m1', { holder, leaseEpoch, digest: 'same' }, how);
    said.push(`${name}: ${reply.kind === 'answer' ? reply.answer.kind : reply.kind}`);
  };
  const polls = [poll('the first'), poll('the second')];
  await plane.clock.until('the first has ended', () => said.length > 0);
  expect(said).toEqual(['the first: unchanged']);
  await plane.clock.pass(25_000);
  await Promise.all(polls);
  expect(looks).toBeLessThan(LOOKS_MAX);
});

test.each([
  ['revoked', 1000],
  ['expires', 5000],
] as const)('never: a poll outlives its token: %s', async (how, afterMs) => {
  const plane = new ManagedPlane();
  await plane.start('s1');
  const manager = startManager(plane, 'm1');
  await plane.clock.until('it may act', () => manager.program.mayAct);
  const { holder, leaseEpoch } = plane.manager('m1');
  const startMs = plane.clock.nowMs();
  const id = idOf(TOKEN, 't1');
  const token = {
    name: 'm1',
    role: 'manager',
    manager: 'm1',
    hash: 'a'.repeat(64),
    createdAtMs: 0,
    createdBy: 'test',
  } as const;
  await plane.commit(put(TOKEN, id, { ...token, ...(how === 'expires' && { expiresAtMs: startMs + afterMs }) }));
  let endedAtMs = Infinity;
  const options = { closing: new AbortController().signal, hash: () => 'same', token: id };
  // Its program does not poll meanwhile: nothing else ends the wait.
  manager.kill();
  const poll = plane.holder.gateway
    .tasks('m1', { holder, leaseEpoch, digest: 'same' }, options)
    .then(() => (endedAtMs = plane.clock.nowMs()));
  await plane.clock.pass(1000);
  if (how === 'revoked') await plane.commit(put(TOKEN, id, { ...token, revoked: { atMs: startMs, by: 'admin' } }));
  await plane.clock.until('it has ended', () => endedAtMs < Infinity);
  await poll;
  expect(endedAtMs - startMs).toBeLessThanOrEqual(afterMs + 100);
});

test('a task says how long it may take, from when the tasks were requested; one whose deadline was moved is listed again', async () => {
  const plane = new ManagedPlane();
  await plane.start('s1');
  const manager = startManager(plane, 'm1');
  await plane.clock.until('it may act', () => manager.program.mayAct);
  const tenure = { holder: plane.manager('m1').holder, leaseEpoch: plane.manager('m1').leaseEpoch };
  await plane.give('m1', ['n1'], { state: 'reserved' });
  manager.kill();
  const options = { closing: new AbortController().signal, hash: (text: string) => text };
  const list = async (digest?: string) => {
    const query = { ...tenure, ...(digest !== undefined && { digest }) };
    const reply = await plane.holder.gateway.tasks('m1', query, options);
    if (reply.kind !== 'answer' || reply.answer.kind !== 'tasks') throw new Error('there are no tasks');
    return { digest: reply.answer.digest, remainingMs: reply.answer.tasks[0]?.remainingMs };
  };
  await plane.clock.pass(1000);
  const first = list((await list()).digest);
  await plane.clock.pass(3000);
  const operation = await plane.work('n1');
  await plane.clock.settle();
  const { digest, remainingMs } = await first;
  expect(remainingMs).toBe(10 ** 9 + 3000);
  const stored = plane.fleet.get(OPERATION, idOf(OPERATION, operation));
  const deadlineAtMs = plane.clock.nowMs() + 7000;
  await plane.commit(put(OPERATION, idOf(OPERATION, operation), { ...stored!.doc, deadlineAtMs }));
  const moved = list(digest);
  await plane.clock.pass(1000);
  expect(await moved).toMatchObject({ remainingMs: 7000 });
});

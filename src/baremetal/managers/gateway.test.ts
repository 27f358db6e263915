// The long poll of a manager at the server.
import { expect, test } from 'vitest';
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

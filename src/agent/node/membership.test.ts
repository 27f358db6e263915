import { expect, test } from 'vitest';
import { CertificateKeeper, LeaderClient } from '../../link/index.ts';
import { Membership } from './membership.ts';
import { StateMemoryDisk } from './state/memory-disk.ts';
import { AgentStateStore } from './state/agent-state-store.ts';
import type { AgentPorts } from './ports.ts';

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

function newMembership(): { readonly membership: Membership; readonly putBack: () => number } {
  const store = new AgentStateStore(new StateMemoryDisk(), log);
  const leader = new LeaderClient(['http://s1'], log);
  const options = { joinToken: () => Promise.resolve(undefined) };
  const ports = { log } as unknown as AgentPorts;
  const certificates = new CertificateKeeper(ports, { leader, store, program: 'agent' });
  const membership = new Membership(ports, options, { leader, store, certificates });
  let putBack = 0;
  membership.departure.onReverted = () => (putBack += 1);
  return { membership, putBack: () => putBack };
}

test('an-order-to-leave-that-is-over-puts-nothing-back-while-another-one-wipes-the-machine', async () => {
  const { membership, putBack } = newMembership();
  membership.departure.beginWipe();
  await membership.departure.recordWiped('leave:1');
  // Its answer was lost, and it gets the task again. Only then it learns that the first answer is not waited for any more.
  membership.departure.beginWipe();
  expect(await membership.departure.revert()).toBe(false);
  expect([membership.departure.isLeaving, membership.departure.task, putBack()]).toEqual([true, 'leave:1', 0]);
  await membership.departure.recordWiped('leave:2');
  expect([membership.departure.isLeaving, membership.departure.task, putBack()]).toEqual([true, 'leave:2', 0]);
  expect(await membership.departure.revert()).toBe(true);
  expect([membership.departure.isLeaving, membership.departure.task, putBack()]).toEqual([false, undefined, 1]);
});

test('two-orders-to-leave-wipe-at-once: nothing-is-put-back-before-both-are-over', async () => {
  const { membership, putBack } = newMembership();
  membership.departure.beginWipe();
  membership.departure.beginWipe();
  await membership.departure.recordWiped('leave:1');
  expect(await membership.departure.revert()).toBe(false);
  expect([membership.departure.isLeaving, putBack()]).toEqual([true, 0]);
  await membership.departure.recordWiped('leave:2');
  expect([membership.departure.isLeaving, membership.departure.task, putBack()]).toEqual([true, 'leave:2', 0]);
});

test('an-order-to-leave-that-comes-while-it-is-written-down-that-it-stays-is-not-forgotten', async () => {
  const { membership } = newMembership();
  membership.departure.beginWipe();
  await membership.departure.recordWiped('leave:1');
  const stays = membership.departure.revert();
  membership.departure.beginWipe();
  expect(await stays).toBe(true);
  expect(membership.departure.isLeaving).toBe(true);
});

import { expect, test } from 'vitest';
import { CertificateKeeper } from './certificate-keeper.ts';
import { LeaderClient } from '../../link/index.ts';
import { Membership } from './membership.ts';
import { MemoryDisk } from './state/memory-disk.ts';
import { AgentStateStore } from './state/agent-state-store.ts';
import type { AgentPorts } from './ports.ts';

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

function newMembership(): { readonly membership: Membership; readonly putBack: () => number } {
  const store = new AgentStateStore(new MemoryDisk(), log);
  const leader = new LeaderClient(['http://s1'], log);
  const options = { joinToken: () => Promise.resolve(undefined) };
  const ports = { log } as unknown as AgentPorts;
  const certificates = new CertificateKeeper(ports, { leader, store });
  const membership = new Membership(ports, options, { leader, store, certificates });
  let putBack = 0;
  membership.onLeaveReverted = () => (putBack += 1);
  return { membership, putBack: () => putBack };
}

test('an-order-to-leave-that-is-over-puts-nothing-back-while-another-one-wipes-the-machine', async () => {
  const { membership, putBack } = newMembership();
  membership.beginWipe();
  await membership.recordWiped('leave:1');
  // Its answer was lost, and it gets the task again. Only then it learns that the first answer is not waited for any more.
  membership.beginWipe();
  expect(await membership.revertLeave()).toBe(false);
  expect([membership.isLeaving, membership.leaveTask, putBack()]).toEqual([true, 'leave:1', 0]);
  await membership.recordWiped('leave:2');
  expect([membership.isLeaving, membership.leaveTask, putBack()]).toEqual([true, 'leave:2', 0]);
  expect(await membership.revertLeave()).toBe(true);
  expect([membership.isLeaving, membership.leaveTask, putBack()]).toEqual([false, undefined, 1]);
});

test('two-orders-to-leave-wipe-at-once: nothing-is-put-back-before-both-are-over', async () => {
  const { membership, putBack } = newMembership();
  membership.beginWipe();
  membership.beginWipe();
  await membership.recordWiped('leave:1');
  expect(await membership.revertLeave()).toBe(false);
  expect([membership.isLeaving, putBack()]).toEqual([true, 0]);
  await membership.recordWiped('leave:2');
  expect([membership.isLeaving, membership.leaveTask, putBack()]).toEqual([true, 'leave:2', 0]);
});

test('an-order-to-leave-that-comes-while-it-is-written-down-that-it-stays-is-not-forgotten', async () => {
  const { membership } = newMembership();
  membership.beginWipe();
  await membership.recordWiped('leave:1');
  const stays = membership.revertLeave();
  membership.beginWipe();
  expect(await stays).toBe(true);
  expect(membership.isLeaving).toBe(true);
});

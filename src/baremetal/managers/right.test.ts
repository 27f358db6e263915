import { describe, expect, test } from 'vitest';
import { newFleet, putManager, putOwned } from './managers-fixture.ts';
import { denyUnlessManages, denyUnlessTenured, type ClaimedRight, type ClaimedTenure } from './right.ts';

const LIVE = (manager: string, epoch: number): boolean => manager === 'm1' && epoch === 3;
const CLAIM: ClaimedRight = { manager: 'm1', node: 'n1', nodeEpoch: 4, instance: 'of-n1', isLeaseLive: LIVE };

describe('the right to act on a node', () => {
  const fleet = newFleet(
    ...[putManager('m1'), putManager('m2'), putManager('m3', { state: 'lost' }), putManager('m4', { leaseEpoch: 4 })],
    ...[putOwned('n1', 'm1'), putOwned('n2', 'm2'), putOwned('n3', 'm1', { managerEpoch: 2 })],
    ...[putOwned('n4', 'm3'), putOwned('n5', 'm4')],
  );

  test('is-the-managers-whose-lease-is-live, under-the-epoch-of-the-node, for-its-instance', () => {
    expect(denyUnlessManages(fleet, CLAIM)).toBeUndefined();
  });

  test.each<[string, Partial<ClaimedRight>, string]>([
    ['node-unknown', { node: 'n9' }, 'There is no node "n9" any more.'],
    ['of-another-manager', { node: 'n2' }, 'Node "n2" has manager "m2" now, not "m1".'],
    [
      'acquired-under-an-earlier-lease',
      { node: 'n3' },
      'The lease under which manager "m1" acquired node "n3" is over.',
    ],
    ['lease-ran-out', { isLeaseLive: () => false }, 'The lease under which manager "m1" acquired node "n1" is over.'],
    [
      'manager-declared-lost',
      { node: 'n4', manager: 'm3', isLeaseLive: () => true },
      'The lease under which manager "m3" acquired node "n4" is over.',
    ],
    [
      'manager-registered-again',
      { node: 'n5', manager: 'm4', isLeaseLive: () => true },
      'The lease under which manager "m4" acquired node "n5" is over.',
    ],
    ['older-epoch', { nodeEpoch: 3 }, 'Node "n1" is at epoch 4, and the call is for epoch 3.'],
    ['later-epoch', { nodeEpoch: 5 }, 'Node "n1" is at epoch 4, and the call is for epoch 5.'],
    ['another-instance', { instance: 'of-n2' }, 'Node "n1" has instance "of-n1" now, and the call is for of-n2.'],
    ['no-instance', { instance: undefined }, 'Node "n1" has instance "of-n1" now, and the call is for none.'],
  ])('is-over-%s', (_name, claim, sentence) => {
    const denied = denyUnlessManages(fleet, { ...CLAIM, ...claim });
    expect(denied).toMatchObject({ kind: 'conflict', code: 'fenced' });
    expect(denied?.message).toBe(
      `${sentence} Nothing was done. Read the manager's tasks again and carry out only those.`,
    );
  });
});

describe('who speaks for a manager', () => {
  const fleet = newFleet(putManager('m1'), putManager('m2', { state: 'stopped' }));
  const TENURE: ClaimedTenure = { manager: 'm1', holder: 'm1-1', leaseEpoch: 3 };

  test('is-the-process-that-registered-last, while-its-lease-is-live', () => {
    expect(denyUnlessTenured(fleet, TENURE, LIVE)).toBeUndefined();
  });

  test.each<[string, Partial<ClaimedTenure>, typeof LIVE]>([
    ['an-unregistered-one', { manager: 'm9' }, LIVE],
    ['another-process', { holder: 'm1-2' }, LIVE],
    ['an-earlier-lease', { leaseEpoch: 2 }, LIVE],
    ['one-whose-lease-ran-out', {}, () => false],
    ['one-that-stopped', { manager: 'm2', holder: 'm2-1' }, () => true],
  ])('is-not-%s', (_name, tenure, isLive) => {
    expect(denyUnlessTenured(fleet, { ...TENURE, ...tenure }, isLive)).toMatchObject({ code: 'fenced' });
  });
});

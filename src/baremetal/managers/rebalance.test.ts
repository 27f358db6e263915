import { array, assert, nat, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idOf, type Change, type Fleet, type FleetReader } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import { cancelOperation, ITEM, OPERATION, operationsModel } from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import type { TortureSubject } from '../../operations/torture-world.ts';
import { MANAGER, NODE } from '../model.ts';
import { acquireNodes } from './acquire.ts';
import { countNodesOfTakers, evenShares } from './even-shares.ts';
import { DRAINING, KINDS, MODELS, newFleet, putManager, putOwned, putReserved, putWork } from './managers-fixture.ts';
import { managerRebalanceKind, rebalanceManagers } from './rebalance.ts';
import { offerNodes } from './share.ts';

const BY = { by: 'op', nowMs: 100 };
const kinds = new Map([[managerRebalanceKind.name, managerRebalanceKind]]);

/** What the managers do: each takes two nodes at a time, if it is offered any. */
const takers: TortureSubject['world'] = async (journal, nowMs) => {
  for (const manager of ['m1', 'm2', 'm3']) {
    const tenure = { manager, holder: `${manager}-1`, leaseEpoch: 3, isLeaseLive: () => true };
    const command = { ...tenure, kinds: KINDS, ownOnly: false, max: 2, by: manager, nowMs };
    if (journal.fleet.get(MANAGER, idOf(MANAGER, manager)) === undefined) continue;
    await journal.submit({ by: manager, decide: (fleet) => acquireNodes(fleet, command) });
  }
};

const countsOf = (fleet: FleetReader): string => [...countNodesOfTakers(fleet).values()].join();

torture({
  name: 'manager-rebalance',
  models: MODELS.filter((model) => model !== operationsModel),
  kind: managerRebalanceKind,
  prepare: [
    ...[putManager('m1'), putManager('m2'), putManager('m3')],
    ...Array.from({ length: 8 }, (_, nth) => putReserved(`a${nth}`, 'm1')).flat(),
    ...Array.from({ length: 4 }, (_, nth) => putReserved(`b${nth}`, 'm2')).flat(),
  ],
  start: (operation, nowMs) => ({
    by: 'test',
    decide: (fleet) => rebalanceManagers(fleet, { operation, by: 'test', nowMs }),
  }),
  world: takers,
  wrongWhenDone: (fleet) => {
    const moved = [...fleet.all(NODE)].filter(({ doc }) => doc.epoch > 4);
    const wrong = [...fleet.all(NODE)].filter(({ doc }) => doc.epoch > 5 || doc.state !== 'active');
    return [
      ...(countsOf(fleet) === '4,4,4' ? [] : [`shares are ${countsOf(fleet)}`]),
      ...(moved.length === 4 ? [] : [`${moved.length} nodes moved`]),
      ...wrong.map(({ id, doc }) => `${id} is ${doc.state} at epoch ${doc.epoch}`),
    ];
  },
  // What has moved stays: there is nothing to take back.
  wrongWhenCancelled: (fleet) => {
    const moved = [...fleet.all(NODE)].filter(({ doc }) => doc.epoch > 4).length;
    return moved <= 4 ? [] : [`${moved} nodes moved`];
  },
});

const nodes = (manager: string, count: number, managerEpoch = 3): Change[] =>
  Array.from({ length: count }, (_, nth) => putOwned(`${manager}-${managerEpoch}-${nth}`, manager, { managerEpoch }));

describe('even shares', () => {
  test.each<[string, readonly number[], readonly number[]]>([
    ['of-none', [], []],
    ['of-one', [7], [7]],
    ['that-are-even', [3, 3, 3], [3, 3, 3]],
    ['that-cannot-be-equal: who-has-most-keeps-most', [0, 5, 2], [2, 3, 2]],
    ['as-equal-as-they-can-be', [3, 2, 3], [3, 2, 3]],
    ['of-no-nodes', [0, 0], [0, 0]],
  ])('%s', (_name, counts, expected) => {
    const shares = evenShares(new Map(counts.map((count, nth) => [`m${nth}`, count])));
    expect([...counts.keys()].map((nth) => shares.get(`m${nth}`))).toEqual(expected);
  });

  test('never: a node is lost or added, shares are more than one apart, or more nodes move than have to', () => {
    assert(
      property(array(nat(50), { minLength: 1, maxLength: 9 }), (counts) => {
        const shares = [...evenShares(new Map(counts.map((count, nth) => [`m${nth}`, count]))).entries()];
        const sum = counts.reduce((total, one) => total + one, 0);
        expect(shares.reduce((total, [, one]) => total + one, 0)).toBe(sum);
        const [least, most] = [Math.floor(sum / counts.length), Math.ceil(sum / counts.length)];
        const moved = shares.reduce((total, [m, one]) => total + Math.max(0, counts[Number(m.slice(1))]! - one), 0);
        for (const [, one] of shares) expect([least, most]).toContain(one);
        const above = counts.reduce((total, one) => total + Math.max(0, one - most), 0);
        const below = counts.reduce((total, one) => total + Math.max(0, least - one), 0);
        expect(moved).toBe(Math.max(above, below));
      }),
    );
  });
});

describe('a rebalance', () => {
  const ID = idOf(OPERATION, 'op');

  function begun(...changes: readonly Change[]): Fleet {
    const fleet = newFleet(...changes);
    const decision = rebalanceManagers(fleet, { operation: ID, ...BY });
    if (decision.kind === 'refuse') throw new Error(decision.refusal.code);
    fleet.apply(fleet.revision + 1, decision.changes);
    return fleet;
  }

  const offer = (fleet: Fleet, to: string, { max = 100, nowMs = 200, ownOnly = false } = {}): string => {
    const offered = offerNodes({ fleet, kinds: KINDS, ownOnly, nowMs }, to, max);
    return `${offered.nodes.join(' ') || 'none'} of ${offered.count}`;
  };

  const LIVE = [putManager('m1'), putManager('m2')];

  test.each<[string, readonly Change[], string]>([
    ['one-manager', [putManager('m1'), ...nodes('m1', 9)], 'too-few-managers'],
    ['none', [], 'too-few-managers'],
    ['the-other-one-drains', [putManager('m1'), putManager('m2', DRAINING), ...nodes('m1', 9)], 'too-few-managers'],
    [
      'the-other-one-is-lost',
      [putManager('m1'), putManager('m2', { state: 'lost' }), ...nodes('m1', 9)],
      'too-few-managers',
    ],
    ['they-have-the-same', [...LIVE, ...nodes('m1', 3), ...nodes('m2', 3)], 'shares-even'],
    ['they-are-one-apart', [...LIVE, ...nodes('m1', 3), ...nodes('m2', 2)], 'shares-even'],
    ['there-are-no-nodes', LIVE, 'shares-even'],
  ])('is refused: %s', (_name, changes, code) => {
    expect(rebalanceManagers(newFleet(...changes), { operation: ID, ...BY })).toMatchObject({
      kind: 'refuse',
      refusal: { kind: 'conflict', code },
    });
  });

  test('offers nothing of other managers, and nothing to one that has its share', () => {
    const fleet = begun(...LIVE, putManager('m3'), ...nodes('m1', 6), ...nodes('m2', 2), ...nodes('m3', 1));
    expect([...fleet.all(ITEM)].map(({ doc }) => doc.target.id)).toEqual(['m1']);
    expect([offer(fleet, 'm1'), offer(fleet, 'm2'), offer(fleet, 'm3')]).toEqual([
      'none of 0',
      'm1-3-0 of 1',
      'm1-3-0 m1-3-1 of 2',
    ]);
    expect(offer(fleet, 'm3', { max: 1 })).toBe('m1-3-0 of 2');
  });

  test('offers nothing while managers may take back their own, nor after its deadline, nor once it is cancelled', () => {
    const fleet = begun(...LIVE, ...nodes('m1', 4));
    expect(offer(fleet, 'm2', { ownOnly: true })).toBe('none of 0');
    expect(offer(fleet, 'm2', { nowMs: 10 ** 12 })).toBe('none of 0');
    const cancelled = cancelOperation(fleet, { id: ID, kinds, nowMs: 1 });
    if (cancelled.kind === 'refuse') throw new Error(cancelled.refusal.code);
    fleet.apply(fleet.revision + 1, cancelled.changes);
    expect(offer(fleet, 'm2')).toBe('none of 0');
  });

  test('leaves a node whose step is under way', () => {
    const target = { kind: 'node', id: 'm1-3-0' };
    const fleet = begun(...LIVE, ...nodes('m1', 2), ...putWork('w', { target }));
    expect(offer(fleet, 'm2')).toBe('m1-3-1 of 1');
    const both = begun(
      ...LIVE,
      ...nodes('m1', 1),
      ...nodes('m2', 3),
      ...putWork('w', { target: { kind: 'node', id: 'm2-3-0' } }),
    );
    expect(offer(both, 'm1')).toBe('m2-3-1 of 1');
  });

  test('comes after nodes without a manager', () => {
    const lost = [putManager('m3', { state: 'lost' }), ...nodes('m3', 2)];
    const fleet = begun(...LIVE, ...nodes('m1', 4), ...lost);
    expect(offer(fleet, 'm2')).toBe('m3-3-0 m3-3-1 of 2');
  });

  test('is one operation, however often it is requested, and begins anew after it has ended', () => {
    const fleet = begun(...LIVE, ...nodes('m1', 4));
    const again = { operation: idOf(OPERATION, 'op-2'), ...BY };
    expect(rebalanceManagers(fleet, again)).toEqual(accept([], ID));
    const [item] = [...fleet.all(ITEM)];
    fleet.apply(fleet.revision + 1, [{ kind: ITEM.name, id: item!.id, doc: { ...item!.doc, state: 'done' } }]);
    expect(rebalanceManagers(fleet, again)).toMatchObject({ kind: 'accept', answer: 'op-2' });
  });

  test.each<[string, readonly Change[], string]>([
    ['others-take-over', [], 'waiting {"code":"nodes-to-take-over","manager":"m1","nodes":2}'],
    ['shares-are-even', [putOwned('m1-3-0', 'm2'), putOwned('m1-3-1', 'm2')], 'done {}'],
    ['it-drains', [putManager('m1', DRAINING)], 'done {"code":"manager-rebalance-ended","manager":"m1"}'],
    [
      'the-other-one-is-lost',
      [putManager('m2', { state: 'lost' })],
      'done {"code":"manager-rebalance-ended","manager":"m1"}',
    ],
  ])('its item: %s', (_name, changes, expected) => {
    const fleet = begun(...LIVE, ...nodes('m1', 4));
    fleet.apply(fleet.revision + 1, changes);
    const [next] = managerRebalanceKind.plan(fleet, [...fleet.all(ITEM)], 200);
    if (next?.kind !== 'record') throw new Error('nothing is planned');
    expect(`${next.progress.state} ${JSON.stringify(next.progress.reason ?? {})}`).toBe(expected);
  });
});

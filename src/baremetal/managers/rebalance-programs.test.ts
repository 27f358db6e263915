// Rebalances on a whole control plane, with manager programs that take what they are offered.
import { afterEach, describe, expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { cancelOperation, ITEM, OPERATION, type OperationId } from '../../operations/index.ts';
import { NODE } from '../model.ts';
import { ManagedPlane } from './managed-plane-fixture.ts';
import { idsOf, managersOf, measure, stateOf } from './managers-on-plane-fixture.ts';
import { rebalanceManagers } from './rebalance.ts';

let plane: ManagedPlane;

afterEach(() => {
  expect(plane.violations).toEqual([]);
});

async function start(): Promise<void> {
  plane = new ManagedPlane();
  await plane.start('s1');
  await plane.clock.until('a server decides', () => plane.hasHolder);
}

describe('a rebalance', () => {
  const rebalance = async (): Promise<OperationId> => {
    const command = { operation: idOf(OPERATION, plane.id('op')), by: 'operator', nowMs: plane.clock.nowMs() };
    return plane.submit((fleet) => rebalanceManagers(fleet, command));
  };
  const countsOf = (): number[] => ['m1', 'm2', 'm3'].map((name) => plane.nodesOf(name).length);

  test('gives a manager that is new its share, moves no more nodes than that, and acts on no machine', async () => {
    await start();
    await managersOf(plane, 'm1', 'm2');
    await plane.clock.pass(20_000);
    await plane.give('m1', idsOf(31, 'a'));
    await plane.give('m2', idsOf(29, 'b'));
    await managersOf(plane, 'm3');
    await plane.clock.pass(60_000);
    expect(countsOf()).toEqual([31, 29, 0]);
    const operation = await rebalance();
    expect(await rebalance()).toBe(operation);
    const tookMs = await measure(plane, 'it is done', () => stateOf(plane, operation) === 'succeeded');
    expect(tookMs).toBeLessThan(2000);
    expect(countsOf()).toEqual([20, 20, 20]);
    expect([...plane.fleet.all(NODE)].filter(({ doc }) => doc.epoch > 1)).toHaveLength(20);
    expect(plane.calls()).toEqual([]);
    await expect(rebalance()).rejects.toThrow('shares-even');
    // Nothing moves by itself afterwards.
    await plane.give('m1', idsOf(6, 'c'));
    await plane.clock.pass(60_000);
    expect(countsOf()).toEqual([26, 20, 20]);
  });

  test('leaves a busy node until its work is done, and waits for it', async () => {
    await start();
    await managersOf(plane, 'm1');
    await plane.clock.pass(20_000);
    await plane.give('m1', ['n1', 'n2'], { state: 'reserved', power: 'off' });
    await managersOf(plane, 'm2');
    const work = [await plane.work('n1'), await plane.work('n2')];
    await plane.clock.until('both deploys began', () => plane.calls().length === 2);
    const operation = await rebalance();
    await plane.clock.pass(1000);
    expect(plane.nodesOf('m1')).toEqual(['n1', 'n2']);
    const item = [...plane.fleet.all(ITEM)].find(({ doc }) => doc.operation === operation);
    expect(item?.doc.reason).toEqual({ code: 'nodes-to-take-over', manager: 'm1', nodes: 1 });
    await plane.clock.until('the work is done', () => work.every((one) => stateOf(plane, one) === 'succeeded'));
    const tookMs = await measure(plane, 'it is done', () => stateOf(plane, operation) === 'succeeded');
    expect(tookMs).toBeLessThan(1000);
    expect([plane.nodesOf('m1').length, plane.nodesOf('m2').length]).toEqual([1, 1]);
    expect(new Set(plane.calls().map(({ manager }) => manager))).toEqual(new Set(['m1']));
  });

  test('while a manager is lost: its nodes are taken over first, and all shares are even in the end', async () => {
    await start();
    const [, , third] = await managersOf(plane, 'm1', 'm2', 'm3');
    await plane.clock.pass(20_000);
    await plane.give('m1', idsOf(40, 'a'));
    await plane.give('m3', idsOf(20, 'c'), { state: 'active' });
    third!.kill();
    const operation = await rebalance();
    await plane.clock.until('it is done', () => stateOf(plane, operation) === 'succeeded');
    await plane.clock.until('m3 is replaced', () => plane.nodesOf('m3').length === 0);
    expect(countsOf()).toEqual([30, 30, 0]);
  });

  test('that is cancelled moves no more, and what has moved stays', async () => {
    await start();
    await managersOf(plane, 'm1');
    await plane.clock.pass(20_000);
    await plane.give('m1', ['n1', 'n2', 'n3', 'n4'], { state: 'reserved', power: 'off' });
    await managersOf(plane, 'm2');
    for (const id of ['n1', 'n2', 'n3']) await plane.work(id);
    await plane.clock.until('the deploys began', () => plane.calls().length === 3);
    const operation = await rebalance();
    await plane.clock.until('the idle one has moved', () => plane.node('n4').manager === 'm2');
    await plane.submit((fleet) =>
      cancelOperation(fleet, { id: operation, kinds: plane.kinds, nowMs: plane.clock.nowMs() }),
    );
    await plane.clock.pass(60_000);
    expect(stateOf(plane, operation)).toBe('cancelled');
    expect([plane.nodesOf('m1').length, plane.nodesOf('m2').length]).toEqual([3, 1]);
  });

  test('of one manager is refused', async () => {
    await start();
    await managersOf(plane, 'm1');
    await plane.give('m1', ['n1', 'n2']);
    await expect(rebalance()).rejects.toThrow('too-few-managers');
  });
});

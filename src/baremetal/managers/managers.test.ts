// Managers on a whole control plane: programs that register, act, die, pause and come back, servers that die with them, and machines that note every
// call.
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { ALARM } from '../../alarms/index.ts';
import { idOf, put, SETTING } from '../../fleet/index.ts';
import { ITEM, OPERATION, type OperationId } from '../../operations/index.ts';
import { NODE } from '../model.ts';
import { drainManager, undrainManager } from './drain.ts';
import { ManagedPlane } from './managed-plane-fixture.ts';
import { idsOf, managersOf, measure, stateOf } from './managers-on-plane-fixture.ts';
import { MANAGERS } from './settings.ts';
import { startManager } from './test-manager-fixture.ts';

const started: ManagedPlane[] = [];

afterEach(() => {
  expect(started.flatMap(({ violations }) => violations)).toEqual([]);
});

async function planeOf(...servers: string[]): Promise<ManagedPlane> {
  const plane = new ManagedPlane();
  started.splice(0, started.length, plane);
  for (const name of servers) await plane.start(name);
  await plane.clock.until('a server decides', () => plane.hasHolder);
  return plane;
}

const alarmsOf = (plane: ManagedPlane): string[] => [...plane.fleet.all(ALARM)].map(({ id }): string => id);

describe('registration', () => {
  test('baremetal-22: one name in any case is one manager, and a live one is not given to another process', async () => {
    const plane = await planeOf('s1');
    await managersOf(plane, 'Host1');
    const { leaseEpoch, holder } = plane.manager('host1');
    const other = startManager(plane, 'host1');
    await plane.clock.pass(60_000);
    expect(other.program.mayAct).toBe(false);
    expect(plane.manager('host1')).toMatchObject({ state: 'live', leaseEpoch, holder });
  });

  test('a clean stop releases: the next process has the name at once, under the next epoch', async () => {
    const plane = await planeOf('s1');
    const [first] = await managersOf(plane, 'm1');
    const before = plane.manager('m1');
    await first!.stop();
    expect(plane.manager('m1').state).toBe('stopped');
    const second = startManager(plane, 'm1');
    const tookMs = await measure(plane, 'it may act', () => second.program.mayAct);
    expect(tookMs).toBeLessThan(1000);
    expect(plane.manager('m1')).toMatchObject({ state: 'live', leaseEpoch: before.leaseEpoch + 1 });
  });

  test('renewals change no document', async () => {
    const plane = await planeOf('s1');
    await managersOf(plane, 'm1');
    await plane.clock.pass(2000);
    const { revision } = plane.fleet;
    await plane.clock.pass(120_000);
    expect(plane.fleet.revision).toBe(revision);
    expect(plane.manager('m1').state).toBe('live');
  });

  test('a lease is renewed while no server decides', async () => {
    const plane = await planeOf('s1', 's2');
    const [manager] = await managersOf(plane, 'm1');
    const before = plane.manager('m1');
    await plane.seizeLease(40_000);
    for (let at = 0; at < 39; at += 1) {
      await plane.clock.pass(1000);
      expect([plane.hasHolder, manager!.program.mayAct]).toEqual([false, true]);
    }
    await plane.clock.until('a server decides', () => plane.hasHolder);
    expect(plane.manager('m1')).toEqual(before);
  });
});

describe('a manager that is lost', () => {
  test('baremetal-18: is replaced within 20 s, its nodes go to the others in even shares, no other node moves, nothing is done to a machine', async () => {
    const plane = await planeOf('s1');
    const [first] = await managersOf(plane, 'm1', 'm2', 'm3');
    for (const name of ['m1', 'm2', 'm3']) await plane.give(name, idsOf(100, `${name}-`));
    await plane.clock.pass(5000);
    first!.kill();
    const tookMs = await measure(plane, 'all are owned', () => plane.nodesOf('m1').length === 0);
    expect(tookMs).toBeLessThanOrEqual(20_000);
    expect([plane.nodesOf('m2').length, plane.nodesOf('m3').length]).toEqual([150, 150]);
    for (const id of idsOf(100, 'm1-'))
      expect(plane.node(id)).toMatchObject({ epoch: 2, state: 'active', power: 'on' });
    for (const id of [...idsOf(100, 'm2-'), ...idsOf(100, 'm3-')]) expect(plane.node(id).epoch).toBe(1);
    expect(plane.calls()).toEqual([]);
    expect(alarmsOf(plane)).toEqual(['manager-lost:m1']);
  });

  test('registers anew without a node, and its alarm is cleared', async () => {
    const plane = await planeOf('s1');
    const [first] = await managersOf(plane, 'm1', 'm2');
    await plane.give('m1', idsOf(10, 'n'));
    first!.kill();
    await plane.clock.until('m2 has them', () => plane.nodesOf('m2').length === 10);
    await managersOf(plane, 'm1');
    await plane.clock.pass(10_000);
    expect(plane.nodesOf('m1')).toEqual([]);
    expect(alarmsOf(plane)).toEqual([]);
  });

  test('comes back before its nodes were taken over: it acquires each of its nodes anew', async () => {
    const plane = await planeOf('s1');
    const [first] = await managersOf(plane, 'm1');
    await plane.give('m1', idsOf(10, 'n'));
    const { leaseEpoch } = plane.manager('m1');
    first!.kill();
    await plane.clock.until('it is lost', () => plane.manager('m1').state === 'lost');
    expect(alarmsOf(plane).sort()).toEqual(['manager-lost:m1', 'no-manager-alive:fleet']);
    await managersOf(plane, 'm1');
    await plane.clock.until('it has them', () => plane.node('n0009').managerEpoch === leaseEpoch + 1);
    for (const id of idsOf(10, 'n')) expect(plane.node(id)).toMatchObject({ manager: 'm1', epoch: 2 });
  });

  test('while it decided as well, is replaced within 20 s', async () => {
    const plane = await planeOf('s1', 's2');
    await plane.clock.pass(20_000);
    const [first] = await managersOf(plane, 'm1', 'm2');
    await plane.give('m1', idsOf(20, 'n'));
    await plane.clock.pass(7000);
    const { holder } = plane;
    const beganMs = plane.clock.nowMs();
    first!.kill();
    await holder.stop();
    await plane.clock.until('all are owned', () => plane.hasHolder && plane.nodesOf('m2').length === 20);
    expect(plane.clock.nowMs() - beganMs).toBeLessThanOrEqual(20_000);
  });

  test('never for the absence of all servers: managers take back their own first', async () => {
    const plane = await planeOf('s1');
    await managersOf(plane, 'm1', 'm2', 'm3');
    for (const name of ['m1', 'm2', 'm3']) await plane.give(name, idsOf(name === 'm1' ? 4 : 40, `${name}-`));
    await plane.holder.stop();
    await plane.clock.pass(60_000);
    await plane.start('s1');
    await plane.clock.until('a server decides', () => plane.hasHolder);
    await plane.clock.pass(30_000);
    expect(plane.lost).toEqual([]);
    for (const name of ['m1', 'm2', 'm3']) {
      const { leaseEpoch } = plane.manager(name);
      for (const id of idsOf(name === 'm1' ? 4 : 40, `${name}-`))
        expect(plane.node(id)).toMatchObject({ manager: name, managerEpoch: leaseEpoch, epoch: 2 });
    }
  });
});

describe('work on machines', () => {
  test('is done once, step by step', async () => {
    const plane = await planeOf('s1');
    await managersOf(plane, 'm1');
    await plane.give('m1', ['n1'], { state: 'reserved', power: 'off' });
    const operation = await plane.work('n1');
    await plane.clock.until('it is done', () => stateOf(plane, operation) === 'succeeded');
    expect(plane.calls().map(({ op, result }) => [op, result])).toEqual([
      ['deploy', 'applied'],
      ['power-off', 'applied'],
      ['power-on', 'applied'],
    ]);
    expect(plane.node('n1').state).toBe('active');
  });

  test('baremetal-16: of a manager that is lost continues at another, at the step where it was: one deploy', async () => {
    const plane = await planeOf('s1');
    const [first] = await managersOf(plane, 'm1', 'm2');
    await plane.give('m1', ['n1'], { state: 'reserved', power: 'off' });
    const operation = await plane.work('n1');
    await plane.clock.until('the deploy began', () => plane.calls().length === 1);
    first!.kill();
    await plane.clock.until('it is done', () => stateOf(plane, operation) === 'succeeded');
    const accepted = plane.calls().filter(({ accepted: isAccepted, result }) => isAccepted && result === 'applied');
    expect(accepted.map(({ op, manager }) => [op, manager])).toEqual([
      ['deploy', 'm1'],
      ['power-off', 'm2'],
      ['power-on', 'm2'],
    ]);
  });

  test('baremetal-19: waits while no manager is alive, and is done by the next one', async () => {
    const plane = await planeOf('s1');
    const [first] = await managersOf(plane, 'm1');
    await plane.give('m1', ['n1'], { state: 'reserved', power: 'off' });
    first!.kill();
    await plane.clock.until('it is lost', () => plane.manager('m1').state === 'lost');
    const operation = await plane.work('n1');
    await plane.clock.pass(60_000);
    expect(plane.calls()).toEqual([]);
    await managersOf(plane, 'm2');
    await plane.clock.until('it is done', () => stateOf(plane, operation) === 'succeeded');
    expect(new Set(plane.calls().map(({ manager }) => manager))).toEqual(new Set(['m2']));
  });

  test('never two at once: one that was paused beyond its lease wakes and does nothing more to its machine', async () => {
    const plane = await planeOf('s1');
    const [first] = await managersOf(plane, 'm1', 'm2');
    await plane.give('m1', ['n1'], { state: 'reserved', power: 'off' });
    const operation = await plane.work('n1');
    await plane.clock.until('the deploy began', () => plane.calls().length === 1);
    first!.pause();
    await plane.clock.until('m2 has it', () => plane.node('n1').manager === 'm2');
    first!.resume();
    await plane.clock.until('it is done', () => stateOf(plane, operation) === 'succeeded');
    await plane.clock.pass(30_000);
    const byFirst = plane.calls().filter(({ manager }) => manager === 'm1');
    expect(byFirst.map(({ op }) => op)).toEqual(['deploy']);
    expect(plane.manager('m1').state).toBe('live');
  });

  test('stops before the lease may end, when the control plane cannot be reached', async () => {
    const plane = await planeOf('s1');
    const [first] = await managersOf(plane, 'm1');
    await plane.clock.pass(3000);
    first!.cut();
    const { clock } = plane;
    const endMs = clock.nowMs() + plane.holder.leases.remainingMs('m1');
    await clock.until('it stops by itself', () => !first!.program.mayAct);
    expect(endMs - clock.nowMs()).toBeGreaterThanOrEqual(2000);
    expect(plane.holder.leases.isLive('m1', plane.manager('m1').leaseEpoch)).toBe(true);
    first!.heal();
    await clock.until('it goes on under the same lease', () => first!.program.mayAct);
    expect(plane.manager('m1')).toMatchObject({ state: 'live', leaseEpoch: 1 });
  });
});

describe('a drain', () => {
  const drain = async (plane: ManagedPlane, manager: string): Promise<OperationId> => {
    const command = { manager, operation: idOf(OPERATION, plane.id('op')), by: 'operator', nowMs: plane.clock.nowMs() };
    return plane.submit((fleet) => drainManager(fleet, command));
  };

  test('baremetal-21: gives idle nodes away at once and acts on no machine', async () => {
    const plane = await planeOf('s1');
    await managersOf(plane, 'm1', 'm2', 'm3');
    await plane.clock.pass(20_000);
    await plane.give('m1', idsOf(30, 'n'));
    const operation = await drain(plane, 'm1');
    expect(await drain(plane, 'm1')).toBe(operation);
    const tookMs = await measure(plane, 'it is done', () => stateOf(plane, operation) === 'succeeded');
    expect(tookMs).toBeLessThan(1000);
    expect(['m1', 'm2', 'm3'].map((name) => plane.nodesOf(name).length)).toEqual([0, 15, 15]);
    expect(plane.calls()).toEqual([]);
    expect(plane.manager('m1')).toMatchObject({ state: 'draining', draining: { by: 'operator' } });
    expect(plane.manager('m1').draining?.emptyAtMs).toBeDefined();
  });

  test('leaves a busy node until its step is done; the next one is done by another', async () => {
    const plane = await planeOf('s1');
    await managersOf(plane, 'm1', 'm2');
    await plane.clock.pass(20_000);
    await plane.give('m1', ['n1'], { state: 'reserved', power: 'off' });
    await plane.give('m1', ['n2']);
    const work = await plane.work('n1');
    await plane.clock.until('the deploy began', () => plane.calls().length === 1);
    const operation = await drain(plane, 'm1');
    await plane.clock.until('the idle one has gone', () => plane.node('n2').manager === 'm2');
    expect(plane.node('n1').manager).toBe('m1');
    const item = [...plane.fleet.all(ITEM)].find(({ doc }) => doc.operation === operation);
    expect(item?.doc.reason).toEqual({ code: 'nodes-to-take-over', manager: 'm1', nodes: 1 });
    await plane.clock.until('it is done', () => stateOf(plane, operation) === 'succeeded');
    await plane.clock.until('the work as well', () => stateOf(plane, work) === 'succeeded');
    expect(plane.calls().map(({ op, manager, result }) => [op, manager, result])).toEqual([
      ['deploy', 'm1', 'applied'],
      ['power-off', 'm2', 'applied'],
      ['power-on', 'm2', 'applied'],
    ]);
    // The deploy took two seconds: the others look at once, and not at the end of their poll.
    const [deployed, next] = plane.calls();
    expect(next!.atMs - deployed!.atMs).toBeLessThan(5000);
  });

  test('waits for another manager, and ends when it is taken back', async () => {
    const plane = await planeOf('s1');
    await managersOf(plane, 'm1');
    await plane.clock.pass(20_000);
    await plane.give('m1', ['n1', 'n2']);
    const operation = await drain(plane, 'm1');
    await plane.clock.pass(10_000);
    const [item] = [...plane.fleet.all(ITEM)];
    expect(item?.doc.reason).toEqual({ code: 'no-other-manager', manager: 'm1', nodes: 2 });
    await plane.submit((fleet) => undrainManager(fleet, { manager: 'm1', by: 'operator', nowMs: plane.clock.nowMs() }));
    await plane.clock.until('it has ended', () => stateOf(plane, operation) === 'succeeded');
    expect(plane.manager('m1')).toMatchObject({ state: 'live' });
    expect(plane.nodesOf('m1')).toEqual(['n1', 'n2']);
  });
});

test('many nodes of one of five: all are owned within a second after the lease ran out, in even shares', async () => {
  const plane = await planeOf('s1');
  onTestFinished(() => void started.splice(0));
  const value = { ...MANAGERS.defaultValue };
  await plane.commit(put(SETTING, MANAGERS.name, { value, changedBy: 'test', changedAtMs: 0 }));
  const [first] = await managersOf(plane, 'm1', 'm2', 'm3', 'm4', 'm5');
  for (const name of ['m1', 'm2', 'm3', 'm4', 'm5']) await plane.give(name, idsOf(1000, `${name}-`));
  await plane.clock.pass(20_000);
  first!.kill();
  await plane.clock.until('it is lost', () => plane.manager('m1').state === 'lost');
  const tookMs = await measure(plane, 'all are owned', () => plane.nodesOf('m1').length === 0);
  expect(tookMs).toBeLessThan(1000);
  const counts = ['m2', 'm3', 'm4', 'm5'].map((name) => plane.nodesOf(name).length);
  expect(Math.max(...counts) / (counts.reduce((sum, one) => sum + one, 0) / 4)).toBeLessThanOrEqual(1.05);
  expect([...plane.fleet.all(NODE)].filter(({ doc }) => doc.epoch > 1)).toHaveLength(1000);
});

// Managers that end shortly one after the other: what is offered while the last offer is being acquired is acquired as well.
import { describe, expect, test } from 'vitest';
import { ManagedPlane } from './managed-plane-fixture.ts';
import { idsOf, managersOf } from './managers-on-plane-fixture.ts';
import { startManager } from './test-manager-fixture.ts';

async function planeWithTwo(apartMs: number) {
  const plane = new ManagedPlane();
  await plane.start('s1');
  await plane.clock.until('a server decides', () => plane.hasHolder);
  await managersOf(plane, 'survivor');
  await plane.clock.pass(1234);
  const [m1] = await managersOf(plane, 'm1');
  await plane.clock.pass(apartMs);
  const m2 = startManager(plane, 'm2');
  await plane.clock.until('m2 may act', () => m2.program.mayAct);
  await plane.clock.pass(17_000);
  await plane.give('m1', idsOf(5, 'a'));
  await plane.give('m2', idsOf(5, 'b'));
  await plane.clock.pass(100);
  return { plane, m1: m1!, m2 };
}

const APART_MS = [0, 5, 10, 20, 30, 40, 60, 200];

describe('the nodes of two managers go to a third', () => {
  test.each(APART_MS)('whose leases end %i ms apart', async (apartMs) => {
    const { plane, m1, m2 } = await planeWithTwo(apartMs);
    m1.kill();
    m2.kill();
    await plane.clock.pass(20_000);
    expect(plane.nodesOf('survivor')).toHaveLength(10);
    expect(plane.violations).toEqual([]);
  });

  test.each(APART_MS)('which stop %i ms apart', async (apartMs) => {
    const { plane, m1, m2 } = await planeWithTwo(0);
    const stopped = [m1.stop()];
    await plane.clock.pass(apartMs);
    stopped.push(m2.stop());
    await Promise.all(stopped);
    await plane.clock.pass(1000);
    expect(plane.nodesOf('survivor')).toHaveLength(10);
    expect(plane.violations).toEqual([]);
  });
});

test('nodes that were offered and not acquired are requested again with the next renewal', async () => {
  const plane = new ManagedPlane();
  await plane.start('s1');
  await plane.clock.until('a server decides', () => plane.hasHolder);
  const [survivor, m1] = await managersOf(plane, 'survivor', 'm1');
  await plane.clock.pass(17_000);
  await plane.give('m1', idsOf(5, 'a'));
  survivor!.acquisitionsRefused = 4;
  m1!.kill();
  await plane.clock.pass(40_000);
  expect(survivor!.acquisitionsRefused).toBe(0);
  expect(plane.nodesOf('survivor')).toHaveLength(5);
});

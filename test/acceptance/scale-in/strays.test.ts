// Strays on a whole control plane: they are reported, shown and block a removal; and a switch that goes out of control while its agent is
// connected.
import { describe, expect, test } from 'vitest';
import { ALARM } from '../../../src/alarms/index.ts';
import { expectSound } from './switches-fixture.ts';
import { scaleInWorld, type ScaleInAcceptanceWorld } from './world-fixture.ts';

const alarms = (world: ScaleInAcceptanceWorld): string[] => world.all(ALARM).map(({ id }): string => id);
const strayed = (world: ScaleInAcceptanceWorld, host: string): readonly string[] =>
  world.host(host).strays?.names ?? [];

/** A host with an unknown interface on its bridge. */
async function withStray(): Promise<ScaleInAcceptanceWorld> {
  const world = await scaleInWorld();
  await world.start(['a']);
  await world.untilState('drained', 'a');
  world.switchOf('a').foreignInterfaces.add('tap-foreign');
  await world.until('it is reported', () => strayed(world, 'a').length > 0);
  return world;
}

describe('scale-in-strays', () => {
  test('a-foreign-interface-blocks-the-end-with-its-name-until-it-is-gone', async () => {
    const world = await withStray();
    expect(strayed(world, 'a')).toEqual(['interface/tap-foreign']);
    expect(alarms(world)).toEqual(['strays:a']);
    for (const disconnect of [false, true]) {
      const { facts } = await world.endRefused(['a'], { disconnect });
      expect(facts?.['hosts']).toMatchObject([
        { result: 'blocked', reason: { code: 'strays', names: ['interface/tap-foreign'] } },
      ]);
    }
    world.switchOf('a').foreignInterfaces.clear();
    await world.until('it is reported', () => strayed(world, 'a').length === 0);
    expect(alarms(world)).toEqual([]);
    await world.end(['a'], { disconnect: true });
    await world.untilState('removed', 'a');
    expectSound(world);
  });

  test('one-that-comes-just-before-the-task-to-leave-is-found-by-the-host-itself', async () => {
    const world = await scaleInWorld();
    await world.start(['a']);
    await world.untilState('drained', 'a');
    await world.settle();
    world.switchOf('a').foreignInterfaces.add('tap-late');
    const { operation = '' } = await world.end(['a'], { disconnect: true });
    await world.until('it says what is in the way', () => world.item(operation, 'a').state === 'failed');
    expect(world.item(operation, 'a').reason).toMatchObject({ code: 'strays', names: ['interface/tap-late'] });
    expect(world.host('a')).toMatchObject({ state: 'drained', connection: { state: 'up' } });
    expect(strayed(world, 'a')).toEqual(['interface/tap-late']);
    await world.settle();
    expectSound(world);
  });

  test('with-force-it-goes-all-the-same-and-the-reason-is-kept', async () => {
    const world = await withStray();
    await world.end(['a'], { force: { reason: 'a monitoring tap, looked at' } });
    await world.untilState('removed', 'a');
    expect(world.host('a').leaving?.forced?.reason).toBe('a monitoring tap, looked at');
    expect(world.switchOf('a').foreignInterfaces.size).toBe(1);
    expect(alarms(world)).toEqual([]);
    expectSound(world);
  });

  test('a-host-that-is-gone-with-a-stray-on-it-needs-force', async () => {
    const world = await withStray();
    await world.disconnect('a');
    const { facts } = await world.endRefused(['a']);
    expect(facts?.['hosts']).toMatchObject([{ result: 'blocked', reason: { code: 'strays' } }]);
  });

  test('a-copy-of-an-instance-that-the-fleet-does-not-know-is-one, and a port that a foreign flow names', async () => {
    const world = await scaleInWorld();
    const one = { vcpus: 1, memoryMiB: 1, diskGiB: 1, nics: [], state: 'running' as const, by: 'nobody' };
    world.agents.hypervisorOf('b')?.put({ id: 'ghost', ...one });
    const flow = { table: 0, priority: 7, match: 'in_port="tap-x"', actions: 'drop', cookie: '00000000000000aa' };
    world.switchOf('b').applyForeign([{ kind: 'put-flow', flow }]);
    await world.until('it is reported', () => strayed(world, 'b').length === 2);
    expect(strayed(world, 'b')).toEqual(['flow-port/tap-x', 'instance/ghost']);
  });

  test('many-are-counted-and-a-few-are-named', async () => {
    const world = await scaleInWorld();
    for (let nth = 0; nth < 150; nth += 1) world.switchOf('b').foreignInterfaces.add(`tap-${nth}`);
    await world.until('they are reported', () => strayed(world, 'b').length > 0);
    expect(world.host('b').strays).toMatchObject({ count: 150 });
    expect(strayed(world, 'b')).toHaveLength(10);
  });
});

test('scale-in-cond-1: a switch that is out of control excludes its host from every choice', async () => {
  const world = await scaleInWorld();
  world.switchOf('a').faults.down = true;
  await world.clock.pass(30_000);
  expect(world.host('a')).toMatchObject({ connection: { state: 'up' }, degraded: [{ type: 'switch' }] });
  expect(alarms(world)).toEqual(['host-degraded:a']);
  await world.place('one', 'b');
  await world.settle();
  expect(world.instance('one').host).toBe('b');
  world.switchOf('a').faults.down = false;
  await world.until('it is well', () => world.host('a').degraded === undefined);
  expect(alarms(world)).toEqual([]);
  expectSound(world);
});

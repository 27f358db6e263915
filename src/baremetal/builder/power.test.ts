// Switching the machines of instances on and off.
import { describe, expect, test } from 'vitest';
import { fixtureN, NodesWorld } from './nodes-world-fixture.ts';

async function activeWorld(): Promise<NodesWorld> {
  const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
  await world.create({ networks: 'none' });
  await world.settle();
  return world;
}

const switches = (world: NodesWorld): string[] =>
  world
    .calls()
    .map(({ op }) => op)
    .slice(1);

describe('power', () => {
  test('off-and-on: the instance and its node say so', async () => {
    const world = await activeWorld();
    const operation = await world.power('db', 'off');
    await world.settle();
    expect(world.operationDoc(operation)).toMatchObject({ state: 'succeeded', title: 'switch instance db off' });
    expect([world.instance('db')?.power, world.node('n1').power]).toEqual(['off', 'off']);
    await world.power('db', 'on');
    await world.settle();
    expect([world.instance('db')?.power, world.node('n1').power]).toEqual(['on', 'on']);
    expect(switches(world)).toEqual(['power-off', 'power-on']);
  });

  test('a-reboot-is-one-call, and-two-requests-are-two', async () => {
    const world = await activeWorld();
    await world.arm({ op: 'power', outcome: 'applied-but-lost' });
    await world.power('db', 'reboot');
    await world.settle();
    expect(world.calls().filter(({ op, result }) => op === 'reboot' && result === 'applied')).toHaveLength(1);
    await world.power('db', 'reboot');
    await world.settle();
    expect(world.calls().filter(({ op, result }) => op === 'reboot' && result === 'applied')).toHaveLength(2);
  });

  test('requests-are-done-one-after-the-other, in-their-order', async () => {
    const world = await activeWorld();
    await world.set({ powerMs: 4000 });
    for (const power of ['off', 'on', 'off'] as const) await world.power('db', power);
    await world.pass();
    expect(world.tasks('m1').map(({ kind }) => kind)).toEqual(['power-off']);
    await world.settle();
    expect(switches(world)).toEqual(['power-off', 'power-on', 'power-off']);
    expect(world.instance('db')?.power).toBe('off');
  });

  test('baremetal-19: accepted with no manager alive, and done once one is there', async () => {
    const world = await activeWorld();
    await world.lose('m1');
    const operation = await world.power('db', 'reboot');
    await world.settle();
    expect(world.item(operation, 'db')).toMatchObject({ state: 'waiting', reason: { code: 'node-unmanaged' } });
    await world.register('m2');
    await world.settle();
    expect(world.callsInWords().at(-1)).toBe('reboot n1 for db by m2');
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
  });

  test('a-machine-that-fails-is-called-three-times, and-the-request-can-be-retried', async () => {
    const world = await activeWorld();
    await world.arm({ op: 'power', outcome: 'failed', times: 3 });
    const operation = await world.power('db', 'off');
    await world.settle();
    expect(world.item(operation, 'db')).toMatchObject({ state: 'failed', reason: { code: 'power-failed' } });
    expect(world.instance('db')).toMatchObject({ state: 'active', power: 'on' });
    await world.retry(operation);
    await world.settle();
    expect(world.instance('db')?.power).toBe('off');
  });

  test('a-deletion-waits-for-it', async () => {
    const world = await activeWorld();
    await world.power('db', 'off');
    await world.pass();
    const late = world.task('m1', 'power-off');
    const operation = await world.delete('db');
    await world.pass();
    expect(world.item(operation, 'db')).toMatchObject({ step: 'stop', reason: { code: 'other-work-ends-first' } });
    await world.answer('m1', late, { outcome: 'done' });
    await world.settle();
    expect(world.instance('db')).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test('is-for-active-instances', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), []);
    await world.create();
    await expect(world.power('db', 'off')).rejects.toThrow(
      'not-active: Instance "db" cannot be switched on or off: it is building',
    );
    await expect(world.power('nobody', 'off')).rejects.toThrow('unknown-instance');
  });

  test('one-that-is-cancelled-before-a-manager-is-there-does-nothing', async () => {
    const world = await activeWorld();
    await world.lose('m1');
    const operation = await world.power('db', 'off');
    await world.settle();
    await world.cancel(operation);
    await world.register('m2');
    await world.settle();
    expect(switches(world)).toEqual([]);
    expect(world.operationDoc(operation)?.state).toBe('cancelled');
  });
});

// Builds on nodes whose claims are made at their inventory: what it answers, and when it does not.
import { describe, expect, test } from 'vitest';
import { fixtureN, NodesWorld } from './nodes-world-fixture.ts';

describe('an inventory outside the journal', () => {
  test('claims-the-node-outside, and-gives-it-back-when-the-instance-is-gone', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    await world.set({ claims: 'endpoint' });
    await world.create();
    await world.settle();
    expect(world.instance('db')).toMatchObject({ state: 'active', node: 'n1' });
    await world.delete('db');
    await world.settle();
    expect(world.instance('db')).toBeUndefined();
    expect(world.node('n1').state).toBe('available');
    expect(world.calls().map(({ op }) => op)).toEqual(['claim', 'connect', 'deploy', 'disconnect', 'clean', 'unclaim']);
    expect(world.violations).toEqual([]);
  });

  test('a-build-that-is-deleted-during-its-claim-leaves-none', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']), ['m1']);
    await world.set({ claims: 'endpoint' });
    await world.create();
    await world.reserveFor(world.task('m1', 'reserve'), 'm1');
    expect(world.reservation('db')?.state).toBe('allocating');
    await world.delete('db');
    await world.settle();
    expect([world.instance('db'), world.reservation('db')]).toEqual([undefined, undefined]);
    expect(world.node('n1')).toMatchObject({ state: 'available' });
    expect(world.node('n1').claimedFor).toBeUndefined();
    expect(world.violations).toEqual([]);
  });

  test('continues-its-claim-although-the-manager-of-the-build-is-lost', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0', 'seg0']), ['m1', 'm2']);
    await world.set({ claims: 'endpoint' });
    await world.arm({ op: 'claim', outcome: 'failed' });
    const operation = await world.create();
    await world.reserveFor(world.task('m1', 'reserve'), 'm1');
    await world.lose('m1');
    world.running.delete('m2');
    while (world.reservation('db')?.state === 'allocating') {
      expect(world.item(operation, 'db')?.assignee).toBe('m1');
      await world.tick();
    }
    expect(world.calls().map(({ op, result }) => `${op} ${result}`)).toEqual(['claim lost', 'claim applied']);
    world.running.add('m2');
    await world.settle();
    expect(world.instance('db')).toMatchObject({ state: 'active', attempts: [{ nth: 1 }] });
    expect(world.node(world.instance('db')!.node!).manager).toBe('m2');
  });

  test('baremetal-31: an inventory without an endpoint for claims: the old path, and no node is adopted that was not requested', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0', 'seg0', 'seg0']), ['m1']);
    await world.set({ claims: 'direct' });
    await world.create({ name: 'a' });
    await world.settle();
    const { node = '' } = world.instance('a') ?? {};
    expect(world.instance('a')?.state).toBe('active');
    expect(world.calls().filter(({ op }) => op === 'claim')).toMatchObject([{ node, instance: 'a', accepted: true }]);
    const others = ['n1', 'n2', 'n3'].filter((id) => id !== node);
    expect(others.map((id) => [world.node(id).state, world.node(id).manager])).toEqual([
      ['available', undefined],
      ['available', undefined],
    ]);
    expect(world.violations).toEqual([]);
  });
});

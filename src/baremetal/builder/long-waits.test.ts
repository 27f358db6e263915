// The alarm of work that waits: not before it has waited for long, one for all that waits for the same, and cleared when it continues.
import { describe, expect, test } from 'vitest';
import { ALARM } from '../../alarms/index.ts';
import { accept } from '../../journal/index.ts';
import { explainer } from '../../operations/index.ts';
import { builderSentences } from './sentences.ts';
import { LONG_WAIT_MS, reconcileLongWaits } from './long-waits.ts';
import { fixtureN, NodesWorld } from './nodes-world-fixture.ts';

const HOUR_MS = 3600_000;

async function waits(world: NodesWorld): Promise<object[]> {
  await world.commit((fleet) => accept(reconcileLongWaits(fleet, world.nowMs), null));
  return [...world.fleet.all(ALARM)].map(({ doc }) => doc.reason);
}

async function unmanagedWorld(): Promise<NodesWorld> {
  const world = await NodesWorld.of(fixtureN(['seg0', 'seg0']));
  await world.create({ count: 2, minCount: 2 });
  await world.settle();
  await world.lose('m1');
  return world;
}

describe('of deletions without a manager', () => {
  test('there is one, once the first has waited for long', async () => {
    const world = await unmanagedWorld();
    const beganMs = world.nowMs;
    const operation = await world.delete('db-1');
    await world.delete('db-2');
    await world.settle();
    world.clock.now = beganMs + LONG_WAIT_MS - 1;
    expect(await waits(world)).toEqual([]);
    world.clock.now += HOUR_MS;
    expect(await waits(world)).toEqual([{ code: 'node-work-waits', waitsFor: 'manager', count: 2, operation }]);
    const { revision } = world.fleet;
    await waits(world);
    expect(world.fleet.revision).toBe(revision);
  });

  test('it is cleared when the work continues', async () => {
    const world = await unmanagedWorld();
    await world.delete('db-1');
    await world.settle();
    world.clock.now += HOUR_MS;
    expect(await waits(world)).toHaveLength(1);
    await world.register('m2');
    await world.settle();
    expect(await waits(world)).toEqual([]);
  });
});

test('what is tried again and again counts since it was asked for', async () => {
  const world = await NodesWorld.of(fixtureN(['seg0']));
  await world.set({ claims: 'endpoint' });
  await world.requestByHand({ instance_uuid: 'x', manager: 'm1' });
  await world.settle();
  await world.arm({ op: 'claim', outcome: 'unavailable', times: 99 });
  await world.releaseByHand('x');
  const beganMs = world.nowMs;
  while (world.nowMs < beganMs + LONG_WAIT_MS - 60_000) await world.tick();
  expect(await waits(world)).toEqual([]);
  world.clock.now += LONG_WAIT_MS;
  expect(await waits(world)).toMatchObject([{ waitsFor: 'inventory', count: 1 }]);
});

test('it says what to do', () => {
  const facts = { code: 'node-work-waits', count: 3, operation: 'op-7' };
  expect(explainer([builderSentences])({ ...facts, waitsFor: 'inventory' })).toBe(
    'Work on bare-metal nodes has waited for an inventory for more than 15 minutes: 3 in all, the first of operation op-7. It continues by itself, whenever that is. See that it runs and that Muster reaches it: "muster baremetal inventories list".',
  );
});

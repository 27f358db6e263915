// Deletions that are asked for again: whoever asks hears of the one that is under way, if it does all that is asked for.
import { expect, test } from 'vitest';
import { deleteInstances } from './delete.ts';
import { World } from './instances-fixture.ts';
import { HOUR_MS } from './moves-fixture.ts';

const deleting = (world: World, ...ids: readonly string[]): Promise<{ readonly operation: string }> => {
  const command = { ids, operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  return world.commit((fleet) => deleteInstances(fleet, command));
};

async function withTwo(): Promise<World> {
  const world = await World.of();
  for (const name of ['one', 'two']) await world.create({ name });
  await world.settle();
  // Its host is silent: a deletion stays under way.
  await world.goDown('h2');
  return world;
}

test('repeated: the answer is the operation that does it, and nothing is committed', async () => {
  const world = await withTwo();
  const { operation } = await deleting(world, 'one');
  await world.settle();
  const { revision } = world.fleet;
  expect(await deleting(world, 'one')).toEqual({ operation });
  expect(world.fleet.revision).toBe(revision);
  await world.comeBack('h2');
  await world.settle();
  expect([world.instance('one'), world.instance('two')?.state]).toEqual([undefined, 'active']);
});

test('of-more-than-what-is-being-deleted: a new operation that deletes all of it', async () => {
  const world = await withTwo();
  const { operation } = await deleting(world, 'one');
  expect((await deleting(world, 'one', 'two')).operation).not.toBe(operation);
  await world.comeBack('h2');
  await world.settle();
  expect([world.instance('one'), world.instance('two'), world.open()]).toEqual([undefined, undefined, []]);
});

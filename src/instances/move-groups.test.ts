// Moves of instances in server groups.
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../fleet/index.ts';
import { accept } from '../journal/index.ts';
import { World } from './instances-fixture.ts';
import { GROUP, type Group } from './model.ts';
import { moveInstances, type MoveInstances } from './move.ts';

async function grouped(policy: Group['policy'], ...names: readonly string[]): Promise<World> {
  const world = await World.of();
  const group = { name: 'kin', project: 'default', policy, changedBy: 'x', changedAtMs: 0 };
  await world.commit(() => accept([put(GROUP, idOf(GROUP, 'kin'), group)], null));
  for (const name of names) await world.create({ name, place: { group: 'kin' } });
  await world.settle();
  return world;
}

async function moved(world: World, facts: Partial<MoveInstances> = {}): Promise<void> {
  const asking = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: 3_600_000 };
  await world.commit((fleet) => moveInstances(fleet, { ids: ['web'], kind: 'live', ...asking, ...facts }));
  await world.settle();
}

describe('a move in a server group', () => {
  test('an-instance-is-no-neighbour-of-its-own', async () => {
    const world = await grouped('affinity', 'web');
    await moved(world);
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  });

  test('affinity-with-another-holds-it-where-it-is', async () => {
    const world = await grouped('affinity', 'web', 'db');
    await moved(world);
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'no-valid-host' } });
  });

  test('anti-affinity-keeps-it-from-the-host-of-another', async () => {
    const world = await grouped('anti-affinity', 'web');
    await moved(world, { target: 'h4' });
    await world.create({ name: 'db', place: { group: 'kin' } });
    await world.settle();
    expect(world.instance('db')?.host).toBe('h2');
    await moved(world, { ids: ['db'] });
    expect(world.instance('db')).toMatchObject({ state: 'active', host: 'h5' });
    expect(world.violations).toEqual([]);
  });
});

// Moves of instances in server groups.
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { findHost, startScaleIn } from '../../hosts/index.ts';
import { accept } from '../../journal/index.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { GROUP, type ServerGroup } from '../model.ts';
import { moveInstances, type MoveInstances } from './move.ts';
import { EVACUATORS } from '../reference-fixture.ts';
import { shelveInstance, unshelveInstance } from '../shelve-rebuild/shelve.ts';

async function createGrouped(policy: ServerGroup['policy'], ...names: readonly string[]): Promise<InstancesWorld> {
  const world = await InstancesWorld.of();
  const group = { name: 'kin', project: 'default', policy, changedBy: 'x', changedAtMs: 0 };
  await world.commit(() => accept([put(GROUP, idOf(GROUP, 'kin'), group)], null));
  for (const name of names) await world.create({ name, place: { group: 'kin' } });
  await world.settle();
  return world;
}

async function moveAndSettle(world: InstancesWorld, facts: Partial<MoveInstances> = {}): Promise<void> {
  const authorship = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: 3_600_000 };
  await world.commit((fleet) => moveInstances(fleet, { ids: ['web'], kind: 'live', ...authorship, ...facts }));
  await world.settle();
}

describe('a move in a server group', () => {
  test('an-instance-is-no-neighbour-of-its-own', async () => {
    const world = await createGrouped('affinity', 'web');
    await moveAndSettle(world);
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  });

  test('affinity-with-another-holds-it-where-it-is', async () => {
    const world = await createGrouped('affinity', 'web', 'db');
    await moveAndSettle(world);
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2', fault: { code: 'no-valid-host' } });
  });

  test('anti-affinity-keeps-it-from-the-host-of-another', async () => {
    const world = await createGrouped('anti-affinity', 'web');
    await moveAndSettle(world, { target: 'h4' });
    await world.create({ name: 'db', place: { group: 'kin' } });
    await world.settle();
    expect(world.instance('db')?.host).toBe('h2');
    await moveAndSettle(world, { ids: ['db'] });
    expect(world.instance('db')).toMatchObject({ state: 'active', host: 'h5' });
    expect(world.violations).toEqual([]);
  });
});

describe('a-group-that-must-be-together-on-a-leaving-host', () => {
  const authorship = (world: InstancesWorld) => ({ operation: world.operation(), by: 'ann', nowMs: world.nowMs });

  async function draining(): Promise<{ world: InstancesWorld; operation: string }> {
    const world = await createGrouped('affinity', 'web', 'db', 'lb');
    expect(['web', 'db', 'lb'].map((id) => world.instance(id)?.host)).toEqual(['h2', 'h2', 'h2']);
    const command = { hosts: ['h2'], drain: true, deadlineMs: 4 * 3_600_000, ...authorship(world) };
    const { operation = '' } = await world.commit((fleet) => startScaleIn(fleet, EVACUATORS, command));
    await world.settle();
    return { world, operation };
  }

  test('the drain says that none may leave first, and of which group', async () => {
    const { world, operation } = await draining();
    const reason = world.item(operation, 'h2')?.reason;
    expect(reason).toMatchObject({ code: 'held-together', host: 'h2', group: 'kin', others: 2 });
  });

  test('shelved and unshelved, as the reason says, they are together elsewhere and the host is drained', async () => {
    const { world, operation } = await draining();
    const names = ['web', 'db', 'lb'];
    const each = async (verb: typeof shelveInstance): Promise<void> => {
      for (const id of names) {
        await world.commit((fleet) =>
          verb(fleet, { id, deadlineMs: 3_600_000, hasCredentials: true, ...authorship(world) }),
        );
        await world.settle();
      }
    };
    await each(shelveInstance);
    await each(unshelveInstance);
    expect(names.map((id) => world.instance(id))).toMatchObject(names.map(() => ({ state: 'active', host: 'h4' })));
    expect(findHost(world.fleet, 'h2')?.doc.state).toBe('drained');
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.violations).toEqual([]);
  });
});

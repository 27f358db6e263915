// Instances on the hosts of fixture F, each active before the test goes further.
import { expect } from 'vitest';
import { mergeChanges, type Change } from '../../fleet/index.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { fixtureF } from '../reference-fixture.ts';

export async function openReferenceWorld(...changes: readonly Change[]): Promise<InstancesWorld> {
  return InstancesWorld.of(mergeChanges([...fixtureF(), ...changes]));
}

export async function createActive(
  world: InstancesWorld,
  name: string,
  facts: Parameters<InstancesWorld['create']>[0] = {},
): Promise<void> {
  await world.create({ name, ...facts });
  await world.settle();
  expect(world.instance(name)).toMatchObject({ state: 'active' });
}

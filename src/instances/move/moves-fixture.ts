// The start of tests of moves: an instance that runs on h2 of fixture F, and a move of it.
import type { OperationId } from '../../operations/index.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { moveInstances, type MoveInstances } from './move.ts';
import { fixtureF } from '../reference-fixture.ts';

export const HOUR_MS = 3_600_000;

export async function startActive(backEnd: Parameters<typeof fixtureF>[0] = 'embedded'): Promise<InstancesWorld> {
  const world = await InstancesWorld.of(fixtureF(backEnd));
  await world.create();
  await world.settle();
  const { state, host } = world.instance('web') ?? {};
  if (state !== 'active' || host !== 'h2') throw new Error(`web is ${state} at ${host}`);
  return world;
}

export async function move(world: InstancesWorld, facts: Partial<MoveInstances> = {}): Promise<OperationId> {
  const operation = world.operation();
  const command = { ids: ['web'], kind: 'live' as const, by: 'ann', nowMs: world.nowMs, deadlineMs: HOUR_MS };
  await world.commit((fleet) => moveInstances(fleet, { operation, ...command, ...facts }));
  return operation;
}

// Instances whose names look like what Muster makes of other names.
import { expect, test } from 'vitest';
import { CLAIM } from '../../network/index.ts';
import { move, startActive } from '../move/moves-fixture.ts';

test('never: the second claim of a move is mistaken for the claim of an instance with a similar name', async () => {
  const world = await startActive();
  await world.create({ name: 'web.move' });
  await world.settle();
  const before = world.claim('web.move');
  expect(before).toMatchObject({ instance: 'web.move', role: 'home' });
  const operation = await move(world);
  await world.runUntilStep(operation, 'web', 'prepare');
  expect([...world.fleet.all(CLAIM)].map(({ id, doc }) => `${id} ${doc.role}`)).toEqual([
    'web home',
    'web.move home',
    'web:move move',
  ]);
  await world.settle();
  expect(world.claim('web.move')).toEqual(before);
  expect(world.instance('web')?.state).toBe('active');
  expect(world.violations).toEqual([]);
});

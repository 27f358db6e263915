import { expect, test } from 'vitest';
import { World } from './instances-fixture.ts';
import { fixtureF } from './reference-fixture.ts';

test('a back end that refuses to delete a port of a build that is given up is asked again: no port is left there', async () => {
  const world = await World.of(fixtureF('simulated'));
  world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 3 });
  world.network.faults.arm({ op: 'delete', outcome: 'forbidden', times: 2 });
  const operation = await world.create();
  await world.until(operation, 'web', 'release');
  await world.pass();
  expect(world.item(operation, 'web')).toMatchObject({
    step: 'release',
    state: 'waiting',
    reason: { code: 'ports-not-released', instance: 'web', ports: ['web-p0'] },
  });
  expect(world.port('web-p0')).toBeDefined();
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'error', nics: [], fault: { code: 'attempts-exhausted' } });
  expect(world.item(operation, 'web')?.state).toBe('failed');
  expect(world.port('web-p0')).toBeUndefined();
  expect(world.network.port('web-p0')).toBeUndefined();
  expect(world.violations).toEqual([]);
});

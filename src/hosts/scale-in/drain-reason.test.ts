// Which of several waits a drain names as its reason.
import { expect, test } from 'vitest';
import { activeHosts, posts, ScaleInWorld } from './scale-in-fixture.ts';

test('of-two-services-that-wait-for-the-same-the-one-that-has-left-is-not-named-any-more', async () => {
  const world = await ScaleInWorld.of(
    ...activeHosts('c1', 'c2'),
    posts.put('nat', { host: 'c1', presence: ['c1', 'c2'] }),
    posts.put('dhcp', { host: 'c1', presence: ['c1', 'c2'] }),
  );
  for (const service of ['nat', 'dhcp']) world.driver.unready.set(service, 'service-not-ready');
  const { operation = '' } = await world.commit(world.starting(['c1']));
  for (let tick = 0; tick < 12; tick += 1) await world.tick();
  const named = String(world.item(operation, 'c1')?.reason?.['service']);
  const other = named === 'nat' ? 'dhcp' : 'nat';
  world.driver.unready.delete(named);
  for (let tick = 0; tick < 12; tick += 1) await world.tick();
  expect(world.driver.moved).toEqual([named]);
  expect(world.item(operation, 'c1')?.reason).toMatchObject({ code: 'service-not-ready', service: other });
});

// The target of a handover dies after the switch: when the service does not return to its old host.
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { fitHost, LEAVING, portOn, routed, service, ElectionWorld } from '../election-fixture.ts';
import { startLeaving, NAT } from './handover-fixture.ts';
import { SERVICE } from '../model.ts';

describe('the target after the switch: the old host is not chosen again', () => {
  test('where-hosts-that-leave-may-not-do-the-service', async () => {
    const world = await startLeaving();
    await world.until(NAT, 'retiring');
    await world.put(put(SERVICE, idOf(SERVICE, NAT), { ...service(world.fleet, NAT)!, exclusion: 'hard' }));
    await world.silent('x');
    await world.reconcile();
    expect(service(world.fleet, NAT)).toMatchObject({ designated: { host: 'y' } });
  });

  test('when-BFD-to-it-is-down-at-most-of-those-that-send-to-it', async () => {
    const world = await startLeaving();
    await world.until(NAT, 'retiring');
    world.bfdDownByMajority.add('a');
    await world.silent('x');
    await world.reconcile();
    expect(service(world.fleet, NAT)).toMatchObject({ designated: { host: 'y' } });
  });

  test('for-a-service-that-has-no-connections', async () => {
    const ground = [routed('r1', ['s1']), ...['a', 'x', 'y'].map((name) => portOn(name, 's1'))];
    const [x, y] = [fitHost('x', { baseWeight: -5 }), fitHost('y', { baseWeight: -9 })];
    const world = await ElectionWorld.of(fitHost('a'), x, y, ...ground);
    await world.settle();
    await world.put(fitHost('a', LEAVING));
    await world.reconcile();
    await world.until('subnet-route:s1', 'switched');
    await world.silent('x');
    await world.reconcile();
    expect(service(world.fleet, 'subnet-route:s1')).toMatchObject({ designated: { host: 'y' } });
  });
});

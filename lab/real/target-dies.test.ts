// The host that a translation was just switched to is killed, on real switches: the old one continues with the connections.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ovsSuite } from '../../test/ovs/suite.ts';
import { LabFleet } from '../scenarios/fleet.ts';
import { loseTargetAfterSwitch } from '../scenarios/target-dies.ts';

ovsSuite('a target that dies', () => {
  let fleet: LabFleet;

  beforeAll(async () => {
    fleet = await LabFleet.start(3);
  });

  afterAll(async () => {
    await fleet?.close();
  });

  test('scale-in-failover: the-old-host-goes-on-with-what-is-only-received, from the same port, while it drains and while it retires', async (context) => {
    const outcome = await loseTargetAfterSwitch(fleet);
    if (outcome.kind === 'machine-too-busy') context.skip('machine-too-busy');
    expect(outcome.kind === 'failed' ? outcome.problems : []).toEqual([]);
  }, 300_000);
});

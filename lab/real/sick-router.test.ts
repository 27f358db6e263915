// One service that no other host can prepare, on real switches: the others and the instances leave without it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ovsSuite } from '../../test/ovs/suite.ts';
import { LabFleet } from '../scenarios/fleet.ts';
import { leaveBesideSickRouter } from '../scenarios/sick-router.ts';

ovsSuite('a sick router', () => {
  let fleet: LabFleet;

  beforeAll(async () => {
    fleet = await LabFleet.start(3);
  });

  afterAll(async () => {
    await fleet?.close();
  });

  test('scale-in-sick: healthy-services-and-instances-leave-beside-a-sick-one, the-reason-why-it-stays-is-shown, recover-ends-it, and-no-packet-is-lost', async (context) => {
    const outcome = await leaveBesideSickRouter(fleet);
    if (outcome.kind === 'machine-too-busy') context.skip('machine-too-busy');
    expect(outcome.kind === 'failed' ? outcome.problems : []).toEqual([]);
  }, 300_000);
});

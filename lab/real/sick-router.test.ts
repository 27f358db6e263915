// One service that no other host can prepare, on real switches: the others and the instances leave without it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ovsSuite } from '../../test/ovs/suite.ts';
import { Fleet } from '../scenarios/fleet.ts';
import { leaveBesideSickRouter } from '../scenarios/sick-router.ts';
import { judgeSickRun } from '../scenarios/sick-router-judgement.ts';

ovsSuite('a sick router', () => {
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.start(3);
  });

  afterAll(async () => {
    await fleet?.close();
  });

  test('scale-in-sick: healthy-services-and-instances-leave-beside-a-sick-one, everybody-is-told-why-it-stays, and-recover-ends-it', async () => {
    expect(judgeSickRun(await leaveBesideSickRouter(fleet))).toEqual([]);
  }, 300_000);
});

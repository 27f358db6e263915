// The target of a handover when it is away or does not get ready and there is no other candidate: how long the wait is.
import { expect, test } from 'vitest';
import { fitHost, LEAVING, service, openWithOneCandidate, type ElectionWorld } from '../election-fixture.ts';

/** Only x is a candidate, and x does not get ready. */
async function leavingToX(): Promise<ElectionWorld> {
  const world = await openWithOneCandidate();
  world.views.behind.add('x');
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  await world.pass();
  expect(world.shown()).toContain('nat:r1 a (a to x, preparing)');
  return world;
}

test('one-that-is-away-and-has-no-replacement-is-abandoned-in-time-and-not-after-an-hour', async () => {
  const world = await leavingToX();
  await world.silent('x', 'down');
  await world.pass();
  expect(world.open()).toEqual(['nat:r1 prepare waiting no-candidate', 'subnet-route:s1 prepare waiting no-candidate']);
  for (let pass = 0; pass < 65; pass += 1) await world.pass();
  await world.settle();
  expect(world.items()[0]).toMatchObject({
    state: 'failed',
    reason: { code: 'target-unfit', because: 'not-connected' },
  });
  expect(world.shown()).toContain('nat:r1 a!,');
  await world.back('x');
  world.views.behind.clear();
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 x');
  expect(world.wrong()).toEqual([]);
});

test('one-that-comes-back-within-that-time-is-gone-on-with-at-once', async () => {
  const world = await leavingToX();
  await world.silent('x', 'down');
  await world.pass();
  world.views.behind.clear();
  await world.back('x');
  await world.pass();
  await world.pass();
  expect(service(world.fleet, 'nat:r1')?.handover?.phase).not.toBe('preparing');
});

test.each(['away', 'behind'])('one-that-is-%s-does-not-keep-a-host-from-coming-back', async (how) => {
  const world = await leavingToX();
  if (how === 'away') await world.silent('x', 'down');
  else for (let pass = 0; pass < 65; pass += 1) await world.pass();
  await world.edit('a', { state: 'recovering' });
  for (let pass = 0; pass < 10; pass += 1) await world.pass();
  expect(world.open()).toEqual([]);
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 a');
  await world.active('a');
  await world.settle();
  expect(world.wrong()).toEqual([]);
});

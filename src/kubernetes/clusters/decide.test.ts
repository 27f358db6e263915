// Registration of clusters.
import { expect, test } from 'vitest';
import { deleteCluster, registerCluster } from './decide.ts';
import { EDGE, WorkersWorld } from '../workers-fixture.ts';

const BY = { by: 'ann', nowMs: 1 };

test('a-cluster-is-registered-once, at a site that is there', async () => {
  const world = await WorkersWorld.of([]);
  await world.commit((fleet) => registerCluster(fleet, { name: 'north', kind: 'simulated' }, BY));
  expect(
    await world.refusal((fleet) => registerCluster(fleet, { name: 'north', kind: 'simulated' }, BY)),
  ).toMatchObject({
    code: 'cluster-exists',
    field: '/name',
  });
  expect(
    await world.refusal((fleet) => registerCluster(fleet, { name: 'x', kind: 'simulated', site: 'none' }, BY)),
  ).toMatchObject({
    code: 'unknown-site',
    field: '/site',
  });
});

test('one-with-workers-is-not-forgotten', async () => {
  const world = await WorkersWorld.of(['a']);
  expect(await world.refusal((fleet) => deleteCluster(fleet, { id: EDGE }))).toMatchObject({
    code: 'cluster-in-use',
    facts: { workers: 1 },
  });
  expect(await world.refusal((fleet) => deleteCluster(fleet, { id: 'none' }))).toMatchObject({
    code: 'unknown-cluster',
  });
});

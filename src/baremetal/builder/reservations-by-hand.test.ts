// Reservations that are made by hand, beside instances of the control plane under the same names: neither gets the other's node.
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { RESERVATION } from '../model.ts';
import { putNode } from '../nodes-fixture.ts';
import { fixtureN, metal, NodesWorld } from './nodes-world-fixture.ts';

const BY_HAND = { instance_uuid: 'db', manager: 'm1' };
const TAKEN = 'There is a reservation of a node for "db" that somebody made.';

async function withNodeOfProject(): Promise<NodesWorld> {
  const small = { memoryMiB: 1, cpus: 1, localGiB: 1, physicalNetworks: [], site: 'central' };
  const gpu = metal('metal-gpu', { extraSpecs: { 'trait:GPU': 'required' } });
  return NodesWorld.of([...fixtureN(['seg0']), gpu, putNode('elsewhere', { ...small, owner: 'acme' })]);
}

describe('an instance is not created under the name of a reservation', () => {
  test('of another project, on a node that is nothing like its flavor', async () => {
    const world = await withNodeOfProject();
    const body = { ...BY_HAND, candidate_nodes: ['elsewhere'], project: 'acme' };
    expect(await world.requestByHand(body, 'acme')).toMatchObject({ kind: 'accepted', answer: { kind: 'reserved' } });
    const revision = world.fleet.revision;
    const refusal = await world.refuse({ flavor: 'metal-gpu' });
    expect(refusal).toMatchObject({ kind: 'conflict', code: 'instance-has-reservation', field: '/name' });
    expect(refusal.message).toContain(TAKEN);
    expect(await world.preview({})).toMatchObject({ code: 'instance-has-reservation' });
    expect(world.fleet.revision).toBe(revision);
    expect(world.node('elsewhere').instance).toBe('db');
  });

  test('whose node is being cleaned, and is once it is gone', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0', 'seg0']));
    await world.requestByHand(BY_HAND);
    const node = world.reservation('db')?.node ?? '';
    await world.put(putNode(node, { ...world.node(node), state: 'deploying', dirty: true }));
    world.running.clear();
    await world.releaseByHand('db');
    await world.pass();
    expect(world.node(node).state).toBe('cleaning');
    expect(await world.refuse({})).toMatchObject({ code: 'instance-has-reservation' });
    world.running.add('m1');
    await world.settle();
    await world.create();
    await world.settle();
    expect(world.instance('db')?.state).toBe('active');
    expect(world.violations).toEqual([]);
  });

  test('one that failed gives way', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0']));
    const failed = await world.requestByHand({ ...BY_HAND, memory_mb: 2 ** 39 });
    expect(failed).toMatchObject({ kind: 'accepted', answer: { kind: 'no-match' } });
    await world.create();
    await world.settle();
    expect(world.instance('db')?.state).toBe('active');
    expect(world.violations).toEqual([]);
  });

  test('one of several names is enough, and none is created', async () => {
    const world = await NodesWorld.of();
    await world.requestByHand({ ...BY_HAND, instance_uuid: 'db-2' });
    expect(await world.refuse({ count: 2, minCount: 2 })).toMatchObject({ facts: { instance: 'db-2' } });
    expect(world.instance('db-1')).toBeUndefined();
  });
});

describe('a reservation is not made by hand under the name of an instance', () => {
  test('that is being built, has its node, or is deleted', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0', 'seg0']));
    await world.create();
    expect(await world.requestByHand(BY_HAND)).toMatchObject({ refusal: { code: 'instance-of-own-build' } });
    await world.settle();
    expect(await world.requestByHand(BY_HAND)).toMatchObject({ refusal: { code: 'instance-of-own-build' } });
    world.running.clear();
    await world.delete('db');
    await world.pass();
    expect(await world.requestByHand(BY_HAND)).toMatchObject({ refusal: { code: 'instance-of-own-build' } });
  });

  test('although it requests the same as the build does', async () => {
    const world = await NodesWorld.of();
    await world.create();
    const { build: _, ...same } = world.task('m1', 'reserve').args['request'] as typeof BY_HAND & { build: string };
    await world.settle();
    expect(await world.requestByHand(same)).toMatchObject({ refusal: { code: 'instance-of-own-build' } });
  });
});

test('a build adopts no reservation that it did not request', async () => {
  const world = await NodesWorld.of(fixtureN(['seg0', 'seg0']));
  const operation = await world.create();
  const task = world.task('m1', 'reserve');
  await world.reserveFor(task, 'm1');
  const stored = world.fleet.get(RESERVATION, idOf(RESERVATION, 'db'))!;
  const { build: _, ...request } = stored.doc.request;
  await world.put(put(RESERVATION, stored.id, { ...stored.doc, request }));
  expect(await world.reserveFor(task, 'm1')).toMatchObject({ refusal: { code: 'request-differs' } });
  await world.pass();
  expect(world.item(operation, 'db')).toMatchObject({ step: 'reserve' });
  expect(world.violations).toEqual([
    expect.stringContaining('never: an instance has a reservation that somebody made by hand'),
  ]);
});

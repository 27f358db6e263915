// Builds on bare metal, from the request to the deployed node, with managers and machines that fail on the way.
import { describe, expect, test } from 'vitest';
import { put, idOf } from '../../fleet/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import { ITEM } from '../../operations/index.ts';
import { fixtureN, NodesWorld } from './nodes-world-fixture.ts';

const RACK_0 = ['seg0'];

describe('a build', () => {
  test('reserves-a-node, connects-it, and-deploys-to-it', async () => {
    const world = await NodesWorld.of();
    const operation = await world.create({ image: 'debian' });
    expect(world.instance('db')).toMatchObject({ state: 'building', builder: 'bare-metal' });
    expect(world.item(operation, 'db')).toMatchObject({ step: 'reserve', assignee: 'm1', state: 'running' });
    await world.settle();
    const { node = '' } = world.instance('db') ?? {};
    expect(world.instance('db')).toMatchObject({ state: 'active', wasActive: true, power: 'on', site: 'central' });
    expect(world.node(node)).toMatchObject({ state: 'active', instance: 'db', manager: 'm1', dirty: true, power: 'on' });
    expect(world.callsInWords()).toEqual([`connect ${node} for db by m1`, `deploy ${node} for db by m1`]);
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
    expect(world.violations).toEqual([]);
  });

  test('its-ports-get-addresses-of-what-the-node-is-wired-to, in-the-commit-that-reserves-it', async () => {
    const world = await NodesWorld.of(fixtureN(['seg2']));
    const operation = await world.create();
    expect(world.port('db-p0')).toMatchObject({ addresses: [], instance: 'db' });
    world.running.clear();
    await world.tick();
    world.running.add('m1');
    await world.manage('m1');
    const reserved = world.fleet.revision;
    expect(world.node('n1')).toMatchObject({ state: 'reserved', instance: 'db' });
    expect(world.port('db-p0')).toMatchObject({
      addresses: [{ ip: '10.2.0.2', chosenBy: 'bind' }],
      binding: { node: 'n1', segment: 'seg2', type: 'baremetal', serial: 1 },
    });
    expect(world.fleet.get(INSTANCE, idOf(INSTANCE, 'db'))?.revision).toBeLessThanOrEqual(reserved);
    await world.settle();
    expect(world.operationDoc(operation)?.state).toBe('succeeded');
  });
});

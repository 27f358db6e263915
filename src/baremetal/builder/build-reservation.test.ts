// What a build says about the reservation that it requests: who may request it, where its node may be, and what is taken with it.
import { describe, expect, test } from 'vitest';
import { claim } from '../../network/network-fixture.ts';
import { constrainToBuild, takeForBuild } from './build-reservation.ts';
import { NodesWorld } from './nodes-world-fixture.ts';

async function waiting(
  facts = {},
): Promise<{ world: NodesWorld; ask: { instance: string; manager: string; build: string } }> {
  const world = await NodesWorld.of();
  const operation = await world.create(facts);
  return { world, ask: { instance: 'db', manager: 'm1', build: `${operation}.db` } };
}

describe('a request for a node', () => {
  test('of-others-is-not-constrained', async () => {
    const { world } = await waiting();
    expect(constrainToBuild(world.fleet, { instance: 'somebody', manager: 'm1' })).toBeUndefined();
  });

  test('of-a-build: its site, the racks of its networks, and not where a try failed', async () => {
    const { world, ask } = await waiting({ place: { site: 'central' } });
    expect(constrainToBuild(world.fleet, ask)).toEqual({
      site: 'central',
      except: new Set(),
      physicalNetworkChoices: [['phys-seg0', 'phys-seg2']],
    });
    await world.arm({ op: 'deploy', outcome: 'failed' });
    while (world.instance('db')?.attempts[0]?.fault === undefined) await world.tick();
    while (world.instance('db')?.node !== undefined) await world.tick();
    await world.pass();
    const failed = world.instance('db')?.attempts[0]?.node;
    expect(constrainToBuild(world.fleet, ask)).toMatchObject({ except: new Set([failed]) });
  });

  test.each([
    ['without-its-build', { build: undefined }, 'instance-of-own-build'],
    ['by-another-manager', { manager: 'm2' }, 'build-not-waiting'],
    ['under-another-build', { build: 'op-9.db' }, 'build-not-waiting'],
    ['for-an-instance-that-is-gone', { instance: 'gone' }, 'build-not-waiting'],
  ])('%s is refused', async (_name, facts, code) => {
    const { world, ask } = await waiting();
    const refused = constrainToBuild(world.fleet, { ...ask, ...facts });
    expect(refused).toMatchObject({ code });
  });

  test.each(['deleted', 'cancelled'] as const)('of a build that was %s is refused', async (how) => {
    const { world, ask } = await waiting();
    if (how === 'deleted') await world.delete('db');
    else {
      await world.cancel(ask.build.slice(0, ask.build.indexOf('.')));
      await world.pass();
    }
    expect(constrainToBuild(world.fleet, ask)).toMatchObject({ code: 'build-not-waiting' });
  });

  test('where-no-address-is-left-is-refused, and-says-on-which-network', async () => {
    const { world, ask } = await waiting();
    const taken = [0, 2].map((nth) => ({ pool: `segment:seg${nth}`, version: 4 as const, count: 253 }));
    await world.put(claim('x', ...taken));
    expect(constrainToBuild(world.fleet, ask)).toMatchObject({
      code: 'addresses-exhausted',
      message:
        'No wired segment of network "n" has an address left. Add a pool to one of its subnets, or free an address.',
    });
  });
});

describe('what is taken with a node', () => {
  const node = { id: 'n1', doc: { physicalNetworks: ['phys-seg0'] } };

  test('nothing-for-instances-of-others', async () => {
    const { world } = await waiting();
    expect(
      takeForBuild(world.fleet, { reservation: { instance: 'x', request: {} }, node, by: 'm1', nowMs: 1 }),
    ).toEqual({
      kind: 'taken',
      changes: [],
    });
  });

  test('not-on-a-node-that-is-not-wired-to-it, nor-once-the-build-has-ended', async () => {
    const { world, ask } = await waiting();
    const elsewhere = { ...node, doc: { physicalNetworks: ['phys-x'] } };
    const take = { reservation: { instance: 'db', request: { build: ask.build } }, by: 'm1', nowMs: 1 };
    expect(takeForBuild(world.fleet, { ...take, node: elsewhere })).toEqual({ kind: 'fault', code: 'not-wired' });
    await world.delete('db');
    expect(takeForBuild(world.fleet, { ...take, node })).toEqual({ kind: 'fault', code: 'build-ended' });
  });
});

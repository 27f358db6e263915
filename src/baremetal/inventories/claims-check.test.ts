// Claims on which an inventory and Muster differ, and an inventory that is too old to have claims made: reported while it is so, and nothing is done about it.
import { afterEach, describe, expect, test } from 'vitest';
import { RefreshWorld } from './refresh-world-fixture.ts';

let world: RefreshWorld;
afterEach(() => expect(world.violations).toEqual([]));

async function start(nodes?: readonly string[]): Promise<void> {
  world = await RefreshWorld.of(nodes);
}

/** As the inventory has them, and read once. */
async function startRead(nodes?: readonly string[]): Promise<void> {
  await start(nodes);
  await world.readInventory();
  world.takeReads();
}

describe('claims', () => {
  test('a-claim-that-the-inventory-does-not-know-any-more-is-reported, until-it-is-there-again', async () => {
    await startRead();
    await world.reserve();
    await world.settle();
    const { node = '' } = world.reservation() ?? {};
    await world.readInventory();
    expect(world.alarms).toEqual([]);
    world.inventory.nodes.get(node)!.instance = undefined;
    await world.readInventory();
    expect(world.alarm('allocations-missing')?.reason).toEqual({
      code: 'allocations-missing',
      inventory: 'ironic',
      missing: 1,
      missingOf: `${node} (i1)`,
    });
    expect(world.node(node)).toMatchObject({ state: 'reserved', instance: 'i1' });
    world.inventory.nodes.get(node)!.instance = 'i1';
    await world.readInventory();
    expect(world.alarms).toEqual([]);
  });

  test('a-claim-of-ours-without-a-reservation-is-reported, and-its-node-is-not-offered', async () => {
    await startRead(['n1']);
    world.inventory.nodes.get('n1')!.instance = 'forgotten';
    await world.readInventory();
    expect(world.alarm('allocations-missing')?.reason).toMatchObject({ unknown: 1, unknownOf: 'n1 (forgotten)' });
    expect(world.states).toEqual({ n1: 'unavailable' });
    world.inventory.nodes.get('n1')!.instance = undefined;
    await world.readInventory();
    expect([world.alarms, world.states]).toEqual([[], { n1: 'available' }]);
  });

  test('a-claim-that-is-made-and-given-back-between-the-lists-is-no-difference', async () => {
    await startRead(['n1']);
    // Made after its node was listed, and given back before the node is read by itself.
    world.inventory.decideRead = ({ op }) => {
      const node = world.inventory.nodes.get('n1')!;
      if (op === 'claims') node.instance = 'i1';
      if (op === 'find') node.instance = undefined;
      return 'pass';
    };
    await world.readInventory();
    expect(world.takeReads()).toContain('find n1');
    expect(world.alarms).toEqual([]);
    expect(world.states).toEqual({ n1: 'available' });
  });
});

describe('an inventory without allocations', () => {
  test('raises-an-alarm, which-goes-when-it-is-upgraded', async () => {
    await start();
    world.inventory.mode = 'direct';
    await world.readInventory();
    expect(world.alarm('inventory-without-allocations')).toMatchObject({ reason: { inventory: 'ironic' } });
    expect(world.note?.claims).toBe('direct');
    world.inventory.mode = 'endpoint';
    await world.readInventory();
    expect([world.alarms, world.note?.claims]).toEqual([[], 'endpoint']);
  });

  test('an-inventory-that-is-the-journal-itself-is-not-read', async () => {
    await start([]);
    world.inventory.mode = 'inline';
    const { revision } = world.fleet;
    await world.readInventory();
    expect([world.takeReads(), world.fleet.revision]).toEqual([[], revision]);
  });
});

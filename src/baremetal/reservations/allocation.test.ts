// Claims that are made outside: what is lost, stale, unanswered or no longer needed, and that all of it ends within its time.
import * as fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { describeCapacity, manageableCapacity } from '../capacity/capacity.ts';
import { inventoryContract } from '../drivers/inventory-contract.ts';
import { NODE, type Node } from '../model.ts';
import { FakeInventory, type InventoryFault } from './inventory-fixture.ts';
import { ReservationsWorld } from './reservations-world-fixture.ts';

inventoryContract({
  name: 'in memory',
  epochs: 'every',
  start: async () => {
    const nodes = ['n1', 'n2', 'n3', 'n4', 'n5'];
    const inventory = new FakeInventory(nodes);
    const disconnect = async (): Promise<void> => void (inventory.isAway = true);
    return { inventory, nodes, disconnect, close: async () => undefined };
  },
});

let world: ReservationsWorld;
afterEach(() => expect((world as ReservationsWorld | undefined)?.violations ?? []).toEqual([]));

async function start(...ids: readonly string[]): Promise<void> {
  world = await ReservationsWorld.of(ids);
}

describe('a claim that is made outside', () => {
  test('is-durable-first, then-active: the-node-is-held-meanwhile-and-its-epoch-grows-twice', async () => {
    await start('n1');
    expect(await world.reserve()).toBe('allocating');
    expect(world.reservation()).toMatchObject({ state: 'allocating', allocation: { round: 1, managerEpoch: 3 } });
    expect(world.node('n1')).toMatchObject({ state: 'available', claimedFor: 'i1', epoch: 1 });
    expect(world.node('n1')).not.toHaveProperty('instance');
    expect(describeCapacity(world.fleet, {}).buckets).toMatchObject({ free: 0, reserved: 1 });
    await world.tick();
    expect(world.claims()).toEqual(['claim n1: applied']);
    expect(world.node('n1')).toMatchObject({
      state: 'reserved',
      instance: 'i1',
      manager: 'm1',
      managerEpoch: 3,
      epoch: 2,
    });
    expect(world.held()).toEqual([]);
    expect(world.reservation()).toMatchObject({ state: 'active', node: 'n1', nodeEpoch: 2, claimed: true });
    expect(world.reservation()).not.toHaveProperty('allocation');
    expect(world.reservation()).not.toHaveProperty('operation');
  });

  test('never: a held node is offered to another', async () => {
    await start('n1');
    await world.reserve();
    expect(await world.reserve({ instance_uuid: 'i2' })).toBe('no-match');
    expect(world.reservation('i2')?.stages?.find(({ stage }) => stage === 'state')).toMatchObject({ left: 0 });
  });

  test('a-repeat-answers-what-is-under-way, another-request-is-refused', async () => {
    await start('n1');
    await world.reserve();
    const { revision } = world.fleet;
    expect(await world.reserve()).toBe('existing');
    expect(world.fleet.revision).toBe(revision);
    await expect(world.reserve({ memory_mb: 1 })).rejects.toThrow('request-differs');
  });

  test('baremetal-11: a-lost-race-takes-the-next-node', async () => {
    await start('n1', 'n2', 'n3');
    await world.reserve();
    const [first = ''] = world.held();
    world.inventory.take(first);
    await world.ticks(2);
    expect(world.claims().map((call) => call.split(': ')[1])).toEqual(['lost', 'applied']);
    expect(world.reservation()).toMatchObject({ state: 'active' });
    expect(world.reservation()?.node).not.toBe(first);
    expect(world.held()).toEqual([]);
  });

  test('baremetal-12: all-locked: three-rounds-a-second-apart, then-an-error-with-counts', async () => {
    await start('n1', 'n2');
    world.inventory.take('n1');
    world.inventory.take('n2');
    await world.reserve();
    const beganMs = world.nowMs;
    while (world.reservation()?.state === 'allocating') await world.tick();
    expect(world.claims()).toHaveLength(6);
    expect(world.nowMs - beganMs).toBeGreaterThanOrEqual(2000);
    expect(world.nowMs - beganMs).toBeLessThan(10_000);
    expect(world.reservation()).toMatchObject({ state: 'error', reason: { code: 'no-match' } });
    expect(world.reservation()?.stages?.slice(-2)).toEqual([
      { stage: 'networks', left: 2 },
      { stage: 'race', left: 0 },
    ]);
    expect(world.held()).toEqual([]);
  });

  test('a-node-that-is-released-between-two-rounds-is-taken', async () => {
    await start('n1');
    world.inventory.take('n1');
    await world.reserve();
    await world.ticks(2);
    expect(world.reservation()?.state).toBe('allocating');
    world.inventory.nodes.set('n1', { epoch: 0, instance: undefined });
    await world.ticks(6);
    expect(world.reservation()).toMatchObject({ state: 'active', node: 'n1' });
  });

  test('what-is-taken-under-a-later-epoch-is-lost', async () => {
    await start('n1', 'n2');
    await world.reserve();
    const [first = ''] = world.held();
    world.inventory.nodes.set(first, { epoch: 99, instance: undefined });
    await world.ticks(2);
    expect(world.claims()[0]).toBe(`claim ${first}: stale`);
    expect(world.reservation()?.state).toBe('active');
    expect(world.reservation()?.node).not.toBe(first);
  });
});

describe('an answer that does not come', () => {
  test('is-requested-again, and-found-to-be-done', async () => {
    await start('n1');
    world.inventory.faults.push('answer-lost');
    await world.reserve();
    await world.ticks(4);
    expect(world.claims()).toEqual(['claim n1: failed', 'claim n1: already']);
    expect(world.reservation()).toMatchObject({ state: 'active', node: 'n1' });
  });

  test('a-busy-inventory-is-called-again-when-it-says', async () => {
    await start('n1');
    world.inventory.faults.push({ busyMs: 3000 });
    await world.reserve();
    await world.ticks(10);
    expect(world.claims()).toHaveLength(1);
    await world.ticks(4);
    expect(world.reservation()?.state).toBe('active');
  });

  test('fails-within-its-time, and-is-given-back-before-anything-else-is-claimed', async () => {
    await start('n1', 'n2');
    world.inventory.isAway = true;
    await world.reserve();
    const [first = ''] = world.held();
    const beganMs = world.nowMs;
    while (world.reservation()?.state === 'allocating') await world.tick();
    expect(world.nowMs - beganMs).toBeLessThan(13_000);
    expect(world.reservation()).toMatchObject({ state: 'error', reason: { code: 'claim-unanswered' } });
    expect(world.held()).toEqual([first]);
    // A claim that arrives later than this is older.
    expect(world.node(first)?.epoch).toBe(2);
    await expect(world.reserve()).rejects.toThrow('claim-unsettled');
    // It was carried out after all.
    world.inventory.isAway = false;
    world.inventory.take(first, 'i1');
    await world.ticks(300);
    expect(world.held()).toEqual([]);
    expect(world.inventory.claimedBy('i1')).toEqual([]);
    expect(await world.reserve()).toBe('allocating');
  });

  test.each([
    ['while-it-was-claimed', 0],
    ['once-it-was-reserved', 1],
  ])('never: a claim that arrives late takes a node that was given back %s', async (_, ticks) => {
    await start('n1');
    await world.reserve();
    const { epoch: nodeEpoch = 0 } = world.node('n1') ?? {};
    await world.ticks(ticks);
    expect(await world.release()).toBe('releasing');
    await world.ticks(3);
    expect(world.reservation()).toBeUndefined();
    const late = { node: 'n1', nodeEpoch, instance: 'i1', traits: [] };
    expect(await world.inventory.claim(late, { signal: AbortSignal.abort() })).toEqual({ kind: 'stale' });
  });
});

test('baremetal-14: a worker that dies while it allocates: its successor finishes once', async () => {
  await start('n1', 'n2');
  await world.reserve();
  world.isHanging = true;
  await world.tick();
  world.isHanging = false;
  await world.restart();
  await world.ticks(2);
  expect(world.claims()).toHaveLength(1);
  expect(world.reservation()?.state).toBe('active');
  await world.restart();
  await world.ticks(4);
  expect(world.claims()).toHaveLength(1);
  expect(world.inventory.claimedBy('i1')).toEqual([world.reservation()?.node]);
});

describe('what is no longer needed', () => {
  test.each<[string, InventoryFault | undefined, readonly string[]]>([
    ['before-it-is-claimed', undefined, ['unclaim']],
    ['whose-answer-was-lost', 'answer-lost', ['claim', 'unclaim']],
    ['that-was-not-reached', 'unreachable', ['claim', 'unclaim']],
  ])('a-reservation-%s-is-released, and-claimed-no-more', async (_, fault, calls) => {
    await start('n1');
    world.inventory.faults.push(fault);
    await world.reserve();
    await world.ticks(calls.length - 1);
    expect(await world.release()).toBe('releasing');
    expect(await world.release()).toBe('releasing');
    await world.ticks(12);
    expect(world.inventory.calls.map(({ op }) => op)).toEqual(calls);
    expect(world.reservation()).toBeUndefined();
    expect(world.inventory.claimedBy('i1')).toEqual([]);
    expect(world.held()).toEqual([]);
    expect(await world.release()).toBe('released');
    expect(await world.reserve()).toBe('allocating');
  });

  test('between-two-rounds', async () => {
    await start('n1');
    world.inventory.take('n1');
    await world.reserve();
    await world.ticks(2);
    await world.release();
    await world.ticks(1);
    expect(world.reservation()).toBeUndefined();
  });

  test('a-node-that-went-into-maintenance-is-given-back, and-the-next-is-taken', async () => {
    await start('n1', 'n2');
    await world.reserve();
    const [first = ''] = world.held();
    const doc = world.node(first) as Node;
    const maintenance = { reason: 'fan', by: 'ann', atMs: 0 };
    await world.put(put(NODE, idOf(NODE, first), { ...doc, maintenance }));
    await world.ticks(4);
    expect(world.claims().map((call) => call.split(' ')[0])).toEqual(['claim', 'unclaim', 'claim']);
    expect(world.reservation()?.state).toBe('active');
    expect(world.reservation()?.node).not.toBe(first);
    expect(world.inventory.holderOf(first)).toBeUndefined();
  });
});

test('baremetal-overload: no more than 300 are made at once; the next one is answered with Retry-After', async () => {
  const ids = Array.from({ length: 301 }, (_, nth) => `n${nth}`);
  await start(...ids);
  for (const nth of ids.keys()) {
    if (nth < 300) expect(await world.reserve({ instance_uuid: `i${nth}` })).toBe('allocating');
  }
  await expect(world.reserve({ instance_uuid: 'late' })).rejects.toThrow('allocations-at-limit');
  expect(world.reservation('late')).toBeUndefined();
});

/** What is free is what the next request could have: neither claimed, nor about to be given back. */
function expectFiguresToAgree(): void {
  const { free, reserved } = describeCapacity(world.fleet, {}).buckets;
  const nodes = [...world.fleet.all(NODE)].map(({ doc }) => doc);
  const isTaken = (doc: Node): boolean => doc.claimedFor !== undefined || doc.instance !== undefined;
  expect([free, reserved]).toEqual([nodes.filter((doc) => !isTaken(doc)).length, nodes.filter(isTaken).length]);
  expect(manageableCapacity(world.fleet, 'm1').free).toBe(free);
}

test('never: whatever inventories answer and whenever it is released, a claim is left without a reservation', async () => {
  const anyFault = fc.constantFrom<InventoryFault | undefined>(undefined, undefined, 'unreachable', 'answer-lost', {
    busyMs: 600,
  });
  const anyStep = fc.record({
    what: fc.constantFrom('reserve', 'release', 'tick', 'tick', 'restart', 'steal'),
    instance: fc.constantFrom('i1', 'i2', 'i3'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyFault, { maxLength: 12 }),
      fc.array(anyStep, { maxLength: 25 }),
      async (faults, steps) => {
        await start('n1', 'n2');
        world.inventory.faults.push(...faults);
        for (const { what, instance } of steps) {
          if (what === 'reserve') await world.reserve({ instance_uuid: instance }).catch(() => undefined);
          else if (what === 'release') await world.release(instance);
          else if (what === 'restart') await world.restart();
          else if (what === 'steal' && world.inventory.holderOf('n2') === undefined) world.inventory.take('n2');
          else await world.tick();
          expectFiguresToAgree();
        }
        world.inventory.faults.length = 0;
        await world.ticks(60);
        expect(world.violations).toEqual([]);
        for (const id of ['n1', 'n2']) {
          const holder = world.inventory.holderOf(id);
          expect([id, world.node(id)?.instance]).toEqual([id, holder === 'somebody' ? undefined : holder]);
          expect(world.node(id)?.claimedFor).toBeUndefined();
        }
      },
    ),
    { numRuns: 60 },
  );
}, 60_000);

// What becomes of nodes when their inventory is read: whole, in part, or not at all. Nothing may be taken away, or offered, that the inventory did not say.
import { afterEach, describe, expect, test } from 'vitest';
import { describeCapacity, manageableCapacity } from '../capacity/capacity.ts';
import { idOf, put } from '../../fleet/index.ts';
import { bucketOf, NODE } from '../model.ts';
import { editNode } from '../nodes/decide.ts';
import { lastSeenOf } from './last-seen.ts';
import { FIVE, RefreshWorld } from './refresh-world-fixture.ts';

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

const ALL_FREE = Object.fromEntries(FIVE.map((id) => [id, 'available']));

describe('what is listed is on record', () => {
  test('nodes-page-by-page-and-then-claims, one-request-at-a-time', async () => {
    await start();
    await world.readInventory();
    expect(world.takeReads()).toEqual(['list', 'list n2', 'list n4', 'claims']);
    expect(world.states).toEqual(ALL_FREE);
    expect(world.inventory.mostInFlight).toBe(1);
    expect(world.note).toMatchObject({ name: 'ironic', claims: 'endpoint', pass: { nodes: 5 } });
    expect(world.alarms).toEqual([]);
  });

  test('a-second-pass-without-news-commits-nothing', async () => {
    await startRead();
    const { revision } = world.fleet;
    await world.readInventory();
    expect(world.fleet.revision).toBe(revision);
  });

  test('the-first-pass-of-a-holder-does-not-rest; later-a-pause-and-what-changed-follow-each-page', async () => {
    await start();
    await world.readInventory();
    expect(world.pauses).toEqual([]);
    world.takeReads();
    await world.readInventory();
    expect(world.pauses).toEqual([10_000, 10_000, 10_000, 10_000]);
    expect(world.takeReads()).toEqual([
      'list',
      'changes',
      'list n2',
      'changes',
      'list n4',
      'changes',
      'claims',
      'changes',
    ]);
    await world.restart();
    world.pauses.length = 0;
    await world.readInventory();
    expect(world.pauses).toEqual([]);
  });

  test('it-is-described-as-its-inventory-does; what-is-said-here-stays', async () => {
    await startRead(['n1']);
    const edit = { physicalNetworks: ['p1'] };
    await world.commit((fleet) => editNode(fleet, { id: 'n1', edit, by: 'ann', nowMs: 1 }));
    world.inventory.change('n1', {
      name: 'rack1',
      ...{ resourceClass: 'gold', traits: ['CUSTOM_GPU'], memoryMiB: 1024, cpus: 8, localGiB: 10, cpuArch: 'x86_64' },
      ...{ capabilities: 'boot_mode:uefi', owner: 'acme', lessee: 'beta', power: 'on' },
    });
    await world.readInventory();
    expect(world.node('n1')).toMatchObject({
      name: 'rack1',
      ...{ resourceClass: 'gold', traits: ['CUSTOM_GPU'], memoryMiB: 1024, cpus: 8, localGiB: 10, cpuArch: 'x86_64' },
      ...{ capabilities: 'boot_mode:uefi', owner: 'acme', lessee: 'beta', power: 'on' },
      physicalNetworks: ['p1'],
    });
    world.inventory.change('n1', {
      owner: undefined as never,
      lessee: undefined as never,
      capabilities: undefined as never,
    });
    await world.readInventory();
    expect(world.node('n1')).not.toHaveProperty('owner');
    expect(world.node('n1')).not.toHaveProperty('capabilities');
  });

  test.each([
    ['withdrawn', { isAvailable: false }, 'unavailable'],
    ['of unknown power', { power: 'unknown' as const }, 'unavailable'],
  ])('a node that is %s is not free, and is free again afterwards', async (_, facts, bucket) => {
    await startRead(['n1']);
    world.inventory.change('n1', facts);
    await world.readInventory();
    expect(bucketOf(world.node('n1')!)).toBe(bucket);
    world.inventory.change('n1', { isAvailable: true, power: 'off' });
    await world.readInventory();
    expect(bucketOf(world.node('n1')!)).toBe('free');
  });

  test('what-another-client-has-is-not-offered, and-is-not-ours-to-complain-of', async () => {
    await startRead(['n1']);
    world.inventory.take('n1');
    await world.readInventory();
    expect(world.states).toEqual({ n1: 'unavailable' });
    expect(world.alarms).toEqual([]);
  });

  test('a-change-is-seen-without-reading-the-whole-list', async () => {
    const many = Array.from({ length: 40 }, (_, nth) => `n${nth + 10}`);
    await startRead(many);
    await world.readInventory();
    world.takeReads();
    world.inventory.change('n49', { isAvailable: false });
    world.inventory.decideRead = ({ op, nth }) => {
      if (nth > 2 && world.states['n49'] === 'unavailable' && op === 'list') return 'unavailable';
      return 'pass';
    };
    await world.readInventory();
    expect(world.states['n49']).toBe('unavailable');
    expect(world.takeReads().slice(0, 3)).toEqual(['list', 'changes', 'list n11']);
  });

  test('an-inventory-that-does-not-know-changes-is-listed', async () => {
    await start();
    world.inventory.tellsChanges = false;
    await world.readInventory();
    await world.readInventory();
    world.takeReads();
    await world.readInventory();
    expect(world.takeReads()).toEqual(['list', 'list n2', 'list n4', 'claims']);
  });
});

describe('a fallback narrows or refuses', () => {
  test.each([
    ['an owner that is no name', { owner: 'Not A Project' }, 'owner'],
    ['a trait that is no word', { traits: ['CUSTOM_A', 'no word'] }, 'traits'],
  ])('%s: the node is not offered, and says why', async (_, facts, field) => {
    await startRead(['n1']);
    world.inventory.change('n1', facts);
    await world.readInventory();
    expect(world.node('n1')).toMatchObject({ state: 'unavailable', fault: { code: 'inventory-record-invalid' } });
    expect(world.node('n1')?.fault?.message).toContain(field);
    const { revision } = world.fleet;
    await world.readInventory();
    expect(world.fleet.revision).toBe(revision);
    world.inventory.change('n1', { owner: 'acme', traits: ['CUSTOM_A'] });
    await world.readInventory();
    expect(world.node('n1')).toMatchObject({ state: 'available', owner: 'acme', traits: ['CUSTOM_A'] });
    expect(world.node('n1')).not.toHaveProperty('fault');
  });

  test('what-an-older-version-cannot-say-stays-as-it-was-known', async () => {
    await startRead(['n1']);
    world.inventory.change('n1', { owner: 'acme', resourceClass: 'gold', traits: ['CUSTOM_OLD'] });
    await world.readInventory();
    world.inventory.change('n1', {
      ...{ owner: undefined as never, resourceClass: undefined as never, traits: [] },
      unsaid: ['owner', 'lessee', 'traits', 'resourceClass'],
    });
    await world.readInventory();
    expect(world.node('n1')).toMatchObject({ owner: 'acme', resourceClass: 'gold', traits: ['CUSTOM_OLD'] });
  });
});

describe('baremetal-25: an inventory that cannot be reached', () => {
  test('nothing is deleted, figures are marked, and both end by themselves', async () => {
    await startRead();
    const before = world.states;
    world.inventory.isAway = true;
    await world.readInventory();
    await world.readInventory();
    expect(world.states).toEqual(before);
    expect(world.alarm('inventory-unreachable')).toMatchObject({
      severity: 'warning',
      sinceMs: 1_020_000,
      reason: { inventory: 'ironic', nodes: 5, text: 'away, as it was armed' },
    });
    expect(world.note?.unreachable).toMatchObject({ sinceMs: 1_020_000 });
    expect(describeCapacity(world.fleet, {})).toMatchObject({
      total: 5,
      stale: { inventories: ['ironic'], sinceMs: 1_020_000 },
    });
    expect(manageableCapacity(world.fleet, 'm1')).toMatchObject({ total: 5, free: 5, staleSinceMs: 1_020_000 });
    world.inventory.isAway = false;
    await world.readInventory();
    expect(world.alarms).toEqual([]);
    expect(world.note).not.toHaveProperty('unreachable');
    expect(describeCapacity(world.fleet, {})).not.toHaveProperty('stale');
    expect(manageableCapacity(world.fleet, 'm1')).not.toHaveProperty('staleSinceMs');
  });

  test('one-request-that-fails-is-made-again-and-raises-no-alarm', async () => {
    await startRead();
    let failed = 0;
    world.inventory.decideRead = () => ((failed += 1) === 2 ? 'unavailable' : 'pass');
    const { revision } = world.fleet;
    await world.readInventory();
    expect(world.takeReads().slice(0, 4)).toEqual(['list', 'changes', 'changes', 'list n2']);
    expect(world.fleet.revision).toBe(revision);
  });

  test('one-that-hangs-does-not-answer', async () => {
    await startRead();
    world.inventory.decideRead = () => 'hang';
    world.isLate = true;
    await world.readInventory();
    expect(world.alarm('inventory-unreachable')?.reason['text']).toBe('it did not answer in time');
    expect(world.states).toEqual(ALL_FREE);
    expect(world.inventory.mostInFlight).toBe(1);
  });

  test('an-alarm-of-a-holder-before-is-cleared-by-the-next-one', async () => {
    await startRead();
    world.inventory.isAway = true;
    await world.readInventory();
    await world.restart();
    expect(world.alarm('inventory-unreachable')).toBeDefined();
    world.inventory.isAway = false;
    await world.readInventory();
    expect(world.alarms).toEqual([]);
  });
});

describe('baremetal-26: a list that breaks off', () => {
  test.each([1, 2, 3])('at page %i of 3: nothing is deleted, and the next whole list decides', async (page) => {
    await startRead();
    const broken = ['list', 'list n2', 'list n4'][page - 1] as string;
    for (const id of FIVE.slice(0, 4)) world.inventory.nodes.delete(id);
    const isBroken = ({ op, at }: { op: string; at: string | undefined }) =>
      (at === undefined ? op : `${op} ${at}`) === broken || page > 1;
    world.inventory.decideRead = (read) => (isBroken(read) ? 'unavailable' : 'pass');
    await world.readInventory();
    expect(world.states).toEqual(ALL_FREE);
    world.inventory.decideRead = () => 'pass';
    await world.readInventory();
    expect(world.states).toEqual({ ...ALL_FREE, n1: 'removed', n2: 'removed', n3: 'removed', n4: 'removed' });
  });

  test('a-list-that-leaves-nodes-out-deletes-none: each-is-read', async () => {
    await startRead();
    world.inventory.decideRead = ({ op }) => (op === 'list' ? 'partial' : 'pass');
    await world.readInventory();
    expect(world.takeReads().filter((read) => read.startsWith('find'))).toEqual(['find n2', 'find n4', 'find n5']);
    expect(world.states).toEqual(ALL_FREE);
  });

  test('an-empty-list-deletes-none', async () => {
    await startRead();
    const nodes = [...world.inventory.nodes];
    world.inventory.decideRead = ({ op }) => {
      if (op === 'list') world.inventory.nodes.clear();
      if (op === 'find') for (const [id, node] of nodes) world.inventory.nodes.set(id, node);
      return 'pass';
    };
    await world.readInventory();
    expect(world.states).toEqual(ALL_FREE);
  });

  test('a-node-that-was-left-out-and-cannot-be-read-stays', async () => {
    await startRead();
    world.inventory.nodes.delete('n3');
    world.inventory.decideRead = ({ op }) => (op === 'find' ? 'unavailable' : 'pass');
    await world.readInventory();
    expect(world.states).toEqual(ALL_FREE);
    expect(world.alarm('inventory-unreachable')).toBeDefined();
  });

  test('nodes-that-are-gone-are-read-in-so-many-at-a-time', async () => {
    const many = Array.from({ length: 50 }, (_, nth) => `n${nth + 10}`);
    await startRead(many);
    world.inventory.nodes.clear();
    await world.restart();
    world.pauses.length = 0;
    await world.readInventory();
    expect(world.takeReads().filter((read) => read.startsWith('find'))).toHaveLength(50);
    expect(world.pauses).toEqual([10_000, 10_000]);
    expect(Object.values(world.states).every((state) => state === 'removed')).toBe(true);
  });
});

describe('baremetal-27: a node that is removed and added again', () => {
  test('is the same record, under its epoch', async () => {
    await startRead(['n1', 'n2']);
    await world.reserve({ instance_uuid: 'i1', candidate_nodes: ['n1'] });
    await world.settle();
    await world.release('i1');
    await world.settle();
    const { epoch = 0 } = world.node('n1') ?? {};
    expect(epoch).toBeGreaterThan(1);
    world.inventory.nodes.delete('n1');
    await world.readInventory();
    expect(world.node('n1')).toMatchObject({ state: 'removed', epoch });
    world.inventory.change('n1', { memoryMiB: 77 });
    await world.readInventory();
    expect(world.node('n1')).toMatchObject({ state: 'available', epoch, memoryMiB: 77 });
  });

  test('one that an instance has stays for it, is said to be gone, and is not offered afterwards', async () => {
    await startRead(['n1']);
    const seenAtMs = world.note?.pass?.beganAtMs;
    await world.reserve();
    await world.settle();
    expect(world.reservation()).toMatchObject({ state: 'active', node: 'n1' });
    world.inventory.nodes.delete('n1');
    await world.readInventory();
    expect(world.node('n1')).toMatchObject({ state: 'reserved', instance: 'i1', absent: { sinceMs: world.nowMs } });
    expect(lastSeenOf(world.fleet, world.node('n1')!)).toBe(seenAtMs);
    expect(world.alarm('allocations-missing')?.reason).toMatchObject({ missing: 1, missingOf: 'n1 (i1)' });
    await world.release();
    await world.settle();
    expect(world.node('n1')?.state).toBe('unavailable');
    await world.readInventory();
    expect(world.node('n1')?.state).toBe('removed');
    expect(world.alarms).toEqual([]);
  });

  test('one that comes back while an instance has it is as it was', async () => {
    await startRead(['n1']);
    await world.reserve();
    await world.settle();
    const machine = world.inventory.nodes.get('n1')!;
    world.inventory.nodes.delete('n1');
    await world.readInventory();
    world.inventory.nodes.set('n1', machine);
    await world.readInventory();
    expect(world.node('n1')).not.toHaveProperty('absent');
    expect(world.alarms).toEqual([]);
  });
});

test('never: what was read before a change undoes it', async () => {
  await startRead(['n1']);
  // The inventory shows the machine as it was, and meanwhile it was switched on.
  world.inventory.meanwhile = async () => {
    world.inventory.meanwhile = () => Promise.resolve();
    await world.put(put(NODE, idOf(NODE, 'n1'), { ...world.node('n1')!, power: 'on' }));
  };
  await world.readInventory();
  expect(world.node('n1')?.power).toBe('on');
  await world.readInventory();
  expect(world.node('n1')?.power).toBe('off');
});

test('a server that does not decide any more reads no further', async () => {
  await startRead();
  world.inventory.decideRead = ({ at }) => {
    if (at === 'n2') world.journal.stepDown();
    return 'pass';
  };
  await world.readInventory();
  expect(world.takeReads()).toEqual(['list', 'changes', 'list n2']);
});

test('never: a server that does not decide any more writes what it has read', async () => {
  await start();
  const { journal } = world;
  world.inventory.decideRead = ({ at }) => {
    if (at === 'n2') journal.stepDown();
    return 'pass';
  };
  await world.refresh.reconcile();
  expect(world.takeReads()).toEqual(['list', 'list n2']);
  expect(Object.keys(world.states)).toEqual(['n1', 'n2']);
});

// The simulated machines and their inventory: the contract of each port, and the faults that only they have.
import { describe, expect, test } from 'vitest';
import { idOf, put, type Refusal } from '../../../fleet/index.ts';
import { machineContract, machineProperties, type MachineHarness } from '../contract.ts';
import { inventoryContract, type InventoryHarness } from '../inventory-contract.ts';
import type { MachineAction } from '../inventory.ts';
import { SimulatedInventory } from './inventory-driver.ts';
import { SimulatedMachines } from './machine-driver.ts';
import { NOTES_MAX } from './act.ts';
import { faultOpOf } from './faults.ts';
import { MACHINE_CALL } from './model.ts';
import { SimulatedMachineWorld } from './simulated-fixture.ts';

async function machines(checksEpochs: boolean): Promise<MachineHarness> {
  const world = await SimulatedMachineWorld.start({ checksEpochs });
  return {
    driver: new SimulatedMachines({ link: world.link, clock: world.clock }),
    nodes: world.nodes,
    entitle: (fence) => world.entitle(fence),
    failNext: (action) => world.arm({ op: faultOpOf(action), outcome: 'failed' }),
    countBegun: async (node, action) =>
      world.calls().filter((call) => call.node === node && call.op === action && call.result === 'applied').length,
    close: async () => undefined,
  };
}

for (const checksEpochs of [true, false]) {
  const name = checksEpochs ? 'simulated' : 'simulated, blind';
  const epochs = checksEpochs ? 'every' : 'none';
  const contract = { name, start: () => machines(checksEpochs), epochs } as const;
  machineContract(contract);
  if (checksEpochs) machineProperties(contract);
  inventoryContract({
    name,
    epochs,
    start: async (): Promise<InventoryHarness> => {
      const world = await SimulatedMachineWorld.start({ checksEpochs, claims: 'endpoint' });
      return {
        inventory: new SimulatedInventory(world),
        nodes: world.nodes,
        disconnect: async () => {
          await world.arm({ op: 'list', outcome: 'unavailable', times: 100 });
          await world.arm({ op: 'claim', outcome: 'unavailable', times: 100 });
        },
        close: async () => undefined,
      };
    },
  });
}

const FENCE = { node: 'n1', nodeEpoch: 5, instance: 'a' };
const FENCED: Refusal = { kind: 'conflict', code: 'fenced', message: 'Not yours.' };

async function entitledWorld(settings = {}): Promise<{ world: SimulatedMachineWorld; driver: SimulatedMachines }> {
  const world = await SimulatedMachineWorld.start(settings);
  await world.entitle(FENCE);
  return { world, driver: new SimulatedMachines({ link: world.link, clock: world.clock }) };
}

const call = (action: MachineAction, facts = {}) => ({ ...FENCE, action, manager: 'm1', args: {}, ...facts });
const how = { signal: new AbortController().signal };

describe('a call to a simulated machine', () => {
  test('takes-as-long-as-is-set, and-is-under-way-meanwhile', async () => {
    const { world, driver } = await entitledWorld({ deployMs: 60_000 });
    const { now } = world.clock;
    await world.link.act(call('deploy'), how);
    expect(await driver.inspect(FENCE, how)).toEqual({ state: 'deploying', instance: 'a', power: 'off' });
    await driver.carryOut(call('deploy'), how);
    expect(world.clock.now - now).toBe(60_000);
  });

  test('is-noted, also-when-it-is-refused: then it has no effect', async () => {
    const { world, driver } = await entitledWorld();
    world.deny = () => FENCED;
    expect(await driver.carryOut(call('deploy', { manager: 'm2' }), how)).toEqual({ kind: 'stale' });
    expect((await driver.inspect(FENCE, how)).state).toBe('empty');
    const atMs = world.clock.now;
    const note = { op: 'deploy', node: 'n1', instance: 'a', manager: 'm2', epoch: 5, accepted: false };
    expect(world.calls()).toEqual([{ ...note, result: 'fenced', atMs }]);
  });

  test('never: calls that are refused fill the journal; those that are carried out are noted all the same', async () => {
    const { world } = await entitledWorld();
    const known = { op: 'deploy', accepted: false, result: 'fenced', atMs: world.clock.now };
    const notes = Array.from({ length: NOTES_MAX - 1 }, (_, nth) =>
      put(MACHINE_CALL, idOf(MACHINE_CALL, `a${nth}`), known),
    );
    await world.put(...notes);
    world.deny = () => FENCED;
    for (let nth = 0; nth < 3; nth += 1) expect((await world.link.act(call('clean'), how)).kind).toBe('refused');
    expect(world.calls()).toHaveLength(NOTES_MAX);
    world.deny = () => undefined;
    await world.link.act(call('deploy'), how);
    expect(world.calls()).toHaveLength(NOTES_MAX + 1);
  });

  test('of-a-blind-machine-is-carried-out-without-the-right, and-the-note-says-so', async () => {
    const { world, driver } = await entitledWorld({ checksEpochs: false });
    world.deny = () => FENCED;
    expect(await driver.carryOut(call('deploy'), how)).toMatchObject({ kind: 'applied' });
    expect(world.calls()).toMatchObject([{ op: 'deploy', accepted: true, result: 'applied', denied: 'fenced' }]);
  });

  test('whose-answer-is-lost-is-repeated, and-carried-out-once', async () => {
    const { world, driver } = await entitledWorld();
    await world.arm({ op: 'deploy', outcome: 'applied-but-lost' });
    expect(await driver.carryOut(call('deploy'), how)).toEqual({ kind: 'already' });
    expect(world.calls().map(({ result }) => result)).toEqual(['applied', 'already']);
  });

  test('that-is-not-carried-out-changes-nothing', async () => {
    const { world, driver } = await entitledWorld();
    await world.arm({ op: 'power', node: 'n1', outcome: 'unavailable', times: 2 });
    const tries = [await driver.carryOut(call('power-on'), how), await driver.carryOut(call('power-on'), how)];
    expect(tries).toEqual(
      Array.from(tries, () => ({ kind: 'failed', reason: { code: 'machine-unavailable', node: 'n1' } })),
    );
    expect(await driver.carryOut(call('power-on'), how)).toMatchObject({ kind: 'applied' });
  });

  test('that-hangs-ends-with-its-caller, and-its-machine-can-be-cleaned', async () => {
    const { world, driver } = await entitledWorld();
    await world.arm({ op: 'deploy', outcome: 'hang' });
    const over = new AbortController();
    const sleep = world.clock.sleep.bind(world.clock);
    world.clock.sleep = async (ms) => {
      await sleep(ms);
      if (world.clock.now > 2_000_000) over.abort();
    };
    await expect(driver.carryOut(call('deploy'), { signal: over.signal })).rejects.toThrow('abort');
    expect((await driver.inspect(FENCE, how)).state).toBe('deploying');
    expect(await driver.carryOut(call('clean'), how)).toMatchObject({ kind: 'applied' });
  });

  test('that-waits-ends-as-stale-once-another-has-the-machine', async () => {
    const { world, driver } = await entitledWorld({ deployMs: 60_000, cleanMs: 0 });
    const sleep = world.clock.sleep.bind(world.clock);
    let slept = 0;
    world.clock.sleep = async (ms) => {
      await sleep(ms);
      if ((slept += 1) !== 3) return;
      await world.link.act(call('clean'), how);
      await sleep(1);
      await world.link.act(call('deploy', { instance: 'b', nodeEpoch: 7 }), how);
    };
    const reason = { code: 'machine-not-ours', node: 'n1', instance: 'a' };
    expect(await driver.carryOut(call('deploy'), how)).toMatchObject({ kind: 'stale', reason });
  });

  test('a-fault-is-for-its-node-and-its-operation-alone, the-oldest-first', async () => {
    const { world, driver } = await entitledWorld();
    await world.arm({ op: 'power', node: 'n2', outcome: 'failed' });
    await world.arm({ op: 'clean', outcome: 'failed' });
    await world.arm({ op: 'power', outcome: 'ok', delayMs: 5000 });
    await world.arm({ op: 'power', outcome: 'failed' });
    const { now } = world.clock;
    expect(await driver.carryOut(call('power-on'), how)).toMatchObject({ kind: 'applied' });
    expect(world.clock.now - now).toBe(5500);
    expect(await driver.carryOut(call('power-off'), how)).toMatchObject({ kind: 'failed' });
    await world.disarm();
    expect(await driver.carryOut(call('power-off'), how)).toMatchObject({ kind: 'applied' });
  });

  test.each([
    ['list', 'failed', 'A "list" call cannot come to "failed". Choose one of: ok, unavailable, hang, partial, gone.'],
    ['power', 'hang', 'A "power" call cannot come to "hang"'],
  ] as const)('%s cannot come to %s', async (op, outcome, words) => {
    const { world } = await entitledWorld();
    await expect(world.arm({ op, outcome })).rejects.toThrow(words);
  });

  test('faults-have-a-limit', async () => {
    const { world } = await entitledWorld();
    for (let nth = 0; nth < 100; nth += 1) await world.arm({ op: 'list', outcome: 'ok' });
    await expect(world.arm({ op: 'list', outcome: 'ok' })).rejects.toThrow('100 faults are armed, which is the most');
  });

  test('to-a-node-that-is-not-there, or-not-simulated, is-refused', async () => {
    const { driver } = await entitledWorld();
    await expect(driver.carryOut(call('deploy', { node: 'n9' }), how)).rejects.toThrow('node-not-found');
  });
});

describe('the simulated inventory', () => {
  test('breaks-off-at-a-page, which-shows-nothing', async () => {
    const world = await SimulatedMachineWorld.start();
    const inventory = new SimulatedInventory(world);
    await world.arm({ op: 'list', node: 'n2', outcome: 'unavailable' });
    const first = await inventory.list(undefined, 2, how);
    expect(first.next).toBe('n2');
    await expect(inventory.list(first.next, 2, how)).rejects.toMatchObject({ code: 'inventory-unreachable' });
    expect((await inventory.list(first.next, 2, how)).nodes.map(({ id }) => id)).toEqual(['n3', 'n4']);
  });

  test('a-page-that-is-partial-leaves-nodes-out, and-says-that-there-are-more', async () => {
    const world = await SimulatedMachineWorld.start();
    const inventory = new SimulatedInventory(world);
    await world.arm({ op: 'list', outcome: 'partial' });
    const page = await inventory.list(undefined, 4, how);
    expect([page.nodes.map(({ id }) => id), page.next]).toEqual([['n1', 'n2'], 'n4']);
    expect((await inventory.list(undefined, 4, how)).nodes).toHaveLength(4);
  });

  test('a-node-that-is-gone-is-in-no-list, and-is-said-to-be-gone, until-it-is-there-again', async () => {
    const world = await SimulatedMachineWorld.start();
    const inventory = new SimulatedInventory(world);
    await world.arm({ op: 'list', node: 'n2', outcome: 'gone', times: 2 });
    expect((await inventory.list(undefined, 3, how)).nodes.map(({ id }) => id)).toEqual(['n1', 'n3']);
    // Of a page that begins after it nothing is left out.
    expect((await inventory.list('n2', 1, how)).nodes.map(({ id }) => id)).toEqual(['n3']);
    expect(await inventory.find('n2', how)).toBe('gone');
    expect(await inventory.find('n2', how)).toMatchObject({ id: 'n2' });
    await expect(world.arm({ op: 'list', outcome: 'gone' })).rejects.toThrow('node-not-named');
  });

  test.each(['inline', 'endpoint', 'direct'] as const)('says how it is claimed: %s', async (claims) => {
    expect(await new SimulatedInventory(await SimulatedMachineWorld.start({ claims })).claims()).toBe(claims);
  });

  test('a-claim-whose-answer-is-lost-was-made', async () => {
    const world = await SimulatedMachineWorld.start({ claims: 'endpoint' });
    const inventory = new SimulatedInventory(world);
    await world.arm({ op: 'claim', outcome: 'applied-but-lost' });
    expect(await inventory.claim({ ...FENCE, traits: [] }, how)).toMatchObject({ kind: 'failed' });
    expect(await inventory.claim({ ...FENCE, traits: [] }, how)).toEqual({ kind: 'already' });
  });
});

test('a-claim-that-was-lost-stays-lost, when-it-arrives-again', async () => {
  const world = await SimulatedMachineWorld.start({ claims: 'endpoint' });
  const inventory = new SimulatedInventory(world);
  await world.arm({ op: 'claim', outcome: 'failed' });
  expect(await inventory.claim({ ...FENCE, traits: [] }, how)).toMatchObject({ kind: 'lost' });
  expect(await inventory.claim({ ...FENCE, traits: [] }, how)).toEqual({ kind: 'stale' });
  const next = { ...FENCE, nodeEpoch: FENCE.nodeEpoch + 1, traits: [] };
  expect(await inventory.claim(next, how)).toMatchObject({ kind: 'applied' });
});

test('a-claim-that-arrives-after-it-was-given-back-has-no-effect, also-where-there-was-nothing-to-give-back', async () => {
  const inventory = new SimulatedInventory(await SimulatedMachineWorld.start({ claims: 'endpoint' }));
  expect(await inventory.unclaim({ ...FENCE, nodeEpoch: 6 }, how)).toEqual({ kind: 'already' });
  expect(await inventory.claim({ ...FENCE, traits: [] }, how)).toEqual({ kind: 'stale' });
  expect(await inventory.claim({ ...FENCE, instance: 'b', nodeEpoch: 7, traits: [] }, how)).toEqual({
    kind: 'applied',
  });
});

// What is promised of inventories outside Muster, over HTTP on a whole server: simulated machines whose claims are made outside, and an Ironic. Named after
// docs/acceptance.md.
import { afterEach, describe, expect, test } from 'vitest';
import { IronicInventory } from '../../../src/baremetal/runtime.ts';
import { claimUuid } from '../../../src/baremetal/drivers/ironic/ironic-nodes-driver.ts';
import { IronicServer } from '../../../src/baremetal/drivers/ironic/ironic-server-fixture.ts';
import { CLAIM_MODES } from '../../../src/baremetal/service-keys.ts';
import { ReservationsPlane } from './reservations-fixture.ts';

let plane: ReservationsPlane;
afterEach(() => plane.close());

const FIVE = ['n1', 'n2', 'n3', 'n4', 'n5'];

/** Pages of one node, without a pause to speak of; read once. */
async function start(claims: 'endpoint' | 'direct' = 'endpoint'): Promise<void> {
  plane = await ReservationsPlane.start(claims);
  await plane.addNodes(Object.fromEntries(FIVE.map((id) => [id, {}])));
  await readInPagesOf(1);
  await plane.readInventories();
}

async function readInPagesOf(pageSize: number): Promise<void> {
  const payload = { value: { intervalMs: 100, pageSize } };
  const set = await plane.ask(plane.admin, { method: 'PUT', url: '/settings/baremetal.inventories', payload });
  expect(set.status).toBe(200);
}

function statesOf(ids: readonly string[] = FIVE): readonly unknown[] {
  return ids.map((id) => plane.node(id)?.state);
}

const ALL_FREE = FIVE.map(() => 'available');

async function codes(): Promise<readonly unknown[]> {
  return (await plane.alarms()).map(({ reason }) => (reason as { code: string }).code);
}

async function capacity(): Promise<Readonly<Record<string, unknown>>> {
  return (await plane.ask(plane.operator, { url: '/capacity' })).body;
}

async function managerRow(): Promise<Readonly<Record<string, unknown>>> {
  return (await plane.ask(plane.operator, { url: '/managers/m1' })).body;
}

describe('baremetal-25: an inventory that cannot be reached', () => {
  test.each(['unavailable', 'hang'])(
    '"%s": nothing is deleted, figures are marked, and that ends by itself',
    async (outcome) => {
      await start();
      if (outcome === 'hang') plane.server.clock.sleep = hurry(plane.server.clock.sleep);
      await plane.armFault({ op: 'list', outcome, times: 100 });
      await plane.readInventories();
      expect(statesOf()).toEqual(ALL_FREE);
      expect(await codes()).toEqual(['inventory-unreachable']);
      const [alarm] = await plane.alarms();
      expect(alarm).toMatchObject({ severity: 'warning', reason: { inventory: 'simulated', nodes: 5 } });
      expect(String(alarm?.['sentence'])).toContain('none is removed');
      expect(await capacity()).toMatchObject({ total: 5, stale: { inventories: ['simulated'] } });
      expect(await managerRow()).toMatchObject({ total: 5, free: 5, staleSinceMs: alarm?.['sinceMs'] });
      expect((await plane.ask(plane.operator, { url: '/inventories' })).body['items']).toMatchObject([
        { id: 'simulated', unreachable: { sinceMs: alarm?.['sinceMs'] } },
      ]);
      await plane.ask(plane.admin, { method: 'DELETE', url: '/simulated-inventory/faults' });
      await plane.readInventories();
      expect(await codes()).toEqual([]);
      expect(await capacity()).not.toHaveProperty('stale');
      expect(await managerRow()).not.toHaveProperty('staleSinceMs');
    },
  );

  test('when a node was seen last is said of each', async () => {
    await start();
    const { body } = await plane.ask(plane.operator, { url: '/nodes' });
    const { pass } = (await plane.ask(plane.operator, { url: '/inventories/simulated' })).body as {
      pass: { beganAtMs: number };
    };
    expect((body['items'] as readonly object[]).map((node) => (node as { lastSeenAtMs: number }).lastSeenAtMs)).toEqual(
      FIVE.map(() => pass.beganAtMs),
    );
    expect((await plane.ask(plane.operator, { url: '/nodes/n1' })).body).toMatchObject({
      lastSeenAtMs: pass.beganAtMs,
    });
  });
});

/** What is waited for long is late at once. */
function hurry(sleep: ReservationsPlane['server']['clock']['sleep']): typeof sleep {
  return (ms, signal) => sleep(ms >= 30_000 ? 50 : ms, signal);
}

describe('baremetal-26: a list that breaks off', () => {
  test.each([1, 3, 5])('at page %i of 5: nothing is deleted', async (page) => {
    await start();
    // One is really gone; that is learnt only by a list that comes to its end.
    await plane.armFault({ op: 'list', node: 'n5', outcome: 'gone', times: 100 });
    const after = page === 1 ? {} : { node: `n${page - 1}` };
    await plane.armFault({ op: 'list', ...after, outcome: 'unavailable', times: 2 });
    await plane.readInventories();
    expect(statesOf()).toEqual(ALL_FREE);
    await plane.ask(plane.admin, { method: 'DELETE', url: '/simulated-inventory/faults' });
    await plane.armFault({ op: 'list', node: 'n5', outcome: 'gone', times: 100 });
    await plane.readInventories();
    expect(statesOf()).toEqual([...ALL_FREE.slice(1), 'removed']);
  });

  test('a list that leaves nodes out deletes none', async () => {
    await start();
    await readInPagesOf(5);
    await plane.armFault({ op: 'list', outcome: 'partial', times: 1 });
    await plane.readInventories();
    expect(statesOf()).toEqual(ALL_FREE);
    expect(await codes()).toEqual([]);
  });

  test('a slow list is waited for', async () => {
    await start();
    await plane.armFault({ op: 'list', outcome: 'ok', delayMs: 200, times: 2 });
    await plane.readInventories();
    expect([statesOf(), await codes()]).toEqual([ALL_FREE, []]);
  });
});

test('baremetal-27: a node that is removed and added again is the same record', async () => {
  await start();
  await plane.reserve({ candidate_nodes: ['n2'] });
  await plane.release();
  await plane.until('the claim was given back', () => plane.node('n2')?.claimedFor === undefined);
  const { epoch = 0 } = plane.node('n2') ?? {};
  expect(epoch).toBeGreaterThan(1);
  await plane.armFault({ op: 'list', node: 'n2', outcome: 'gone', times: 100 });
  await plane.readInventories();
  expect(plane.node('n2')).toMatchObject({ state: 'removed', epoch });
  await plane.ask(plane.admin, { method: 'DELETE', url: '/simulated-inventory/faults' });
  const added = await plane.ask(plane.operator, { method: 'POST', url: '/nodes', payload: { name: 'n2' } });
  expect(added).toMatchObject({ status: 201, body: { id: 'n2' } });
  await plane.readInventories();
  expect(plane.node('n2')).toMatchObject({ state: 'available', epoch });
});

describe('baremetal-31: an inventory without an endpoint for claims', () => {
  test('the node is claimed on itself, a warning stands, and the endpoint is used once it is there', async () => {
    await start('direct');
    expect(await codes()).toEqual(['inventory-without-allocations']);
    expect((await plane.reserve()).status).toBe(201);
    const taken = FIVE.filter((id) => plane.node(id)?.state !== 'available');
    expect(taken).toHaveLength(1);
    expect(await plane.calls()).toEqual([`claim ${taken[0]} accepted`]);
    await plane.setClaims('endpoint');
    await plane.readInventories();
    expect(await codes()).toEqual([]);
    expect((await plane.reserve({ instance_uuid: 'i2' })).status).toBe(201);
    expect(FIVE.filter((id) => plane.node(id)?.state !== 'available')).toHaveLength(2);
  });

  test('an Ironic before API 1.52: no other node is touched, and after its upgrade it allocates, without a restart', async () => {
    const ironic = await IronicServer.start();
    const uuids = [1, 2, 3].map((nth) => `00000000-0000-4000-9000-00000000000${nth}`);
    for (const uuid of uuids) ironic.add(uuid);
    ironic.minor = 46;
    let nowMs = 0;
    plane = await ReservationsPlane.start('inline', {
      outsideInventories: [new IronicInventory(ironic.client(() => nowMs))],
    });
    await readInPagesOf(2);
    await plane.readInventories();
    expect(statesOf(uuids)).toEqual(['available', 'available', 'available']);
    expect(await codes()).toEqual(['inventory-without-allocations']);
    const first = await plane.reserve();
    expect(first).toMatchObject({ status: 201, body: { state: 'active' } });
    const node = String(first.body['node']);
    expect([...ironic.nodes.values()].filter((one) => one.instance_uuid !== null)).toMatchObject([
      { uuid: node, instance_uuid: claimUuid({ node, instance: 'i1' }), extra: { muster: { instance: 'i1' } } },
    ]);
    expect(ironic.calls.filter((call) => !call.startsWith('GET'))).toEqual([`PATCH /v1/nodes/${node}`]);
    ironic.minor = 80;
    nowMs = 60_000;
    await plane.server.runtime.get(CLAIM_MODES).refresh();
    await plane.readInventories();
    expect(await codes()).toEqual([]);
    expect((await plane.reserve({ instance_uuid: 'i2' })).status).toBe(201);
    expect([...ironic.allocations.values()]).toMatchObject([{ state: 'active' }]);
    expect([...ironic.nodes.values()].filter((one) => one.instance_uuid !== null)).toHaveLength(2);
  });
});

test('what Muster holds and Ironic has lost is reported, and what Ironic holds and Muster has lost, until they agree', async () => {
  const ironic = await IronicServer.start();
  const [one = '', other = ''] = [1, 2].map((nth) => `00000000-0000-4000-9000-00000000000${nth}`);
  for (const uuid of [one, other]) ironic.add(uuid);
  plane = await ReservationsPlane.start('inline', { outsideInventories: [new IronicInventory(ironic.client())] });
  await readInPagesOf(2);
  await plane.readInventories();
  expect((await plane.reserve({ candidate_nodes: [one] })).status).toBe(201);
  await plane.readInventories();
  expect(await codes()).toEqual([]);
  // Our allocation is deleted there by hand, and another stays from an earlier time.
  const claim = claimUuid({ node: one, instance: 'i1' });
  const kept = ironic.allocations.get(claim);
  ironic.allocations.delete(claim);
  ironic.change(one, { instance_uuid: null });
  const stray = claimUuid({ node: other, instance: 'forgotten' });
  ironic.allocations.set(stray, {
    ...{ uuid: stray, node_uuid: other, state: 'active', last_error: null, traits: [] },
    extra: { muster: { instance: 'forgotten', nodeEpoch: 1 } },
  });
  ironic.change(other, { instance_uuid: stray });
  await plane.readInventories();
  const [alarm] = await plane.alarms();
  expect(alarm?.['reason']).toEqual({
    ...{ code: 'allocations-missing', inventory: 'ironic' },
    ...{ missing: 1, missingOf: `${one} (i1)`, unknown: 1, unknownOf: `${other} (forgotten)` },
  });
  expect(plane.node(one)).toMatchObject({ state: 'reserved', instance: 'i1' });
  expect(plane.node(other)).toMatchObject({ state: 'unavailable' });
  if (kept !== undefined) ironic.allocations.set(claim, kept);
  ironic.change(one, { instance_uuid: claim });
  ironic.allocations.delete(stray);
  ironic.change(other, { instance_uuid: null });
  await plane.readInventories();
  expect([await codes(), plane.node(other)?.state]).toEqual([[], 'available']);
});

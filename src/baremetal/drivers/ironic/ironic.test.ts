// The Ironic driver on a small Ironic in memory: the contract of inventories with and without allocations, and what changes with its version.
import { describe, expect, test } from 'vitest';
import { inventoryContract } from '../inventory-contract.ts';
import type { InventoryCallOptions } from '../inventory.ts';
import { IronicInventory } from './inventory-driver.ts';
import { claimUuid } from './ironic-nodes-driver.ts';
import { IronicServer } from './ironic-server-fixture.ts';

const NEVER: InventoryCallOptions = { signal: new AbortController().signal };
const UUIDS = [1, 2, 3, 4, 5].map((nth) => `00000000-0000-4000-9000-00000000000${nth}`);
const [N1 = '', N2 = '', N3 = ''] = UUIDS;

for (const [name, minor] of [
  ['ironic', 80],
  ['ironic before allocations', 46],
  ['ironic before traits and classes', 11],
] as const) {
  inventoryContract({
    name,
    epochs: 'of-claims',
    start: async () => {
      const ironic = await IronicServer.start();
      ironic.minor = minor;
      for (const uuid of UUIDS) ironic.add(uuid);
      return {
        inventory: new IronicInventory(ironic.client()),
        nodes: UUIDS,
        disconnect: async () => {
          ironic.decide = () => 'cut';
        },
        close: () => ironic.close(),
      };
    },
  });
}

async function bench(minor = 80) {
  const ironic = await IronicServer.start();
  ironic.minor = minor;
  for (const uuid of UUIDS) ironic.add(uuid);
  const time = { nowMs: 0 };
  const inventory = new IronicInventory(ironic.client(() => time.nowMs));
  const claim = (node: string, traits: readonly string[] = []) =>
    inventory.claim({ node, nodeEpoch: 5, instance: 'a', traits }, NEVER);
  return { ironic, inventory, time, claim };
}

describe('baremetal-31: an Ironic without allocations', () => {
  test('the claim is written on the one node, and nothing else is touched', async () => {
    const { ironic, inventory, claim } = await bench(46);
    expect(await inventory.claims()).toBe('direct');
    expect(await claim(N2)).toEqual({ kind: 'applied' });
    expect(ironic.nodes.get(N2)?.instance_uuid).toBe(claimUuid({ node: N2, instance: 'a' }));
    expect([...ironic.nodes.values()].filter((node) => node.instance_uuid !== null)).toHaveLength(1);
    expect(ironic.calls.filter((call) => !call.startsWith('GET'))).toEqual([`PATCH /v1/nodes/${N2}`]);
  });

  test.each([
    ['that is not available', { provision_state: 'manageable' }],
    ['in maintenance', { maintenance: true }],
    ['without a power state', { power_state: null }],
    ['of another client', { instance_uuid: '11111111-1111-4111-8111-111111111111' }],
  ])('a node %s is not claimed: a fallback narrows', async (_, facts) => {
    const { ironic, claim } = await bench(46);
    Object.assign(ironic.nodes.get(N1) ?? {}, facts);
    const { instance_uuid: before } = ironic.nodes.get(N1) ?? {};
    expect(await claim(N1)).toMatchObject({ kind: 'lost' });
    expect(ironic.nodes.get(N1)?.instance_uuid).toBe(before);
    expect(ironic.calls.filter((call) => !call.startsWith('GET'))).toEqual([]);
  });

  test('a node that goes out of service as it is claimed is given back', async () => {
    const { ironic, claim } = await bench(46);
    ironic.beforeWrite = (node) => {
      node.maintenance = true;
    };
    expect(await claim(N1)).toMatchObject({ kind: 'lost' });
    expect(ironic.nodes.get(N1)).toMatchObject({ instance_uuid: null, extra: {} });
  });

  test('a node without a requested trait is not claimed', async () => {
    const { claim, ironic } = await bench(46);
    expect(await claim(N1, ['CUSTOM_FAST'])).toMatchObject({ kind: 'lost' });
    ironic.change(N1, { traits: ['CUSTOM_FAST'] });
    expect(await claim(N1, ['CUSTOM_FAST'])).toEqual({ kind: 'applied' });
  });

  test('once it is upgraded allocations are used, without a restart, and older claims are known', async () => {
    const { ironic, inventory, time, claim } = await bench(46);
    await claim(N1);
    ironic.minor = 80;
    time.nowMs = 60_000;
    expect(await inventory.claims()).toBe('endpoint');
    expect(await claim(N1)).toEqual({ kind: 'already' });
    expect(await claim(N2)).toEqual({ kind: 'applied' });
    expect([...ironic.allocations.values()]).toMatchObject([{ node_uuid: N2, state: 'active' }]);
    expect((await inventory.listClaims(undefined, 10, NEVER)).claims).toEqual([{ node: N2, instance: 'a' }]);
    const { claims } = await inventory.listClaims('n:', 10, NEVER);
    expect(claims).toEqual([{ node: N1, instance: 'a' }]);
    expect(await inventory.unclaim({ node: N1, nodeEpoch: 5, instance: 'a' }, NEVER)).toEqual({ kind: 'applied' });
    expect(ironic.nodes.get(N1)).toMatchObject({ instance_uuid: null, extra: {} });
  });
});

describe('lists', () => {
  test.each([
    [80, undefined],
    [52, ['lessee']],
    [46, ['owner', 'lessee']],
    [11, ['resourceClass', 'traits', 'owner', 'lessee']],
  ])('what version 1.%s cannot say is named', async (minor, unsaid) => {
    const { inventory } = await bench(minor);
    const { nodes } = await inventory.list(undefined, 1, NEVER);
    expect(nodes[0]?.unsaid).toEqual(unsaid);
    expect(await inventory.find(N1, NEVER).then((node) => node !== 'gone' && node.unsaid)).toEqual(unsaid);
  });

  test('changes in one second are shown until a later one, and reading ends at what was read before', async () => {
    const { ironic, inventory } = await bench();
    const idsOf = (page: { readonly nodes: readonly { readonly id: string }[] }) => page.nodes.map(({ id }) => id);
    ironic.change(N3, {});
    const { upTo: since } = await inventory.listChanges({ limit: 10 }, NEVER);
    expect(idsOf(await inventory.listChanges({ since, limit: 10 }, NEVER))).toEqual([N3]);
    ironic.change(N1, { maintenance: true });
    ironic.change(N2, { power_state: 'power on' });
    const first = await inventory.listChanges({ since, limit: 2 }, NEVER);
    expect([idsOf(first), first.next]).toEqual([[N2, N1], N1]);
    const second = await inventory.listChanges({ since, after: N1, limit: 2 }, NEVER);
    expect([idsOf(second), second.next]).toEqual([[N3], undefined]);
    expect(idsOf(await inventory.listChanges({ since: first.upTo, limit: 2 }, NEVER))).toEqual([N2]);
  });

  test.each(['cut', 'busy'] as const)('a page that is %s says nothing', async (fate) => {
    const { ironic, inventory } = await bench();
    let pages = 0;
    ironic.decide = (call) => (call.includes('/v1/nodes?') && (pages += 1) === 2 ? fate : 'pass');
    const { next } = await inventory.list(undefined, 2, NEVER);
    await expect(inventory.list(next, 2, NEVER)).rejects.toMatchObject({ code: 'inventory-unreachable' });
    expect((await inventory.list(next, 2, NEVER)).nodes).toHaveLength(2);
  });

  test('what answers 404 and is not Ironic does not say that a node is gone', async () => {
    const { ironic, inventory } = await bench();
    ironic.nodes.delete(N1);
    expect(await inventory.find(N1, NEVER)).toBe('gone');
    ironic.decide = (call) => (call.includes(N2) ? 'busy' : 'pass');
    await expect(inventory.find(N2, NEVER)).rejects.toMatchObject({ code: 'inventory-unreachable' });
  });
});

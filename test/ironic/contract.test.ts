// The Ironic driver against a real Ironic: the contract suites of inventories and machines, and what only a real one can do. Takes minutes: by its own
// script, `npm run test:ironic`.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { machineContract } from '../../src/baremetal/drivers/contract.ts';
import { inventoryContract } from '../../src/baremetal/drivers/inventory-contract.ts';
import type { InventoryCallOptions, MachineCall, NodeFence } from '../../src/baremetal/drivers/inventory.ts';
import { IronicClient } from '../../src/baremetal/drivers/ironic/ironic-client-driver.ts';
import { claimUuid } from '../../src/baremetal/drivers/ironic/ironic-nodes-driver.ts';
import { IronicInventory } from '../../src/baremetal/drivers/ironic/inventory-driver.ts';
import { IronicMachines } from '../../src/baremetal/drivers/ironic/machine-driver.ts';
import { buildSuite } from './build-suite.ts';
import { ensureIronic, type IronicFound } from './install.ts';
import { Ironic } from './ironic.ts';
import { IronicProxy } from './proxy.ts';
import { refreshSuite } from './refresh-suite.ts';

const TIMEOUT_MS = 300_000;
const NEVER: InventoryCallOptions = { signal: new AbortController().signal };
const IMAGE = { image: 'http://127.0.0.1/image' };

const found: IronicFound = await ensureIronic();
const title = 'a real Ironic';

if (found.kind === 'missing' && process.env['CI'] !== 'true') test.skip(`${title}: ${found.reason}`);
else describe(title, () => suite());

/** A conductor that was just started may take calls later than it listens. */
async function isPowered(driver: IronicMachines, call: Omit<MachineCall, 'action'>): Promise<boolean> {
  const { kind } = await driver.carryOut({ ...call, action: 'power-on' }, NEVER);
  return kind === 'applied' || kind === 'already';
}

function clientOf(url: string): IronicClient {
  return new IronicClient({
    url,
    steadyMs: () => performance.now(),
    sleep: async (ms, signal) => {
      await sleep(ms, undefined, { signal }).catch(() => undefined); // whoever waits looks at the signal
    },
  });
}

function suite(): void {
  let ironic: Ironic;
  let count = 0;

  beforeAll(async () => {
    if (found.kind === 'missing') throw new Error(found.reason);
    ironic = await Ironic.start(found);
  }, TIMEOUT_MS);
  afterAll(() => ironic?.stop());

  /** Nodes of their own for each case: they are removed at its end. */
  async function enrol(
    nodes: number,
    traits: readonly string[] = [],
  ): Promise<{ ids: string[]; remove: () => Promise<void> }> {
    const ids: string[] = [];
    for (let nth = 0; nth < nodes; nth += 1) {
      count += 1;
      ids.push(await ironic.enrol({ name: `node-${count}`, traits }));
    }
    return {
      ids,
      remove: async () => {
        for (const id of ids) await ironic.remove(id);
      },
    };
  }

  async function machines() {
    const { ids, remove } = await enrol(2);
    const proxy = await IronicProxy.start(ironic.url);
    const client = clientOf(proxy.url);
    const inventory = new IronicInventory(client);
    return {
      driver: new IronicMachines(client),
      nodes: ids,
      entitle: async (fence: NodeFence) => {
        const claimed = await inventory.claim({ ...fence, traits: [] }, NEVER);
        if (claimed.kind !== 'applied' && claimed.kind !== 'already') throw new Error(JSON.stringify(claimed));
      },
      countBegun: async (node: string, action: 'deploy' | 'clean') =>
        proxy.countProvisions(node, action === 'deploy' ? 'active' : 'deleted'),
      close: async () => {
        await proxy.close();
        await remove();
      },
    };
  }

  async function inventoryOf(versionMax?: string) {
    const { ids, remove } = await enrol(5);
    const proxy = await IronicProxy.start(ironic.url);
    proxy.versionMax = versionMax;
    return {
      inventory: new IronicInventory(clientOf(proxy.url)),
      nodes: ids.toSorted(),
      disconnect: async () => {
        proxy.decide = () => 'cut';
      },
      close: async () => {
        await proxy.close();
        await remove();
      },
    };
  }

  machineContract({
    name: 'ironic',
    start: machines,
    epochs: 'of-claims',
    fails: false,
    ...IMAGE,
    timeoutMs: TIMEOUT_MS,
  });
  inventoryContract({ name: 'ironic', start: () => inventoryOf(), epochs: 'of-claims', timeoutMs: TIMEOUT_MS });
  inventoryContract({
    name: 'ironic before allocations',
    start: () => inventoryOf('1.46'),
    epochs: 'of-claims',
    timeoutMs: TIMEOUT_MS,
  });

  refreshSuite({ ironic: () => ironic, enrol: (nodes) => enrol(nodes), timeoutMs: TIMEOUT_MS });
  buildSuite({ ironic: () => ironic, enrol: (nodes) => enrol(nodes), timeoutMs: TIMEOUT_MS });

  interface Bench {
    readonly proxy: IronicProxy;
    readonly inventory: IronicInventory;
    readonly machines: IronicMachines;
    readonly nodes: readonly string[];
    /** Of the first node. */
    readonly fence: NodeFence;
  }

  async function bench(nodes = 1, traits: readonly string[] = []): Promise<Bench> {
    const { ids, remove } = await enrol(nodes, traits);
    const proxy = await IronicProxy.start(ironic.url);
    onTestFinished(async () => {
      await proxy.close();
      await remove();
    });
    const client = clientOf(proxy.url);
    const fence = { node: ids[0] ?? '', nodeEpoch: 5, instance: 'a' };
    return { proxy, nodes: ids, inventory: new IronicInventory(client), machines: new IronicMachines(client), fence };
  }

  describe('what only a real one can do', { timeout: TIMEOUT_MS }, () => {
    test('a-list-that-breaks-in-the-middle-says-nothing', async () => {
      const { inventory, proxy } = await bench(5);
      let pages = 0;
      proxy.decide = ({ path }) => {
        if (!path.startsWith('/v1/nodes?')) return 'pass';
        pages += 1;
        return pages === 3 ? 'cut' : 'pass';
      };
      const list = async (): Promise<void> => {
        let after: string | undefined;
        do {
          ({ next: after } = await inventory.list(after, 1, NEVER));
        } while (after !== undefined);
      };
      await expect(list()).rejects.toMatchObject({ code: 'inventory-unreachable' });
      await expect(list()).resolves.toBeUndefined();
    });

    test('an-api-that-is-killed-in-the-middle-of-a-list-is-unreachable-until-it-is-back', async () => {
      const { inventory } = await bench(3);
      const { next } = await inventory.list(undefined, 1, NEVER);
      await ironic.killApi();
      await expect(inventory.list(next, 1, NEVER)).rejects.toMatchObject({ code: 'inventory-unreachable' });
      await ironic.startApi();
      expect((await inventory.list(next, 1, NEVER)).nodes).toHaveLength(1);
    });

    test('a-node-that-is-taken-behind-our-back-is-lost, and-stays-theirs', async () => {
      const { inventory, machines: driver, fence } = await bench();
      await ironic.request('POST', '/v1/allocations', { resource_class: 'baremetal', candidate_nodes: [fence.node] });
      await ironic.awaitNode(fence.node, (node) => node['instance_uuid'] !== null);
      expect(await inventory.claim({ ...fence, traits: [] }, NEVER)).toMatchObject({ kind: 'lost' });
      const call = { ...fence, manager: 'm1', args: IMAGE };
      expect(await driver.carryOut({ ...call, action: 'deploy' }, NEVER)).toMatchObject({ kind: 'stale' });
      // Nothing of it is cleaned away either.
      expect(await driver.carryOut({ ...call, action: 'clean' }, NEVER)).toMatchObject({ kind: 'stale' });
    });

    test('a-claim-requests-the-traits, and-one-that-the-node-does-not-have-is-lost-without-a-trace', async () => {
      const { inventory, fence } = await bench(1, ['CUSTOM_FAST']);
      expect(await inventory.claim({ ...fence, traits: ['CUSTOM_SLOW'] }, NEVER)).toMatchObject({ kind: 'lost' });
      expect(await inventory.claim({ ...fence, traits: ['CUSTOM_FAST'] }, NEVER)).toEqual({ kind: 'applied' });
      const allocation = await ironic.request('GET', `/v1/allocations/${claimUuid(fence)}`);
      expect(allocation).toMatchObject({ node_uuid: fence.node, traits: ['CUSTOM_FAST'], state: 'active' });
    });

    test('a-deploy-whose-conductor-dies-fails, and-the-node-can-be-cleaned', async () => {
      const { inventory, machines: driver, fence } = await bench();
      await inventory.claim({ ...fence, traits: [] }, NEVER);
      await ironic.killConductor();
      await ironic.startConductor({ deployDelayS: 8 });
      const call = { ...fence, manager: 'm1', args: IMAGE };
      await expect.poll(() => isPowered(driver, call), { timeout: TIMEOUT_MS }).toBe(true);
      const deployed = driver.carryOut({ ...call, action: 'deploy' }, NEVER);
      await ironic.awaitNode(fence.node, (node) => node['provision_state'] === 'deploying');
      await ironic.killConductor();
      await ironic.startConductor();
      expect(await deployed).toMatchObject({ kind: 'failed', reason: { code: 'deploy-failed' } });
      expect(await driver.inspect(fence, NEVER)).toMatchObject({ state: 'failed', instance: 'a' });
      expect(await driver.carryOut({ ...call, action: 'clean' }, NEVER)).toEqual({ kind: 'applied' });
      expect(await inventory.find(fence.node, NEVER)).toMatchObject({ isAvailable: true });
    });

    test('a-deploy-that-another-manager-began-is-waited-for, and-not-begun-again', async () => {
      const { inventory, machines: driver, fence, proxy } = await bench();
      await inventory.claim({ ...fence, traits: [] }, NEVER);
      await ironic.killConductor();
      await ironic.startConductor({ deployDelayS: 4 });
      const call = { ...fence, manager: 'm1', args: IMAGE, action: 'deploy' } as const;
      const first = new AbortController();
      await expect.poll(() => isPowered(driver, call), { timeout: TIMEOUT_MS }).toBe(true);
      const lost = driver.carryOut(call, { signal: first.signal });
      await ironic.awaitNode(fence.node, (node) => node['provision_state'] === 'deploying');
      first.abort(new Error('the first manager is lost'));
      await expect(lost).rejects.toThrow('the first manager is lost');
      expect(await driver.carryOut({ ...call, nodeEpoch: 6, manager: 'm2' }, NEVER)).toEqual({ kind: 'already' });
      expect(proxy.countProvisions(fence.node, 'active')).toBe(1);
      await ironic.killConductor();
      await ironic.startConductor();
    });

    test('a-busy-api-costs-nothing: the-claim-is-made-when-it-answers-again', async () => {
      const { inventory, fence, proxy } = await bench();
      proxy.decide = ({ method }) => (method === 'POST' ? 'busy' : 'pass');
      expect(await inventory.claim({ ...fence, traits: [] }, NEVER)).toMatchObject({
        kind: 'failed',
        retryAfterMs: 1000,
      });
      proxy.decide = () => 'pass';
      expect(await inventory.claim({ ...fence, traits: [] }, NEVER)).toEqual({ kind: 'applied' });
    });

    test('a-claim-whose-answer-was-lost-is-found-by-the-next-try', async () => {
      const { inventory, fence, proxy } = await bench();
      proxy.decide = ({ method, path }) => (method === 'POST' && path === '/v1/allocations' ? 'cut' : 'pass');
      expect(await inventory.claim({ ...fence, traits: [] }, NEVER)).toMatchObject({ kind: 'failed' });
      proxy.decide = () => 'pass';
      await ironic.awaitNode(fence.node, (node) => node['instance_uuid'] !== null);
      expect(await inventory.claim({ ...fence, traits: [] }, NEVER)).toEqual({ kind: 'already' });
    });

    test('an-upgraded-inventory-is-used-with-its-allocations-without-a-restart', async () => {
      const { fence, proxy } = await bench();
      proxy.versionMax = '1.46';
      let nowMs = 0;
      const client = new IronicClient({ url: proxy.url, steadyMs: () => nowMs, sleep: (ms) => sleep(ms) });
      const inventory = new IronicInventory(client);
      expect(await inventory.claims()).toBe('direct');
      expect(await inventory.claim({ ...fence, traits: [] }, NEVER)).toEqual({ kind: 'applied' });
      proxy.versionMax = undefined;
      nowMs += 60_000;
      expect(await inventory.claims()).toBe('endpoint');
      // What was claimed the old way is still known, and given back the old way.
      expect(await inventory.claim({ ...fence, traits: [] }, NEVER)).toEqual({ kind: 'already' });
      expect(await inventory.unclaim(fence, NEVER)).toEqual({ kind: 'applied' });
      expect(await inventory.find(fence.node, NEVER)).toMatchObject({ isAvailable: true });
    });
  });
}

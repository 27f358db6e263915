// Instances on a real Ironic, as one run: a server and managers as processes of their own, from the request to the machine and back. Part of the suite on the one
// Ironic that contract.test.ts starts.
import { afterEach, describe, expect, test } from 'vitest';
import { ProcessPlane, type NodeRow } from '../baremetal/process-plane.ts';
import { IronicProxy } from './proxy.ts';
import type { RefreshSuite } from './refresh-suite.ts';

const FLAVOR = { name: 'metal', vcpus: 4, memoryMiB: 1024, diskGiB: 10, bareMetal: {} };
const INSTANCE = { name: 'db', flavor: 'metal', image: 'http://127.0.0.1/image', networks: 'none' };

export function buildSuite({ ironic, enrol, timeoutMs }: RefreshSuite): void {
  describe('instances through muster manager --ironic', { timeout: timeoutMs }, () => {
    const ends: (() => Promise<void>)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0).reverse()) await end();
    });

    async function start(managers: readonly string[]) {
      const { ids, remove } = await enrol(1);
      ends.push(remove);
      const proxy = await IronicProxy.start(ironic().url);
      ends.push(() => proxy.close());
      const plane = await ProcessPlane.start({ managers, ironic: proxy.url });
      ends.push(() => plane.stop());
      await plane.set('baremetal.inventories', { intervalMs: 500, pageSize: 100 });
      await plane.mustAsk('POST', '/flavors', FLAVOR);
      const [id = ''] = ids;
      await plane.until(
        'the node is on record and free',
        async () => (await findNode(plane, id))?.state === 'available',
      );
      return { plane, proxy, id };
    }

    async function findNode(plane: ProcessPlane, id: string): Promise<NodeRow | undefined> {
      return (await plane.nodes()).find((node) => node.id === id);
    }

    async function awaitActive(plane: ProcessPlane): Promise<void> {
      await plane.until('the instance is active', async () => {
        const { body } = await plane.mustAsk('GET', '/instances/db');
        return body['state'] === 'active';
      });
    }

    async function findPower(id: string): Promise<unknown> {
      const node = (await ironic().request('GET', `/v1/nodes/${id}`)) as Readonly<Record<string, unknown>>;
      return node['power_state'];
    }

    async function destroyInstance(plane: ProcessPlane, id: string): Promise<void> {
      await plane.mustAsk('DELETE', '/instances/db');
      await ironic().awaitNode(id, (node) => node['provision_state'] === 'available' && node['instance_uuid'] === null);
      await plane.until('the node is clean and free again', async () => {
        const node = await findNode(plane, id);
        return node?.state === 'available' && node.instance === undefined && node.manager === undefined;
      });
    }

    test('one-is-reserved, deployed, switched-off-and-on, deleted, and-its-node-is-clean-and-free-again', async () => {
      const { plane, proxy, id } = await start(['m1']);
      await plane.mustAsk('POST', '/instances', INSTANCE);
      await awaitActive(plane);
      expect((await plane.mustAsk('GET', '/reservations/db')).body).toMatchObject({ state: 'active', node: id });
      expect(await findNode(plane, id)).toMatchObject({ state: 'active', instance: 'db', manager: 'm1' });
      await ironic().awaitNode(id, (node) => node['provision_state'] === 'active' && node['instance_uuid'] !== null);
      expect(proxy.countProvisions(id, 'active')).toBe(1);

      for (const power of ['off', 'on']) {
        await plane.mustAsk('POST', '/instances/db/power', { power });
        await plane.until(`it is ${power}`, async () => (await findPower(id)) === `power ${power}`);
      }
      expect(proxy.countProvisions(id, 'active')).toBe(1);

      await destroyInstance(plane, id);
      expect(proxy.countProvisions(id, 'deleted')).toBe(1);
      await plane.until('the name is free', async () => (await plane.ask('GET', '/instances/db')).status === 404);
    });

    test('a-manager-that-is-killed-in-the-middle-of-a-deploy-is-followed-by-another, which-deploys-nothing-again', async () => {
      await ironic().killConductor();
      await ironic().startConductor({ deployDelayS: 10 });
      ends.push(async () => {
        await ironic().killConductor();
        await ironic().startConductor();
      });
      const { plane, proxy, id } = await start(['m1']);
      await plane.mustAsk('POST', '/instances', INSTANCE);
      await ironic().awaitNode(id, (node) => node['provision_state'] === 'deploying');
      const before = await findNode(plane, id);
      expect(before).toMatchObject({ state: 'deploying', manager: 'm1' });
      await plane.endManager('m1', 'SIGKILL');
      await plane.startManager('m2');
      await awaitActive(plane);
      const after = await findNode(plane, id);
      expect(after).toMatchObject({ state: 'active', instance: 'db', manager: 'm2' });
      expect(after?.epoch).toBeGreaterThan(before?.epoch ?? Infinity);
      expect(proxy.countProvisions(id, 'active')).toBe(1);
      expect(proxy.countProvisions(id, 'deleted')).toBe(0);
      await destroyInstance(plane, id);
    });
  });
}

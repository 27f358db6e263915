// A whole server that reads a real Ironic: what it makes of nodes that come, change and go, of an API that is killed, and of one that is too old. Part of the
// suite on the one Ironic that contract.test.ts starts.
import { describe, expect, onTestFinished, test } from 'vitest';
import { IronicClient } from '../../src/baremetal/drivers/ironic/ironic-client-driver.ts';
import { claimUuid } from '../../src/baremetal/drivers/ironic/ironic-nodes-driver.ts';
import { IronicInventory } from '../../src/baremetal/drivers/ironic/inventory-driver.ts';
import { CLAIM_MODES } from '../../src/baremetal/service-keys.ts';
import { ReservationsPlane } from '../acceptance/baremetal/reservations-fixture.ts';
import type { Ironic } from './ironic.ts';
import { IronicProxy } from './proxy.ts';

export interface RefreshSuite {
  readonly ironic: () => Ironic;
  readonly enrol: (nodes: number) => Promise<{ readonly ids: string[]; readonly remove: () => Promise<void> }>;
  readonly timeoutMs: number;
}

interface Bench {
  readonly ironic: Ironic;
  readonly plane: ReservationsPlane;
  readonly proxy: IronicProxy;
  readonly ids: readonly string[];
  /** So much later, for whoever remembers the version of the API. */
  readonly time: { nowMs: number };
}

export function refreshSuite({ ironic: get, enrol, timeoutMs }: RefreshSuite): void {
  async function bench(nodes: number, versionMax?: string): Promise<Bench> {
    const ironic = get();
    const { ids, remove } = await enrol(nodes);
    const proxy = await IronicProxy.start(ironic.url);
    proxy.versionMax = versionMax;
    const time = { nowMs: 0 };
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));
    const client = new IronicClient({ url: proxy.url, steadyMs: () => time.nowMs, sleep });
    const plane = await ReservationsPlane.start('inline', { outsideInventories: [new IronicInventory(client)] });
    onTestFinished(async () => {
      await plane.close();
      await proxy.close();
      await remove();
    });
    const payload = { value: { intervalMs: 100, pageSize: 1 } };
    await plane.ask(plane.admin, { method: 'PUT', url: '/settings/baremetal.inventories', payload });
    await plane.readInventories();
    return { ironic, plane, proxy, ids, time };
  }

  const statesOf = ({ plane, ids }: Bench): readonly unknown[] => ids.map((id) => plane.node(id)?.state);
  const codesOf = async ({ plane }: Bench): Promise<readonly unknown[]> =>
    (await plane.alarms()).map(({ reason }) => (reason as { code: string }).code);

  describe('a server that reads it', { timeout: timeoutMs }, () => {
    test('its-nodes-are-on-record, and-what-changes-is-seen', async () => {
      const world = await bench(3);
      const { plane, ironic, ids } = world;
      expect(statesOf(world)).toEqual(['available', 'available', 'available']);
      expect(plane.node(ids[0] ?? '')).toMatchObject({
        ...{ inventory: 'ironic', resourceClass: 'baremetal', cpus: 8, memoryMiB: 16384, localGiB: 100 },
        ...{ capabilities: 'supports_uefi:true', power: 'off' },
      });
      await ironic.request('PUT', `/v1/nodes/${ids[1]}/maintenance`, {});
      await ironic.setPower(ids[2] ?? '', 'power on');
      await plane.readInventories();
      expect(statesOf(world)).toEqual(['available', 'unavailable', 'available']);
      expect(plane.node(ids[2] ?? '')).toMatchObject({ power: 'on' });
      expect(await codesOf(world)).toEqual([]);
    });

    test('an-api-that-is-killed-in-the-middle-of-a-list-takes-nothing-away', async () => {
      const world = await bench(3);
      const { plane, proxy, ironic } = world;
      let pages = 0;
      let killed: Promise<void> | undefined;
      proxy.decide = ({ path }) => {
        if (path.startsWith('/v1/nodes?') && (pages += 1) === 2) killed = ironic.killApi();
        return 'pass';
      };
      await plane.readInventories();
      await killed;
      await plane.readInventories();
      expect(pages).toBeGreaterThanOrEqual(2);
      expect(statesOf(world)).toEqual(['available', 'available', 'available']);
      expect(await codesOf(world)).toEqual(['inventory-unreachable']);
      await ironic.startApi();
      await plane.readInventories();
      expect(await codesOf(world)).toEqual([]);
    });

    test('a-node-that-is-deleted-is-taken-off-the-record, and-is-the-same-when-it-comes-back', async () => {
      const world = await bench(2);
      const { plane, ironic, ids } = world;
      const [gone = ''] = ids;
      await plane.reserve({ candidate_nodes: [gone] });
      await plane.until('it is settled', () => plane.isSettled());
      await plane.release();
      await plane.until('the claim was given back', () => plane.node(gone)?.claimedFor === undefined);
      const { epoch } = plane.node(gone) ?? {};
      await ironic.remove(gone);
      await plane.readInventories();
      expect(plane.node(gone)).toMatchObject({ state: 'removed', epoch });
      await ironic.enrol({ name: 'again', uuid: gone });
      await plane.readInventories();
      expect(plane.node(gone)).toMatchObject({ state: 'available', epoch, name: 'again' });
    });

    test('a-node-that-another-client-takes-is-not-offered, and-a-claim-of-ours-that-is-deleted-is-reported', async () => {
      const world = await bench(2);
      const { plane, ironic, ids } = world;
      const [ours = '', theirs = ''] = ids;
      await plane.reserve({ candidate_nodes: [ours] });
      await plane.until('it is settled', () => plane.isSettled());
      expect(plane.node(ours)).toMatchObject({ state: 'reserved' });
      await ironic.request('POST', '/v1/allocations', { resource_class: 'baremetal', candidate_nodes: [theirs] });
      await ironic.awaitNode(theirs, (node) => node['instance_uuid'] !== null);
      await plane.readInventories();
      expect(plane.node(theirs)).toMatchObject({ state: 'unavailable' });
      expect(await codesOf(world)).toEqual([]);
      await ironic.request('DELETE', `/v1/allocations/${claimUuid({ node: ours, instance: 'i1' })}`);
      await plane.readInventories();
      const [alarm] = await plane.alarms();
      expect(alarm?.['reason']).toMatchObject({ code: 'allocations-missing', missing: 1, missingOf: `${ours} (i1)` });
      expect(plane.node(ours)).toMatchObject({ state: 'reserved', instance: 'i1' });
      await plane.release();
      await plane.until('the claim was given back', () => plane.node(ours)?.claimedFor === undefined);
      await plane.readInventories();
      expect([await codesOf(world), plane.node(ours)?.state]).toEqual([[], 'available']);
    });

    test('an-older-api: the-claim-is-on-the-node-alone, with-a-warning; upgraded, it-allocates', async () => {
      const world = await bench(3, '1.46');
      const { plane, proxy, ironic, ids, time } = world;
      expect(await codesOf(world)).toEqual(['inventory-without-allocations']);
      const isOurs = async (id: string): Promise<boolean> => {
        const node = (await ironic.request('GET', `/v1/nodes/${id}`)) as { readonly instance_uuid: string | null };
        return node.instance_uuid !== null;
      };
      await plane.reserve({ candidate_nodes: ids });
      await plane.until('it is settled', () => plane.isSettled());
      const taken = ids.find((id) => plane.node(id)?.state === 'reserved');
      expect(await Promise.all(ids.map(isOurs))).toEqual(ids.map((id) => id === taken));
      proxy.versionMax = undefined;
      time.nowMs = 60_000;
      await plane.server.runtime.get(CLAIM_MODES).refresh();
      await plane.readInventories();
      expect(await codesOf(world)).toEqual([]);
      await plane.reserve({ instance_uuid: 'i2', candidate_nodes: ids });
      await plane.until('it is settled', () => plane.isSettled('i2'));
      const second = ids.find((id) => plane.node(id)?.instance === 'i2') ?? '';
      const allocation = await ironic.request('GET', `/v1/allocations/${claimUuid({ node: second, instance: 'i2' })}`);
      expect(allocation).toMatchObject({ node_uuid: second, state: 'active' });
      await plane.release('i2');
      await plane.release();
      await plane.until('both were given back', () => ids.every((id) => plane.node(id)?.claimedFor === undefined));
      expect(await Promise.all(ids.map(isOurs))).toEqual([false, false, false]);
    });
  });
}

// What should be on a host's switch, as the API shows it: compiled, explained, filtered, and only for callers that may see the host.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, put } from '../../src/fleet/index.ts';
import { SUBNET, TUNNEL_KEY } from '../../src/network/index.ts';
import { sampleNetwork } from './sample-network.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let viewer: string;

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  const key = (number: number, what: 'segment' | 'router', id: string) =>
    put(TUNNEL_KEY, idOf(TUNNEL_KEY, String(number)), { for: what, id });
  await world.commit(...sampleNetwork(), key(70_001, 'segment', 'rack'), key(70_002, 'router', 'edge'));
  const uplink = world.journal.fleet.get(SUBNET, idOf(SUBNET, 'uplink-v4'));
  if (uplink !== undefined) await world.commit(put(SUBNET, uplink.id, { ...uplink.doc, gateway: '203.0.113.1' }));
  viewer = await world.token('viewer');
});
afterEach(() => world.close());

interface DataplaneAnswer {
  readonly excluded: boolean;
  readonly count: number;
  readonly flows: readonly {
    readonly table: number;
    readonly tableName: string;
    readonly actions: string;
    readonly owner: { readonly kind: string; readonly id: string };
    readonly reason: string;
    readonly sentence: string;
  }[];
  readonly gaps: readonly { readonly reason: string; readonly sentence: string }[];
}

const call = (query = '', host = 'central-0', secret = viewer) =>
  world.call(secret, { url: `/api/v1/hosts/${host}/dataplane${query}` });
const fetchDataplane = async (query = '', host = 'central-0'): Promise<DataplaneAnswer> => {
  const answer = await call(query, host);
  expect(answer.statusCode).toBe(200);
  return answer.json<DataplaneAnswer>();
};

describe('the data plane of a host', () => {
  test('is-shown-flow-by-flow-with-owner-and-sentence', async () => {
    const { flows, count, gaps, excluded } = await fetchDataplane();
    expect({ excluded, gaps, count }).toEqual({ excluded: false, gaps: [], count: flows.length });
    expect(flows.find(({ reason }) => reason === 'nat-translate')).toMatchObject({
      table: 30,
      tableName: 'outbound',
      owner: { kind: 'service', id: 'nat:edge' },
      sentence: 'Translates outgoing packets.',
    });
    expect(flows.map(({ table }) => table)).toEqual(flows.map(({ table }) => table).sort((one, other) => one - other));
  });

  test('names-next-hops-by-address', async () => {
    const { flows } = await fetchDataplane('?owner=nat:edge');
    const leaving = flows.filter(({ reason }) => reason === 'nat-egress' || reason === 'floating-egress');
    expect(leaving).toHaveLength(2);
    for (const { actions } of leaving) expect(actions).toContain('set_field:next-hop(203.0.113.1)->eth_dst');
  });

  test('filters-by-table-owner-and-text', async () => {
    const all = await fetchDataplane();
    const byName = await fetchDataplane('?table=route');
    expect(byName.flows).toEqual(all.flows.filter(({ table }) => table === 15));
    expect((await fetchDataplane('?table=15')).flows).toEqual(byName.flows);
    expect((await fetchDataplane('?owner=router%2Fedge')).flows).toEqual((await fetchDataplane('?owner=edge')).flows);
    const port = await fetchDataplane('?owner=port/port-1');
    expect(new Set(port.flows.map(({ owner }) => owner.id))).toEqual(new Set(['port-1']));
    expect((await fetchDataplane('?text=203.0.113.3')).count).toBeGreaterThan(0);
    expect(await fetchDataplane('?text=nobody-says-this')).toMatchObject({ count: 0, flows: [] });
    expect(await fetchDataplane('?limit=2')).toMatchObject({ count: all.count, flows: all.flows.slice(0, 2) });
  });

  test('what-is-no-table-is-refused-by-name', async () => {
    const answer = await call('?table=nowhere');
    expect(answer.statusCode).toBe(400);
    expect(answer.json<{ detail: string }>().detail).toContain('table');
  });

  test('what-cannot-be-had-is-reported', async () => {
    const uplink = world.journal.fleet.get(SUBNET, idOf(SUBNET, 'uplink-v4'));
    if (uplink !== undefined) {
      const { gateway: _gateway, ...rest } = uplink.doc;
      await world.commit(put(SUBNET, uplink.id, rest));
    }
    const { gaps } = await fetchDataplane('?owner=nat:edge');
    expect(gaps.map(({ reason }) => reason)).toContain('no-next-hop');
    for (const { sentence } of gaps) expect(sentence).toMatch(/^service nat:edge: .*\.$/);
  });

  test('of-a-host-that-is-not-trusted-is-nothing', async () => {
    await world.commit(hostChange('central-0', { quarantined: { because: 'identity', atMs: 1 } }));
    expect(await fetchDataplane()).toMatchObject({ excluded: true, count: 0, flows: [], gaps: [] });
  });

  test('is-not-shown-to-other-sites-nor-of-hosts-that-are-not-there', async () => {
    const north = await world.token('viewer', { site: 'north' });
    expect((await call('', 'central-0', north)).statusCode).toBe(404);
    expect((await call('', 'nobody')).statusCode).toBe(404);
  });
});

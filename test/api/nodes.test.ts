// Lists of nodes, with their filters and pages; their figures; who sees what of both.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ALARM, alarmId } from '../../src/alarms/index.ts';
import { put } from '../../src/fleet/index.ts';
import { populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';
import { nodeChange } from './sample-nodes.ts';

let world: ApiTestServer;
let viewer: string;

const USED = { epoch: 1, dirty: true, managerEpoch: 1 } as const;

beforeAll(async () => {
  world = await startApiTestServer();
  viewer = await world.token('viewer');
  await populate(world);
  await world.commit(
    nodeChange('a1', { site: 'central', resourceClass: 'large', traits: ['CUSTOM_GPU'] }),
    nodeChange('a2', { site: 'central', resourceClass: 'small', power: 'unknown' }),
    nodeChange('a3', {
      site: 'north',
      resourceClass: 'large',
      state: 'active',
      ...USED,
      instance: 'i1',
      manager: 'm1',
    }),
    nodeChange('a4', { site: 'north', state: 'cleaning', ...USED, instance: 'i2', manager: 'm2' }),
    nodeChange('a5', { maintenance: { reason: 'fan', by: 'ann', atMs: 1 } }),
    nodeChange('a6', { state: 'removed', site: 'north' }),
  );
});
afterAll(() => world.close());

const idsOf = async (query: string, secret = viewer): Promise<string[]> =>
  (await world.call(secret, { url: `/api/v1/nodes${query}` }))
    .json<{ items: { id: string }[] }>()
    .items.map(({ id }) => id);

describe('a list of nodes', () => {
  test.each<[string, string[]]>([
    ['', ['a1', 'a2', 'a3', 'a4', 'a5']],
    ['?removed=true', ['a6']],
    ['?state=removed', ['a6']],
    ['?state=active', ['a3']],
    ['?bucket=free', ['a1']],
    ['?bucket=unavailable', ['a2', 'a5']],
    ['?resourceClass=large', ['a1', 'a3']],
    ['?resourceClass=large&site=north', ['a3']],
    ['?site=north', ['a3', 'a4']],
    ['?manager=m1', ['a3']],
    ['?instance=i2', ['a4']],
    ['?trait=CUSTOM_GPU', ['a1']],
    ['?power=unknown', ['a2']],
    ['?maintenance=true', ['a5']],
    ['?inventory=ironic', []],
    ['?sort=-resourceClass', ['a2', 'a3', 'a1', 'a5', 'a4']],
  ])('%s', async (query, ids) => {
    expect(await idsOf(query)).toEqual(ids);
  });

  test('page-by-page-it-is-the-whole', async () => {
    const all: string[] = [];
    for (let after = ''; ;) {
      const page = (await world.call(viewer, { url: `/api/v1/nodes?limit=2${after}` })).json<{
        items: { id: string }[];
        next?: string;
      }>();
      all.push(...page.items.map(({ id }) => id));
      if (page.next === undefined) break;
      after = `&after=${page.next}`;
    }
    expect(all).toEqual(['a1', 'a2', 'a3', 'a4', 'a5']);
  });

  test('a-caller-that-is-bound-to-a-site-sees-those-of-its-site', async () => {
    const bound = await world.token('viewer', { site: 'north' });
    expect(await idsOf('', bound)).toEqual(['a3', 'a4']);
    expect(await idsOf('?site=central', bound)).toEqual([]);
    expect((await world.call(bound, { url: '/api/v1/nodes/a1' })).statusCode).toBe(404);
  });
});

describe('capacity', () => {
  const capacityFor = async (secret: string, query = ''): Promise<Record<string, unknown>> =>
    (await world.call(secret, { url: `/api/v1/capacity${query}` })).json();

  test('the-figures-are-those-of-the-list', async () => {
    const buckets = { free: 1, reserved: 0, deploying: 0, active: 1, cleaning: 1, unavailable: 2 };
    expect(await capacityFor(viewer)).toMatchObject({ total: 5, buckets });
    for (const [bucket, count] of Object.entries(buckets))
      expect([bucket, (await idsOf(`?bucket=${bucket}`)).length]).toEqual([bucket, count]);
    expect(await capacityFor(viewer, '?site=north&resourceClass=large')).toMatchObject({
      total: 1,
      buckets: { active: 1 },
    });
  });

  test('a-caller-that-is-bound-to-a-site-is-told-of-its-site-alone', async () => {
    const bound = await world.token('viewer', { site: 'north' });
    const own = await capacityFor(bound);
    expect(own).toMatchObject({ total: 2, sites: [{ site: 'north', total: 2 }] });
    expect(JSON.stringify(own)).not.toContain('central');
    expect(await capacityFor(bound, '?site=central')).toMatchObject({ total: 0, sites: [], resourceClasses: [] });
  });

  test('an-inventory-that-does-not-answer-is-said', async () => {
    const reason = { code: 'inventory-unreachable', inventory: 'ironic' };
    await world.commit(put(ALARM, alarmId(reason.code, 'ironic'), { severity: 'warning', reason, sinceMs: 7 }));
    expect(await capacityFor(viewer)).toMatchObject({ stale: { inventories: ['ironic'], sinceMs: 7 } });
  });
});

test('a-scrape-counts-nodes-by-bucket', async () => {
  const { body } = await world.call(viewer, { url: '/metrics' });
  const counts = body.split('\n').filter((line) => line.startsWith('muster_nodes{'));
  expect(Object.fromEntries(counts.map((line) => line.split(' ')))).toEqual({
    'muster_nodes{bucket="free"}': '1',
    'muster_nodes{bucket="unavailable"}': '2',
    'muster_nodes{bucket="active"}': '1',
    'muster_nodes{bucket="cleaning"}': '1',
    'muster_nodes{bucket="removed"}': '1',
  });
});

test('a-site-with-nodes-is-not-deleted', async () => {
  const admin = await world.token('admin');
  await world.commit({ kind: 'site', id: 'far', doc: { name: 'far', changedBy: 'test', changedAtMs: 1 } });
  await world.commit(nodeChange('far-1', { site: 'far' }));
  const deletion = { method: 'DELETE', url: '/api/v1/sites/far' } as const;
  expect((await world.call(admin, deletion)).json()).toMatchObject({ status: 409, code: 'site-in-use', what: 'nodes' });
  await world.call(admin, { method: 'DELETE', url: '/api/v1/nodes/far-1' });
  expect((await world.call(admin, deletion)).statusCode).toBe(200);
});

// Lists: pages, filters, sorting, and what they cost.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idOf, put } from '../../src/fleet/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { ITEM, newOperation, OPERATION } from '../../src/operations/index.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let viewer: string;

const ZONES = ['z1', 'z2', 'z3'];

beforeAll(async () => {
  world = await startApiTestServer();
  await populate(world, 0);
  viewer = await world.token('viewer');
  const names = Array.from({ length: 250 }, (_, at) => `h${String((at * 37) % 250).padStart(3, '0')}`);
  const doc = (name: string, at: number) => ({
    site: at % 5 === 0 ? 'north' : 'central',
    zone: ZONES[at % 3] ?? '',
    ...(at % 10 === 0 && { disabled: { reason: 'r', by: 'b', atMs: 1 } }),
    aggregates: at % 4 === 0 ? ['gpu', 'fast'] : [],
    connection: { state: at % 7 === 0 ? ('down' as const) : ('up' as const), sinceMs: 1 },
    changedAtMs: (at * 13) % 50,
    name,
  });
  await world.commit(...names.map((name, at) => hostChange(name, doc(name, at))));
});
afterAll(() => world.close());

interface Shown {
  readonly id: string;
  readonly zone: string;
  readonly changedAtMs: number;
}

interface Page {
  readonly items: readonly Shown[];
  readonly next?: string;
  readonly revision: number;
}

async function all(query: string): Promise<{ readonly pages: number; readonly items: readonly Shown[] }> {
  const items: Shown[] = [];
  let after = '';
  for (let pages = 1; ; pages += 1) {
    const answer = await world.call(viewer, { url: `/api/v1/hosts?${query}${after}` });
    expect(answer.statusCode).toBe(200);
    const page = answer.json<Page>();
    items.push(...page.items);
    if (page.next === undefined) return { pages, items };
    after = `&after=${page.next}`;
  }
}

const everything = () => [...world.journal.fleet.all(HOST)];

describe('GET /api/v1/hosts', () => {
  test('pages through everything once, in id order, 100 at a time by default', async () => {
    const { pages, items } = await all('');
    expect(pages).toBe(3);
    expect(items.map((item) => item.id)).toEqual(everything().map((host) => host.id));
    expect((await all('limit=1000')).pages).toBe(1);
  });

  test.each([
    ['site=north', (at: number) => at % 5 === 0],
    ['zone=z2', (at: number) => at % 3 === 1],
    ['enabled=false', (at: number) => at % 10 === 0],
    ['aggregate=gpu', (at: number) => at % 4 === 0],
    ['connection=down', (at: number) => at % 7 === 0],
    ['site=north&zone=z1&enabled=true', (at: number) => at % 5 === 0 && at % 3 === 0 && at % 10 !== 0],
  ])('filters by %s', async (query, wanted) => {
    const expected = Array.from({ length: 250 }, (_, at) => at).filter(wanted);
    const { items } = await all(`limit=7&${query}`);
    expect(items).toHaveLength(expected.length);
    expect(items.map((item) => item.id)).toEqual(items.map((item) => item.id).sort());
  });

  test.each(['changedAtMs', '-changedAtMs', 'zone', '-zone', '-id', 'name'])('sorts by %s over pages', async (sort) => {
    const { items } = await all(`limit=30&sort=${sort}`);
    expect(new Set(items.map((item) => item.id)).size).toBe(250);
    const field = sort.replace('-', '') as 'zone' | 'changedAtMs' | 'id';
    const turn = sort.startsWith('-') ? -1 : 1;
    const ordered = [...items].sort((one, other) => {
      const by = one[field] < other[field] ? -1 : one[field] > other[field] ? 1 : one.id < other.id ? -1 : 1;
      return turn * by;
    });
    expect(items.map((item) => item.id)).toEqual(ordered.map((item) => item.id));
  });

  test('a page is not disturbed by what is added before it', async () => {
    const first = (await world.call(viewer, { url: '/api/v1/hosts?limit=10' })).json<Page>();
    await world.commit(hostChange('h0000-new'));
    const second = (await world.call(viewer, { url: `/api/v1/hosts?limit=10&after=${first.next}` })).json<Page>();
    expect(second.items[0]?.id).toBe('h010');
    expect(second.revision).toBe(first.revision + 1);
  });

  test('a-cursor-of-a-list-with-another-sort-or-filter-is-refused', async () => {
    const next = async (query: string): Promise<string> =>
      (await world.call(viewer, { url: `/api/v1/hosts?limit=2&${query}` })).json<Page>().next ?? '';
    const requestList = (query: string, after: string) =>
      world.call(viewer, { url: `/api/v1/hosts?limit=5&${query}&after=${after}` });
    for (const [first, second] of [
      ['sort=zone', 'sort=-zone'],
      ['sort=zone', 'sort=changedAtMs'],
      ['sort=zone', ''],
      ['', 'site=north'],
      ['site=north', 'site=central'],
      ['site=north&zone=z1', 'site=north'],
    ] as const) {
      const answer = await requestList(second, await next(first));
      expect(answer.json()).toMatchObject({ status: 422, code: 'cursor-of-another-list', field: '/after' });
    }
    expect((await requestList('zone=z1&site=north', await next('site=north&zone=z1'))).statusCode).toBe(200);
    expect((await requestList('sort=name', await next(''))).statusCode).toBe(200);
    // Of a server that is one version older.
    expect((await requestList('', '~5B~22h010~22~5D')).json<Page>().items[0]?.id).toBe('h011');
  });

  test.each([
    ['limit=0', 400, 'malformed-query'],
    ['limit=1001', 400, 'malformed-query'],
    ['after=%7Bnonsense', 422, 'bad-cursor'],
    ['sort=color', 400, 'malformed-query'],
    ['Site=north', 400, 'malformed-query'],
  ])('refuses ?%s by name', async (query, status, code) => {
    const answer = await world.call(viewer, { url: `/api/v1/hosts?${query}` });
    expect(answer.json()).toMatchObject({ status, code, field: `/${query.split('=')[0]}` });
  });

  test('suggests the parameter that was meant', async () => {
    const answer = await world.call(viewer, { url: '/api/v1/hosts?stat=active' });
    expect(answer.json<{ detail: string }>().detail).toContain('did you mean "state"');
  });
});

describe('GET /api/v1/operation-items', () => {
  test('what is under way for a resource: open items only, of every operation', async () => {
    const item = (key: string, id: string) => ({ key, target: { kind: 'host', id }, step: 'await-agent' });
    const request = { kind: 'host-join', title: 't', by: 'test', nowMs: 1, deadlineMs: 10 ** 12 };
    const one = newOperation({ ...request, id: idOf(OPERATION, 'op-1'), items: [item('a', 'h1'), item('b', 'h2')] });
    const other = newOperation({ ...request, id: idOf(OPERATION, 'op-2'), items: [item('c', 'h1')] });
    await world.commit(...one, ...other);
    const found = async (query: string): Promise<string[]> =>
      (await world.call(viewer, { url: `/api/v1/operation-items?${query}` })).json<Page>().items.map(({ id }) => id);
    expect(await found('target=host/h1')).toEqual(['op-1.a', 'op-2.c']);
    expect(await found('target=host/h1&operation=op-2')).toEqual(['op-2.c']);
    expect(await found('target=host/h1&sort=-id')).toEqual(['op-2.c', 'op-1.a']);
    expect(await found('target=site/h1')).toEqual([]);
    expect(await found('state=pending')).toEqual(['op-1.a', 'op-1.b', 'op-2.c']);
    const ended = { operation: 'op-2', target: { kind: 'host', id: 'h1' }, step: 'activate', attempt: 1, sinceMs: 2 };
    await world.commit(put(ITEM, idOf(ITEM, 'op-2.c'), { ...ended, state: 'done' }));
    expect(await found('target=host/h1')).toEqual(['op-1.a']);
  });

  test('refuses a target that is no resource', async () => {
    const answer = await world.call(viewer, { url: '/api/v1/operation-items?target=h1' });
    expect(answer.json()).toMatchObject({ status: 400, code: 'malformed-query', field: '/target' });
  });
});

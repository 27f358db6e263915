// What the HTTP surface of scale-in adds to the decisions behind it: forms of names, sites, roles, sentences, repetitions.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, put } from '../../src/fleet/index.ts';
import { HOST, type Host } from '../../src/hosts/index.ts';
import { TRANSPORT_ZONE } from '../../src/network/index.ts';
import { PENDING_CLEAN_UP, pendingId } from '../../src/hosts/scale-in/pending-clean-up.ts';
import { OPERATION } from '../../src/operations/index.ts';
import { sampleNetwork } from './sample-network.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let operator: string;
let viewer: string;
let north: string;

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  await world.commit(...sampleNetwork(), hostChange('central-0', { switch: IDENTITY }));
  operator = await world.token('operator');
  viewer = await world.token('viewer');
  north = await world.token('operator', { site: 'north' });
});
afterEach(() => world.close());

/** More than 53 bits. */
const IDENTITY = { datapathId: 'fffffffffffffffe', systemId: 'sys-0' };

const post = (secret: string, path: string, payload: object, headers: Record<string, string> = {}) =>
  world.call(secret, { method: 'POST', url: `/api/v1/${path}`, payload, headers });
const start = (hosts: readonly string[], more: object = {}, secret = operator) =>
  post(secret, 'scale-in/start', { hosts, ...more });

const hostOf = (name: string): Host | undefined => world.journal.fleet.get(HOST, idOf(HOST, name))?.doc;
const stateOf = (name: string): string | undefined => hostOf(name)?.state;

interface Preview {
  readonly plan: string;
  readonly hosts: readonly {
    readonly host: string;
    readonly tenants: readonly object[];
    readonly touches: { readonly tunnels: number; readonly byPeer: readonly { readonly host: string }[] };
  }[];
  readonly loads: { readonly busiest: readonly object[] };
}

const preview = async (hosts: readonly string[], secret = operator): Promise<Preview> =>
  (await post(secret, 'scale-in/preview', { hosts })).json<Preview>();

const blockedNow = async (secret = viewer, url = 'scale-in/blocked'): Promise<BlockedAnswer> =>
  (await world.call(secret, { method: 'GET', url: `/api/v1/${url}` })).json<BlockedAnswer>();

interface BlockedAnswer {
  readonly count: number;
  readonly blocked: readonly {
    readonly host: string;
    readonly kind: string;
    readonly id: string;
    readonly reason: { readonly code: string };
    readonly sentence: string;
  }[];
}

describe('what cannot leave a host that is being emptied', () => {
  test('each-instance-is-shown-with-what-it-lacks, without a move, to those who see its site', async () => {
    expect(await blockedNow()).toMatchObject({ count: 0, blocked: [] });
    await start(['central-0']);
    const blocked = await blockedNow();
    expect(blocked.blocked.filter(({ kind }) => kind === 'instance')).toMatchInlineSnapshot(`
      [
        {
          "host": "central-0",
          "id": "vm-1",
          "kind": "instance",
          "reason": {
            "code": "no-valid-host",
            "instance": "vm-1",
            "message": "No host fits instance vm-1 now. Site central has 3 hosts. 1 of 3 hosts: leaving. 2 of 2 hosts: with an agent that is too old: service version 3 is needed.",
          },
          "sentence": "No host fits instance vm-1 now. Site central has 3 hosts. 1 of 3 hosts: leaving. 2 of 2 hosts: with an agent that is too old: service version 3 is needed.",
        },
      ]
    `);
    expect(blocked.count).toBe(blocked.blocked.length);
    expect(await blockedNow(viewer, 'scale-in/blocked?limit=1')).toMatchObject({
      count: blocked.count,
      blocked: { length: 1 },
    });
    expect(await blockedNow(north)).toMatchObject({ count: 0, blocked: [] });
  });
});

describe('a preview', () => {
  test('shows-what-lives-there-and-changes-nothing', async () => {
    const before = world.journal.fleet.revision;
    const shown = await preview(['central-0']);
    expect(shown).toMatchObject({
      plan: /^[0-9a-f]{64}$/.exec(shown.plan)?.[0],
      hosts: [{ host: 'central-0', state: 'active', count: expect.any(Number) as number }],
      counts: { tenants: expect.any(Number) as number },
    });
    expect(shown.hosts[0]?.tenants).toContainEqual(expect.objectContaining({ kind: 'instance', id: 'vm-1' }));
    expect(world.journal.fleet.revision).toBe(before);
  });

  test('a-host-named-in-three-forms-is-one', async () => {
    const shown = await preview(['central-0', 'openflow:18446744073709551614', 'sys-0']);
    expect(shown.hosts.map(({ host }) => host)).toEqual(['central-0']);
    expect(shown.plan).toBe((await preview(['fffffffffffffffe'])).plan);
  });

  test('where-things-would-go-is-for-operators', async () => {
    const [mine, theirs] = [await preview(['central-0']), await preview(['central-0'], viewer)];
    expect(JSON.stringify(theirs)).not.toContain('"to":');
    expect(theirs.loads.busiest).toEqual([]);
    expect(theirs.plan).toBe(mine.plan);
  });

  test('peers-of-other-sites-are-neither-named-nor-counted', async () => {
    const end = (nth: number) => ({ tunnelAddress: `192.0.2.${nth}` });
    await world.commit(
      hostChange('north-0', { site: 'north', ...end(1) }),
      hostChange('north-1', { site: 'north', ...end(2) }),
      hostChange('central-1', end(3)),
      put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'), {
        name: 'default',
        mesh: 'full',
        changedBy: 'test',
        changedAtMs: 0,
      }),
    );
    const seen = async (secret: string): Promise<unknown> => {
      const { tunnels, byPeer } = (await preview(['north-0'], secret)).hosts[0]?.touches ?? { tunnels: 0, byPeer: [] };
      return [tunnels, byPeer.map(({ host }) => host)];
    };
    const [all, mine] = [await seen(operator), await seen(north)];
    expect(all).toEqual([expect.any(Number), expect.arrayContaining(['central-1', 'north-1'])]);
    expect(mine).toEqual([1, ['north-1']]);
  });

  test('lists-are-bounded-and-counted', async () => {
    const shown = (await post(operator, 'scale-in/preview', { hosts: ['central-0'], limit: 0 })).json<Preview>();
    expect(shown.hosts[0]?.tenants).toEqual([]);
    expect(shown).toMatchObject({ counts: { tenants: (await preview(['central-0'])).hosts[0]?.tenants.length } });
  });
});

describe('a start', () => {
  test('scale-in-2: marks-all-it-names-and-no-other', async () => {
    const answer = await start(['central-0', 'central-1'], { reason: 'rack 4' });
    expect(answer.statusCode).toBe(202);
    const { operation } = answer.json<{ operation: string }>();
    expect(answer.json()).toEqual({
      operation,
      hosts: [
        { host: 'central-0', result: 'accepted' },
        { host: 'central-1', result: 'accepted' },
      ],
    });
    expect(answer.headers.location).toBe(`/api/v1/operations/${operation}`);
    expect(['central-0', 'central-1', 'central-2'].map(stateOf)).toEqual(['draining', 'draining', 'active']);
    expect(hostOf('central-0')?.leaving).toMatchObject({ operation, drain: true, why: 'rack 4' });
    expect(world.journal.fleet.get(OPERATION, idOf(OPERATION, operation))?.doc).toMatchObject({ kind: 'scale-in' });
  });

  test('scale-in-4: an-unknown-name-is-refused-and-no-host-is-marked', async () => {
    const answer = await start(['central-0', 'nope', 'north-9']);
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({
      code: 'unknown-host',
      hosts: [
        { host: 'nope', result: 'unknown' },
        { host: 'north-9', result: 'unknown' },
      ],
    });
    expect(answer.json<{ hosts: { sentence: string }[] }>().hosts[0]?.sentence).toMatch(/nope/);
    expect(stateOf('central-0')).toBe('active');
  });

  test.each([[[]], [undefined], ['central-0'], [[7]], [['']]])(
    'scale-in-7: hosts-%j-is-a-client-error',
    async (hosts) => {
      for (const verb of ['preview', 'start', 'end', 'recover']) {
        const answer = await post(operator, `scale-in/${verb}`, { ...(hosts !== undefined && { hosts }) });
        expect(answer.statusCode).toBe(400);
      }
    },
  );

  test('scale-in-8: again-is-unchanged-with-the-same-operation', async () => {
    const first = (await start(['central-0'])).json<{ operation: string }>();
    const revision = world.journal.fleet.revision;
    const again = await start(['central-0', 'sys-0']);
    expect(again.statusCode).toBe(200);
    expect(again.json()).toEqual({
      operation: first.operation,
      hosts: [{ host: 'central-0', result: 'unchanged' }],
    });
    expect(world.journal.fleet.revision).toBe(revision);
  });

  test('the-same-key-is-the-same-operation-and-another-body-a-conflict', async () => {
    const key = { 'idempotency-key': 'k-1' };
    const first = await post(operator, 'scale-in/start', { hosts: ['central-0'] }, key);
    const again = await post(operator, 'scale-in/start', { hosts: ['central-0'] }, key);
    expect([again.statusCode, again.json()]).toEqual([202, first.json()]);
    const other = await post(operator, 'scale-in/start', { hosts: ['central-1'] }, key);
    expect(other.json()).toMatchObject({ status: 409, code: 'idempotency-key-reused' });
    expect(stateOf('central-1')).toBe('active');
  });

  test('scale-in-27: is-held-to-its-plan', async () => {
    const { plan } = await preview(['central-0', 'central-1']);
    const other = await start(['central-0'], { plan });
    expect(other.json()).toMatchObject({
      status: 409,
      code: 'plan-changed',
      differs: expect.arrayContaining(['hosts']) as string[],
    });
    expect(stateOf('central-0')).toBe('active');
    expect((await start(['central-1', 'central-0'], { plan })).statusCode).toBe(202);
  });

  test('a-plan-is-64-digits', async () => {
    expect((await start(['central-0'], { plan: 'yes' })).json()).toMatchObject({ status: 422, code: 'not-a-plan' });
  });

  test('hosts-of-other-sites-are-unknown-to-a-site-bound-token', async () => {
    const answer = await start(['north-0', 'central-0'], {}, north);
    expect(answer.json()).toMatchObject({ status: 404, hosts: [{ host: 'central-0', result: 'unknown' }] });
    expect((await start(['north-0'], {}, north)).statusCode).toBe(202);
  });
});

describe('end and recover', () => {
  test('scale-in-5: each-host-is-refused-with-its-own-reason', async () => {
    await start(['central-0']);
    const answer = await post(operator, 'scale-in/end', { hosts: ['central-0', 'central-2', 'x'] });
    expect(answer.statusCode).toBe(404);
    const { hosts } = answer.json<{
      hosts: { host: string; result: string; sentence: string; blockers?: object[] }[];
    }>();
    expect(hosts.map(({ host, result }) => [host, result])).toEqual([
      ['central-0', 'blocked'],
      ['central-2', 'wrong-state'],
      ['x', 'unknown'],
    ]);
    expect(hosts[0]?.blockers).toContainEqual(
      expect.objectContaining({ code: 'lives-here', tenant: 'vm-1', sentence: expect.any(String) as string }),
    );
    for (const { sentence } of hosts) expect(sentence).toMatch(/\.$/);
  });

  test('force-keeps-its-reason', async () => {
    await start(['central-0']);
    const answer = await post(operator, 'scale-in/end', { hosts: ['central-0'], force: { reason: 'burnt' } });
    expect(answer.statusCode).toBe(202);
    expect(hostOf('central-0')?.leaving?.forced).toMatchObject({ reason: 'burnt' });
    const bad = await post(operator, 'scale-in/end', { hosts: ['central-0'], force: {} });
    expect(bad.statusCode).toBe(400);
  });

  test('recover-reports-on-every-host-and-acts-on-those-it-can', async () => {
    await start(['central-0']);
    const answer = await post(operator, 'scale-in/recover', { hosts: ['central-0', 'x'] });
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toMatchObject({ hosts: [{ host: 'central-0', result: 'accepted' }, { result: 'unknown' }] });
    expect(stateOf('central-0')).toBe('recovering');
  });
});

interface Status {
  readonly count: number;
  readonly hosts: readonly { readonly host: string }[];
  readonly pendingCleanUpCount: number;
  readonly pendingCleanUps: readonly object[];
}

describe('the status', () => {
  const status = async (query = '', secret = operator): Promise<Status> =>
    (await world.call(secret, { url: `/api/v1/scale-in${query}` })).json();

  test('counts-all-peers-that-have-something-to-clean-though-it-shows-the-first-of-them', async () => {
    const peers = Array.from({ length: 1200 }, (_, nth) => `${nth < 100 ? 'north' : 'central'}-${nth}`);
    const pending = peers.map((peer) =>
      put(PENDING_CLEAN_UP, pendingId(peer, 'gone'), { peer, host: 'gone', sinceMs: 1 }),
    );
    await world.commit(...peers.map((peer) => hostChange(peer, { site: peer.split('-')[0] ?? '' })), ...pending);
    const all = await status();
    expect([all.pendingCleanUpCount, all.pendingCleanUps.length]).toEqual([1200, 1000]);
    const mine = await status('', north);
    expect([mine.pendingCleanUpCount, mine.pendingCleanUps.length]).toEqual([100, 100]);
  });

  test('shows-hosts-on-their-way-with-what-is-left', async () => {
    expect(await status()).toEqual({ count: 0, hosts: [], pendingCleanUpCount: 0, pendingCleanUps: [] });
    await start(['central-0', 'north-0'], { reason: 'rack 4' });
    expect(await status()).toMatchObject({
      count: 2,
      hosts: [
        { host: 'central-0', state: 'draining', drain: true, why: 'rack 4', left: { instances: 1 }, step: 'handover' },
        { host: 'north-0', left: { instances: 0 } },
      ],
    });
    expect(await status('?site=north')).toMatchObject({ count: 1, hosts: [{ host: 'north-0' }] });
    expect(await status('', north)).toMatchObject({ count: 1, hosts: [{ host: 'north-0' }] });
    expect(await status('?limit=1')).toMatchObject({ count: 2, hosts: [{ host: 'central-0' }] });
  });
});

describe('hosts that were removed', () => {
  beforeEach(() => world.commit(hostChange('gone', { state: 'removed', switch: { systemId: 'old' } })));

  const names = async (query: string): Promise<string[]> => {
    const listed = await world.call(operator, { url: `/api/v1/hosts${query}` });
    return listed.json<{ items: { name: string }[] }>().items.map(({ name }) => name);
  };

  test.each([
    ['are-not-listed', '', false],
    ['are-listed-with-all', '?all=true', true],
    ['are-listed-by-their-state', '?state=removed', true],
    ['are-listed-when-asked-for', '?removed=true', true],
    ['are-not-listed-in-another-order', '?sort=-name', false],
  ])('%s', async (_name, query, shown) => {
    expect((await names(query)).includes('gone')).toBe(shown);
  });

  test('come-back-by-scale-out-and-not-by-re-admission', async () => {
    const refused = await post(operator, 'hosts/gone/re-admit', { reason: 'x' });
    expect(refused.json()).toMatchObject({ status: 409, code: 'host-removed' });
    const answer = await post(operator, 'scale-out', { hosts: [{ name: 'gone' }, { name: 'fresh' }], rebalance: true });
    expect(answer.statusCode).toBe(202);
    expect(answer.json()).toMatchObject({ count: 2 });
    expect([stateOf('gone'), stateOf('fresh')]).toEqual(['joining', 'joining']);
  });

  test('a-host-in-service-refuses-the-whole-scale-out', async () => {
    const answer = await post(operator, 'scale-out', { hosts: [{ name: 'fresh' }, { name: 'central-0' }] });
    expect(answer.json()).toMatchObject({ status: 409, code: 'host-exists', hosts: ['central-0'] });
    expect(stateOf('fresh')).toBeUndefined();
  });
});

test('a-quarantine-ends-by-an-operators-word', async () => {
  await world.commit(hostChange('central-1', { quarantined: { because: 'operator-fenced', atMs: 1 } }));
  expect((await world.call(operator, { url: '/api/v1/hosts?quarantined=true' })).json()).toMatchObject({
    items: [{ name: 'central-1' }],
  });
  const answer = await post(operator, 'hosts/central-1/re-admit', { reason: 'reinstalled' });
  expect(answer.statusCode).toBe(200);
  expect(hostOf('central-1')).not.toHaveProperty('quarantined');
});

test('a-transport-zone-is-set-and-taken-away', async () => {
  const edit = (transportZone: string | null) =>
    world.call(operator, { method: 'PATCH', url: '/api/v1/hosts/central-1', payload: { transportZone } });
  expect((await edit('edge')).json()).toMatchObject({ transportZone: 'edge' });
  expect((await edit(null)).json()).not.toHaveProperty('transportZone');
});

describe('a removed host of another site', () => {
  test.each([
    ['hosts', {}],
    ['scale-out', { rebalance: true }],
  ] as const)('is-not-let-in-again-by-a-token-that-is-bound-to-one (%s)', async (path, more) => {
    await world.commit(
      hostChange('central-0', { state: 'removed' }),
      hostChange('north-0', { site: 'north', state: 'removed' }),
    );
    const hosts = [{ name: 'central-0' }, { name: 'north-0' }, { name: 'new' }];
    const refused = await post(north, path, { hosts, ...more });
    expect(refused.json()).toMatchObject({ status: 409, code: 'name-unavailable', field: '/hosts/0/name' });
    expect([stateOf('central-0'), stateOf('north-0'), stateOf('new')]).toEqual(['removed', 'removed', undefined]);
    expect((await post(north, path, { hosts: hosts.slice(1), ...more })).statusCode).toBe(202);
    // A caller who may write all sites may bring it in where it is now.
    const moved = [{ name: 'central-0', site: 'north' }];
    expect((await post(operator, path, { hosts: moved, ...more })).statusCode).toBe(202);
    expect(hostOf('central-0')).toMatchObject({ site: 'north', state: 'joining' });
  });
});

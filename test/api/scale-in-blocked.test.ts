// What blocks one host is listed for that host, however much blocks others: over the API and by `muster scale-in status HOST`.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf, put, type Change } from '../../src/fleet/index.ts';
import { INSTANCE } from '../../src/instances/index.ts';
import { CLAIM, claimId } from '../../src/network/index.ts';
import type { BlockedTenants, ScaleInStatus } from '../../src/cli/client/representations.ts';
import { run, type Ended } from '../cli/muster.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';
import { sampleNetwork } from './sample-network.ts';

let world: ApiTestServer;
let operator: string;
let north: string;

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  await world.commit(...sampleNetwork(), hostChange('central-1', { switch: { systemId: 'sys-1' } }));
  operator = await world.token('operator');
  north = await world.token('operator', { site: 'north' });
});
afterEach(() => world.close());

/** More than any host has. */
const AMOUNTS = { vcpus: 40, memoryMiB: 1, diskGiB: 0 };
/** As many as the server lists, and one more than that with `vm-1`, which is there already. */
const MANY = 1000;

/** An instance without NICs that runs on the host. */
function resident(name: string, host: string): Change[] {
  return [
    put(INSTANCE, idOf(INSTANCE, name), {
      name,
      project: 'default',
      flavor: 'small',
      amounts: AMOUNTS,
      place: { site: 'central' },
      state: 'active',
      host,
      nics: [],
      path: { create: 'conductor', bind: 'conductor' },
      attempts: [],
      attemptsMax: 3,
      wasActive: true,
      createdBy: 'test',
      createdAtMs: 1,
      changedBy: 'test',
      changedAtMs: 1,
    }),
    put(CLAIM, claimId(name, 'home'), {
      instance: name,
      role: 'home',
      host,
      ...AMOUNTS,
      addresses: [],
      sinceMs: 1,
    }),
  ];
}

async function fillHosts(): Promise<void> {
  await world.commit(
    ...Array.from({ length: MANY }, (_, nth) => resident(`many-${nth}`, 'central-0')).flat(),
    ...resident('single', 'central-1'),
  );
}

const start = async (hosts: readonly string[], more: object = {}): Promise<void> => {
  const payload = { hosts, ...more };
  const answer = await world.call(operator, { method: 'POST', url: '/api/v1/scale-in/start', payload });
  expect(answer.statusCode).toBe(202);
};

const get = (path: string, secret = operator) => world.call(secret, { method: 'GET', url: `/api/v1/${path}` });
const blocked = async (query: string): Promise<BlockedTenants> =>
  (await get(`scale-in/blocked?${query}`)).json<BlockedTenants>();

describe('what blocks one host', () => {
  test('is-listed-with-its-reason-behind-a-thousand-of-another', async () => {
    await fillHosts();
    await start(['central-0', 'central-1']);
    const all = await blocked('limit=1000');
    expect(all.count).toBeGreaterThan(MANY);
    expect(all.blocked.map(({ id }) => id)).not.toContain('single');
    const one = await blocked('host=central-1&limit=1000');
    expect(one).toMatchObject({ count: 1, blocked: [{ host: 'central-1', kind: 'instance', id: 'single' }] });
    // Its own reasons: a limit that others have used up leaves it without them.
    expect((await blocked('host=central-1&limit=1')).blocked).toEqual(one.blocked);
    expect(one.blocked[0]?.sentence).toBe(
      'No host fits instance single now. Site central has 3 hosts. 2 of 3 hosts: leaving. 1 of 1 host: too few vcpus left: 40 requested, 32 at most.',
    );
  });

  test('is-found-by-any-id-of-the-host', async () => {
    await world.commit(...resident('single', 'central-1'));
    await start(['central-1']);
    expect(await blocked('host=sys-1')).toMatchObject({ count: 1, blocked: [{ host: 'central-1', id: 'single' }] });
  });

  test.each(['scale-in/blocked', 'scale-in'])(
    'of-another-site-is-as-unknown-as-a-host-that-is-not-there %s',
    async (path) => {
      await start(['central-0']);
      const [foreign, none] = [await get(`${path}?host=central-0`, north), await get(`${path}?host=nope`, north)];
      expect([foreign.statusCode, foreign.json<object>()]).toMatchObject([
        404,
        { code: 'unknown-host', host: 'central-0' },
      ]);
      expect(none.json()).toMatchObject({ status: 404, code: 'unknown-host', host: 'nope' });
      expect((await get(`${path}?host=central-0`)).statusCode).toBe(200);
    },
  );

  test('is-its-services-alone-while-instances-are-left-to-the-operator', async () => {
    await world.commit(...resident('single', 'central-0'));
    await start(['central-0'], { drain: false });
    const { blocked: those } = await blocked('host=central-0');
    expect(those.map(({ kind }) => kind)).not.toContain('instance');
    const { out } = await status('central-0');
    expect(out).toContain(
      'Instances are not moved off central-0: it was started with --no-drain. "muster hosts tenants central-0" shows',
    );
  });
});

async function status(...names: readonly string[]): Promise<Ended> {
  const address = await world.server.app.listen({ host: '127.0.0.1', port: 0 });
  return run(['--server', address, '--token', operator, 'scale-in', 'status', ...names]);
}

describe('muster scale-in status HOST', () => {
  test('lists-what-blocks-it-behind-a-thousand-of-another', async () => {
    await fillHosts();
    await start(['central-0', 'central-1']);
    const { out } = await status('sys-1');
    expect(out).toContain(
      'No place to go (1):\n  central-1 instance single: No host fits instance single now. Site central',
    );
    expect(out).not.toContain('central-0');
  });

  test('says-what-it-cut', async () => {
    await fillHosts();
    await start(['central-0', 'central-1']);
    const { out } = await status();
    const [, inAll] = /No place to go \((\d+)\):/.exec(out) ?? [];
    expect(Number(inAll)).toBeGreaterThan(MANY + 1);
    expect(out).toContain(
      `  and ${Number(inAll) - MANY} more, not listed. "muster scale-in status HOST" lists those of one host.\n`,
    );
  });

  test('finds-its-host-behind-a-thousand-others-on-their-way', async () => {
    const others = Array.from({ length: 1000 }, (_, nth) =>
      hostChange(`a-${nth}`, { site: 'north', state: 'drained' }),
    );
    await world.commit(...others, hostChange('z-last', { site: 'north', state: 'drained' }));
    const all = (await get('scale-in')).json<ScaleInStatus>();
    expect(all.hosts.map(({ host }) => host)).not.toContain('z-last');
    expect((await get('scale-in?host=z-last')).json()).toMatchObject({ count: 1, hosts: [{ host: 'z-last' }] });
    expect((await status('z-last')).out).toMatch(/^HOST .*\nz-last +drained /);
  });

  test('of-a-host-in-service-says-nothing-of-others', async () => {
    await start(['central-0']);
    expect(await status('central-2')).toMatchObject({
      code: 0,
      out: '',
      err: 'None of them is on its way out of service or back.\n',
    });
  });
});

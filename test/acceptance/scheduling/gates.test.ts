// Hosts of several versions: the old path until all support the new one, the new path from then on, and back. No port is ever created twice, and none is
// lost.
import { describe, expect, test } from 'vitest';
import { ALARM } from '../../../src/alarms/index.ts';
import { idOf, put } from '../../../src/fleet/index.ts';
import { clearForceDown, CURRENT_SERVICE_VERSION, forceDownHost, HOST, type Host } from '../../../src/hosts/index.ts';
import { gatesOf, INSTANCE } from '../../../src/instances/index.ts';
import { PORT } from '../../../src/network/index.ts';
import { BOTH, startFixtureF, type FixtureF } from '../reference-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

const ALL = ['h1', 'h2', 'h3', 'h4', 'h5'];
const OLD_PATH = { create: 'host', bind: 'host' };
const EARLY_CREATE = { create: 'conductor', bind: 'host' };
const NEW_PATH = { create: 'conductor', bind: 'conductor' };

function allOf(version: number): NonNullable<FixtureF['hosts']> {
  return {
    h1: { version },
    h2: { version, segments: ['seg0'] },
    h3: { version, segments: ['seg2'] },
    h4: { version, segments: ['seg0'] },
    h5: { version, segments: ['seg0', 'seg2'] },
  };
}

async function forceDown(world: AcceptanceWorld, id: string): Promise<void> {
  await world.commit((fleet) => forceDownHost(fleet, { id, reason: 'off', by: 'ann', nowMs: world.nowMs }));
}

/** As scale-in does it, one state after the other. */
async function removeHost(world: AcceptanceWorld, id: string): Promise<void> {
  await world.agents.stop(id);
  const leaving = { operation: 'op-leaves', drain: true, by: 'ann', atMs: world.nowMs };
  for (const state of ['draining', 'drained', 'finalizing'] as const) {
    const doc: Host = { ...world.host(id), state, leaving };
    await world.put(put(HOST, idOf(HOST, id), doc));
  }
  const { leaving: _, ...doc } = world.host(id);
  await world.put(put(HOST, idOf(HOST, id), { ...doc, state: 'removed' }));
}

/** Another version of the agent is installed on hosts, and has reported. */
async function install(world: AcceptanceWorld, version: number, ...hosts: readonly string[]): Promise<void> {
  for (const host of hosts) await world.agents.restart(host, { serviceVersion: version });
  await world.until('they reported', () => hosts.every((host) => world.host(host).serviceVersion === version));
}

function gates(world: AcceptanceWorld): string {
  const { minimumVersion, create, bind } = gatesOf(world.fleet);
  const gate = ({ open, below }: { open: boolean; below: number }): string => (open ? 'open' : `closed by ${below}`);
  return `${minimumVersion}: create ${gate(create)}, bind ${gate(bind)}`;
}

async function deleteAll(world: AcceptanceWorld): Promise<void> {
  await world.remove(...world.all(INSTANCE).map(({ id }) => id));
  await world.settle();
}

describe.each(BOTH)('%s', (backEnd) => {
  test('scheduling-31 one old host keeps the old path, until it is forced down or removed', async () => {
    const world = await startFixtureF({ backEnd, hosts: { h1: { version: 1 } } });
    expect(gates(world)).toBe('1: create closed by 1, bind closed by 1');
    const old = await world.boot({ name: 'old' });
    expect(old).toMatchObject({ state: 'active', host: 'h2', path: OLD_PATH });
    expect(world.performedTasks.at(-1)?.args).toMatchObject({ network: 'allocate' });
    await forceDown(world, 'h1');
    expect(gates(world)).toBe('6: create open, bind open');
    const young = await world.boot({ name: 'young' });
    expect(young).toMatchObject({ state: 'active', host: 'h2', path: NEW_PATH });
    expect(world.performedTasks.at(-1)?.args).toMatchObject({ network: 'ready' });
    // The force-down is cleared: it may return unchanged.
    await world.commit((fleet) => clearForceDown(fleet, { id: 'h1', by: 'ann', nowMs: world.nowMs }));
    expect(gates(world)).toBe('1: create closed by 1, bind closed by 1');
    expect(await world.boot({ name: 'again' })).toMatchObject({ state: 'active', path: OLD_PATH });
    await removeHost(world, 'h1');
    expect(gates(world)).toBe(`${CURRENT_SERVICE_VERSION}: create open, bind open`);
    expect(await world.boot({ name: 'last' })).toMatchObject({ state: 'active', path: NEW_PATH });
    if (backEnd === 'embedded') return;
    expect(world.calls('old')).toEqual(['host create old-p0@h2 applied', 'host bind old-p0@h2 applied']);
    expect(world.calls('young')).toEqual(['conductor create young-p0 applied', 'conductor bind young-p0@h2 applied']);
    expect(world.calls('again').every((call) => call.startsWith('host'))).toBe(true);
    expect(world.calls('last').every((call) => call.startsWith('conductor'))).toBe(true);
  });

  test('scheduling-32 an old host that is merely down keeps the old path', async () => {
    const world = await startFixtureF({ backEnd, hosts: { h1: { version: 1 } } });
    await world.agents.stop('h1');
    await world.until('it is down', () => world.host('h1').connection.state === 'down');
    expect(gates(world)).toBe('1: create closed by 1, bind closed by 1');
    expect(await world.boot()).toMatchObject({ state: 'active', host: 'h2', path: OLD_PATH });
    // It comes back with the newest agent: the new path, without a restart of anything else.
    await install(world, 3, 'h1');
    expect(gates(world)).toBe('3: create open, bind open');
    expect(await world.boot({ name: 'next' })).toMatchObject({ state: 'active', path: NEW_PATH });
    await install(world, 1, 'h1');
    expect(gates(world)).toBe('1: create closed by 1, bind closed by 1');
    expect(await world.boot({ name: 'then' })).toMatchObject({ state: 'active', path: OLD_PATH });
  });

  test('scheduling-33 hosts that support created ports bind them, and create none', async () => {
    const world = await startFixtureF({ backEnd, hosts: allOf(2) });
    expect(gates(world)).toBe('2: create open, bind closed by 5');
    const web = await world.boot();
    expect(web).toMatchObject({ state: 'active', path: EARLY_CREATE });
    expect(world.performedTasks[0]?.args).toMatchObject({ network: 'bind' });
    expect(world.all(PORT).map(({ id }) => id)).toEqual(['web-p0']);
    expect(world.port('web-p0').binding?.host).toBe(web.host);
    expect(world.port('web-p0').addresses).toHaveLength(1);
    expect(world.claim('web')?.addresses).toEqual([]);
    if (backEnd === 'simulated')
      expect(world.calls()).toEqual(['conductor create web-p0 applied', `host bind web-p0@${web.host} applied`]);
    // The other direction: all support more, and then one supports less.
    await install(world, 3, ...ALL);
    expect(await world.boot({ name: 'young' })).toMatchObject({ state: 'active', path: NEW_PATH });
    await install(world, 2, 'h1');
    expect(await world.boot({ name: 'again' })).toMatchObject({ state: 'active', path: EARLY_CREATE });
    await install(world, 1, 'h1');
    expect(await world.boot({ name: 'old' })).toMatchObject({ state: 'active', path: OLD_PATH });
    await deleteAll(world);
    expect(world.all(PORT)).toEqual([]);
  });
});

test('scheduling-34 without credentials the old path runs, and one warning says so', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.credentials = false;
  const names = Array.from({ length: 100 }, (_, nth) => `web-${nth}`);
  await Promise.all(names.map((name) => world.create({ name })));
  await world.settle();
  for (const name of names) expect(world.instance(name)).toMatchObject({ state: 'active', path: OLD_PATH });
  expect(world.calls().every((call) => call.startsWith('host'))).toBe(true);
  expect(world.calls()).toHaveLength(200);
  const alarms = world.all(ALARM).map(({ doc }) => doc);
  expect(alarms).toMatchObject([{ severity: 'warning', reason: { code: 'network-credentials-missing' } }]);
  expect(world.documentVersions.filter(({ kind }) => kind === 'alarm')).toHaveLength(1);
  // They are there: the new path, and the warning is cleared.
  world.credentials = true;
  expect(await world.boot({ name: 'next' })).toMatchObject({ state: 'active', path: NEW_PATH });
  expect(world.all(ALARM)).toEqual([]);
});

test('scheduling-34 the warning clears itself when the credentials are there, also at the next server', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.credentials = false;
  await world.boot({ name: 'web-1' });
  await world.clock.pass(60_000);
  expect(world.all(ALARM)).toHaveLength(1);
  world.credentials = true;
  await world.until('the warning is gone', () => world.all(ALARM).length === 0);
  world.credentials = false;
  await world.boot({ name: 'web-2' });
  expect(world.all(ALARM)).toHaveLength(1);
  world.credentials = true;
  await world.restart();
  await world.until('the warning is gone again', () => world.all(ALARM).length === 0);
});

test('scheduling-34 a network that needs no credentials raises no warning', async () => {
  const world = await startFixtureF();
  world.credentials = false;
  expect(await world.boot()).toMatchObject({ state: 'active', path: NEW_PATH });
  expect(world.all(ALARM)).toEqual([]);
});

describe('switching over', () => {
  test.each([
    [1, 3, ALL],
    [1, 2, ALL],
    [2, 3, ALL],
    [3, 1, ['h2', 'h1']],
    [3, 2, ['h2', 'h1']],
    [2, 1, ['h2', 'h1']],
  ])('a build that is open while hosts change from version %i to %i creates its port once', async (from, to, hosts) => {
    const world = await startFixtureF({ backEnd: 'simulated', hosts: allOf(from), machine: { delayMs: 3000 } });
    await world.userPort('mine', 'n');
    await world.create({ networks: [{ network: 'n' }, { port: 'mine' }] });
    const { path } = world.instance('web');
    await world.until('a host is asked', () => world.performedTasks.length > 0);
    await install(world, to, ...hosts);
    await world.settle();
    // Whatever the result of the first try, the build kept its path, and no second port was created.
    expect(world.instance('web')).toMatchObject({ state: 'active', path });
    const creates = world.calls().filter((call) => call.includes('create'));
    expect(creates.filter((call) => call.endsWith('applied'))).toHaveLength(1);
    expect(world.all(PORT).map(({ id }) => id)).toEqual(['mine', 'web-p0']);
    await deleteAll(world);
    expect(world.all(PORT).map(({ id }) => id)).toEqual(['mine']);
    expect(world.network.port('web-p0')).toBeUndefined();
    expect(world.network.port('mine')).toMatchObject({ instance: undefined, binding: undefined });
    expect(ALL.flatMap((host) => world.runs(host))).toEqual([]);
  });

  test('a build that finds all hosts old by then fails and leaves nothing', async () => {
    const world = await startFixtureF({ backEnd: 'simulated', machine: { delayMs: 3000 } });
    await world.create();
    await world.until('a host is asked', () => world.performedTasks.length > 0);
    await install(world, 1, ...ALL);
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'error', fault: { code: 'no-valid-host' } });
    expect(world.instance('web').attempts).toMatchObject([{ host: 'h2', fault: 'unsupported' }]);
    expect(world.instance('web').fault?.message).toContain('service version 3 is needed');
    expect(world.all(PORT)).toEqual([]);
    expect(world.network.port('web-p0')).toBeUndefined();
    expect(ALL.flatMap((host) => world.runs(host))).toEqual([]);
  });

  test.each(BOTH)('a retry on the old path goes on with the same port (%s)', async (backEnd) => {
    const world = await startFixtureF({ backEnd, hosts: { h1: { version: 1 } } });
    world.arm({ op: 'spawn', host: 'h2', outcome: 'spawn-failed' });
    const web = await world.boot();
    expect(web).toMatchObject({ state: 'active', host: 'h3', path: OLD_PATH, nics: [{ port: 'web-p0' }] });
    expect(new Set(world.versionsOf('port', 'web-p0').map((port) => port?.['mac'])).size).toBe(1);
    expect(world.addresses('web')).toMatchObject([expect.stringMatching(/^10\.2\./)]);
    expect(world.free('segment:seg0')).toBe(253);
    if (backEnd === 'embedded') return;
    expect(world.calls()).toEqual([
      'host create web-p0@h2 applied',
      'host bind web-p0@h2 applied',
      'host create web-p0@h3 already',
      'host bind web-p0@h3 applied',
    ]);
  });

  test('an old host deletes ports that Muster created and keeps users’ ports', async () => {
    const world = await startFixtureF({ backEnd: 'simulated', hosts: allOf(1) });
    await world.userPort('mine', 'n');
    const web = await world.boot({ networks: [{ network: 'n' }, { port: 'mine' }] });
    expect(web).toMatchObject({ state: 'active', path: OLD_PATH });
    expect(world.port('web-p0')).toMatchObject({ createdBy: 'muster' });
    const before = world.calls().length;
    await deleteAll(world);
    expect(world.calls().slice(before)).toEqual([
      'host delete web-p0 applied',
      'host unbind mine applied',
      'conductor delete web-p0 already',
      'conductor unbind mine applied',
    ]);
    expect(world.all(PORT).map(({ id }) => id)).toEqual(['mine']);
    expect(world.port('mine')).not.toHaveProperty('instance');
  });

  test('without credentials hosts retry, fail and delete by themselves, and nothing is left', async () => {
    const world = await startFixtureF({ backEnd: 'simulated' });
    world.credentials = false;
    await world.userPort('mine', 'n');
    world.arm({ op: 'spawn', host: 'h2', outcome: 'spawn-failed' });
    const networks = [{ network: 'n' }, { port: 'mine' }];
    expect(await world.boot({ networks })).toMatchObject({ state: 'active', host: 'h3', path: OLD_PATH });
    await deleteAll(world);
    expect(world.all(PORT).map(({ id }) => id)).toEqual(['mine']);
    for (const host of ALL) world.arm({ op: 'spawn', host, outcome: 'spawn-failed' });
    expect(await world.boot({ name: 'next', networks })).toMatchObject({ state: 'error', nics: [] });
    expect(world.all(PORT).map(({ id }) => id)).toEqual(['mine']);
    expect(world.network.port('next-p0')).toBeUndefined();
    expect(world.network.port('mine')?.instance).toBeUndefined();
    expect(world.calls().every((call) => call.startsWith('host'))).toBe(true);
  });

  test.each(['nothing', 'a move', 'a rebuild', 'the shelf'])(
    'an instance of the old path does without the network on its hosts once they are new: after %s it is deleted with its port',
    async (what) => {
      const world = await startFixtureF({ backEnd: 'simulated', hosts: allOf(1) });
      const { host = '' } = await world.boot();
      const addresses = world.addresses('web');
      await install(world, 3, ...ALL);
      world.hostsHaveCredentials = false;
      if (what === 'a move') await world.move('web');
      if (what === 'a rebuild') {
        await world.agents.stop(host);
        await forceDown(world, host);
        await world.rebuild('web');
      }
      if (what === 'the shelf') {
        await world.shelve('web');
        await world.settle();
        await world.unshelve('web');
      }
      await world.settle();
      expect(world.instance('web')).toMatchObject({ state: 'active' });
      expect(world.addresses('web')).toEqual(addresses);
      expect(world.port('web-p0').binding?.host).toBe(world.instance('web').host);
      await deleteAll(world);
      expect(world.all(PORT)).toEqual([]);
      expect(world.network.port('web-p0')).toBeUndefined();
    },
  );

  test('ports that were created on the new path are deleted although their host has become old', async () => {
    const world = await startFixtureF({ backEnd: 'simulated' });
    await world.boot();
    await install(world, 1, ...ALL);
    const before = world.calls().length;
    await deleteAll(world);
    expect(world.calls().slice(before)).toEqual(['conductor delete web-p0 applied']);
    expect(world.all(PORT)).toEqual([]);
  });
});

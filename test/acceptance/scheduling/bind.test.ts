// Binding: who does it, the orders to the back end, and the handling of a failure.
import { expect, test } from 'vitest';
import { idOf, put } from '../../../src/fleet/index.ts';
import { HOST } from '../../../src/hosts/index.ts';
import { BOTH, startFixtureF } from '../reference-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

/** The host reports that it has left all physical networks. */
function unmap(world: AcceptanceWorld, host: string): Promise<void> {
  return world.put(put(HOST, idOf(HOST, host), { ...world.host(host), physicalNetworks: [] }));
}

/** Acts in the same group of commits in which an instance is placed: after the claim, before anything reacts. */
function rightAfterClaim(world: AcceptanceWorld, act: () => Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = world.onCommit((applied) => {
      const scheduled = applied.some(({ kind, after }) => kind === 'item' && stepOf(after?.doc) === 'schedule');
      if (!scheduled) return;
      stop();
      void microtasks(30).then(act).then(resolve, reject);
    });
  });
}

function stepOf(doc: object | undefined): unknown {
  return (doc as Readonly<Record<string, unknown>> | undefined)?.['step'];
}

/** The journal takes every decision into one group that is submitted before it writes to the store. */
async function microtasks(count: number): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) await Promise.resolve();
}

test('scheduling-11 a host that is unmapped after the claim is excluded when it comes to binding (simulated)', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  const unmapped = rightAfterClaim(world, () => unmap(world, 'h2'));
  const web = await world.boot();
  await unmapped;
  expect(web.attempts[0]).toMatchObject({ host: 'h2', fault: 'mapping-gone', excludes: 'host' });
  expect(web).toMatchObject({ state: 'active', host: 'h3' });
  expect(world.tasks()).toEqual(['build web on h3']);
  expect(world.calls().filter((call) => call.includes('bind web-p0@h2'))).toEqual([]);
});

test('scheduling-11 a back end without a mapping excludes the host (simulated)', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.arm({ op: 'bind', host: 'h2', outcome: 'mapping-gone' });
  const web = await world.boot();
  expect(web.attempts[0]).toMatchObject({ host: 'h2', fault: 'mapping-gone', excludes: 'host' });
  expect(web).toMatchObject({ state: 'active', host: 'h3' });
});

test('scheduling-11 a host that is unmapped while it builds is excluded when its ports are bound (embedded)', async () => {
  const old = { version: 2 };
  const world = await startFixtureF({
    hosts: { h1: old, h2: old, h3: old, h4: old, h5: old },
    machine: { delayMs: 1000 },
  });
  await world.create();
  expect(world.claim('web')).toMatchObject({ host: 'h2', addresses: [{ pool: 'segment:seg0', version: 4, count: 1 }] });
  await unmap(world, 'h2');
  await world.settle();
  const web = world.instance('web');
  expect(web.attempts[0]).toMatchObject({ host: 'h2', fault: 'mapping-gone', excludes: 'host' });
  expect(web).toMatchObject({ state: 'active', host: 'h3' });
  expect(world.copies('web')).toEqual(['h3']);
});

test('scheduling-12 a binding that failed with a success counts as a failed attempt', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.arm({ op: 'bind', host: 'h2', outcome: 'binding-failed' });
  const web = await world.boot();
  expect(web.attempts).toMatchObject([
    { nth: 1, host: 'h2', fault: 'binding-failed', excludes: 'host' },
    { nth: 2, host: 'h3' },
  ]);
  expect(web).toMatchObject({ state: 'active', host: 'h3' });
});

test('scheduling-15 a host that gets its ports bound makes no call', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  await world.boot({ networks: [{ network: 'n' }, { network: 'n' }] });
  expect(world.instance('web').state).toBe('active');
  expect(world.calls()).toEqual([
    'conductor create web-p0+web-p1 applied',
    'conductor bind web-p0@h2 applied',
    'conductor bind web-p1@h2 applied',
  ]);
  expect(world.performedTasks[0]?.args).toMatchObject({ network: 'ready' });
});

test('scheduling-15 a host that gets its ports bound needs no access to the network', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.hostsHaveCredentials = false;
  expect(await world.boot()).toMatchObject({ state: 'active', host: 'h2' });
  await world.move('web');
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
  await world.remove('web');
  await world.settle();
  expect(world.hasInstance('web')).toBe(false);
  expect(world.calls().filter((call) => call.startsWith('host'))).toEqual([]);
});

test('scheduling-16 a failed bind goes on elsewhere with the same port and MAC', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.arm({ op: 'bind', host: 'h2', outcome: 'binding-failed' });
  const web = await world.boot();
  expect(web).toMatchObject({ state: 'active', host: 'h3', nics: [{ port: 'web-p0' }] });
  const macs = world.versionsOf('port', 'web-p0').map((port) => port?.['mac']);
  expect(new Set(macs).size).toBe(1);
  expect(world.network.port('web-p0')?.mac).toBe(macs[0]);
  // No task was sent to the first host, and its port was created once.
  expect(world.tasks()).toEqual(['build web on h3']);
  expect(world.calls()).toEqual([
    'conductor create web-p0 applied',
    'conductor bind web-p0@h2 binding-failed',
    'conductor unbind web-p0 applied',
    'conductor bind web-p0@h3 applied',
  ]);
});

test('scheduling-17 a segment whose pool is empty at bind is skipped, and every NIC is bound again', async () => {
  const pool0 = [{ first: '10.0.0.10', last: '10.0.0.10' }];
  const world = await startFixtureF({ backEnd: 'simulated', pool0 });
  await world.net('m', { backEnd: 'simulated' });
  await world.subnet('subm', 'm', '10.7.0.0/24');
  // A stranger took the last address at the back end, unknown to the journal.
  expect(world.network.addForeign('sub0', '10.0.0.10')).toBe(true);
  const web = await world.boot({ networks: [{ network: 'n' }, { network: 'm' }] });
  expect(web.attempts[0]).toMatchObject({
    host: 'h2',
    fault: 'pool-empty',
    excludes: 'pool',
    excludedPool: 'segment:seg0',
  });
  expect(web).toMatchObject({ state: 'active', host: 'h3' });
  expect(world.ports('web').map(({ binding }) => binding)).toMatchObject([
    { host: 'h3', segment: 'seg2' },
    { host: 'h3' },
  ]);
  const binds = world.calls().filter((call) => call.includes('bind'));
  expect(binds).toEqual([
    'conductor bind web-p0@h2 pool-empty',
    'conductor bind web-p1@h2 applied',
    'conductor unbind web-p0 applied',
    'conductor unbind web-p1 applied',
    'conductor bind web-p0@h3 applied',
    'conductor bind web-p1@h3 applied',
  ]);
});

test('scheduling-20 when the third bind fails the first two are unbound', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.arm({ op: 'bind', host: 'h2', nic: 2, outcome: 'binding-failed' });
  const networks = [{ network: 'n' }, { network: 'n' }, { network: 'n' }];
  const web = await world.boot({ networks });
  expect(web).toMatchObject({ state: 'active', host: 'h3' });
  expect(world.calls()).toEqual([
    'conductor create web-p0+web-p1+web-p2 applied',
    'conductor bind web-p0@h2 applied',
    'conductor bind web-p1@h2 applied',
    'conductor bind web-p2@h2 binding-failed',
    'conductor unbind web-p0 applied',
    'conductor unbind web-p1 applied',
    'conductor unbind web-p2 applied',
    'conductor bind web-p0@h3 applied',
    'conductor bind web-p1@h3 applied',
    'conductor bind web-p2@h3 applied',
  ]);
  const addresses = world.addresses('web');
  expect(new Set(addresses).size).toBe(3);
  expect(addresses.every((ip) => ip.startsWith('10.2.0.'))).toBe(true);
  // The addresses for the first host are free again.
  expect(world.free('segment:seg0')).toBe(253);
});

test('scheduling-36 a back end that is local to hosts allocates when the host is known, not before', async () => {
  const world = await startFixtureF({ backEnd: 'host-local' });
  await world.net('plain', { backEnd: 'host-local' });
  await world.subnet('sub', 'plain', '10.8.0.0/24');
  const web = await world.boot({ networks: [{ network: 'n' }, { network: 'plain' }] });
  expect(web).toMatchObject({ state: 'active', host: 'h2' });
  // The port never had an address without a host: both came with one bind.
  const versions = ['web-p0', 'web-p1'].map((id) => world.versionsOf('port', id));
  for (const chapters of versions) {
    expect(chapters.length).toBe(1);
    expect(chapters[0]).toMatchObject({ state: 'made', serial: 1, binding: { host: 'h2', type: 'bridge' } });
    expect(chapters[0]?.['addresses']).toHaveLength(1);
  }
  expect(world.calls()).toEqual([]);
  // A build that finds no host sent no orders.
  const free = [world.free('segment:seg0'), world.free('network:plain')];
  await world.flavor('huge', { memoryMiB: 2 ** 39 });
  const huge = await world.boot({ name: 'huge', flavor: 'huge', networks: [{ network: 'n' }, { network: 'plain' }] });
  expect(huge).toMatchObject({ state: 'error', fault: { code: 'no-valid-host' } });
  expect(world.versionsOf('port', 'huge-p1')).toMatchObject([{ state: 'wanted', addresses: [], serial: 0 }, undefined]);
  expect([world.free('segment:seg0'), world.free('network:plain')]).toEqual(free);
});

test.each(BOTH)(
  'scheduling-37 where the driver binds, the conductor leaves the port without host (%s)',
  async (backEnd) => {
    const world = await startFixtureF({ backEnd, hosts: { h2: { bindsAt: 'driver' } }, machine: { delayMs: 5000 } });
    await world.create();
    await world.until('the host is asked', () => world.performedTasks.length > 0);
    const [task] = world.performedTasks;
    expect(task).toMatchObject({ host: 'h2', task: 'build', args: { network: 'driver' } });
    // The conductor is done: the port is attached, has neither host nor address, and its address is only claimed.
    const port = world.port('web-p0');
    expect(port).toMatchObject({ instance: 'web', addresses: [] });
    expect(port.binding).toBeUndefined();
    expect(world.claim('web')?.addresses).toEqual([{ pool: 'segment:seg0', version: 4, count: 1 }]);
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.port('web-p0')).toMatchObject({
      binding: { host: 'h2', segment: 'seg0' },
      addresses: [{ subnet: 'sub0' }],
    });
    expect(world.claim('web')?.addresses).toEqual([]);
    const binds = world.calls().filter((call) => call.includes('bind'));
    expect(binds).toEqual(backEnd === 'simulated' ? ['host bind web-p0@h2 applied'] : []);
  },
);

test('scheduling-40 a boot with one NIC takes two calls', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  expect(await world.boot()).toMatchObject({ state: 'active', host: 'h2' });
  expect(world.calls()).toEqual(['conductor create web-p0 applied', 'conductor bind web-p0@h2 applied']);
  // The host's report that it has plugged the port costs none.
  await world.clock.pass(60_000);
  expect(world.calls()).toHaveLength(2);
});

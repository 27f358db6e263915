// Contention and repetition: addresses, bandwidth, attempts, conductors, deletes.
import { expect, test } from 'vitest';
import { INSTANCE } from '../../../src/instances/index.ts';
import { CLAIM, NETWORK_EVENT, PORT } from '../../../src/network/index.ts';
import { BOTH, startFixtureF, type FixtureF } from '../reference-fixture.ts';
import type { AcceptanceWorld } from '../world-fixture.ts';

test('scheduling-26 an old conductor and a new one bind each NIC once', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  // The old one's calls are in flight for longer than its lease lasts.
  world.arm({ op: 'bind', outcome: 'ok', delayMs: 25_000, times: 2 });
  await world.create({ networks: [{ network: 'n' }, { network: 'n' }] });
  await world.until('the old one binds', () => world.calls().some((call) => call.includes('bind')));
  world.server.cutOff();
  await world.startServer();
  await world.settle();
  const binding = world.ports('web').map((port) => port.binding);
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h2' });
  await world.clock.pass(60_000);
  expect(world.calls('web')).toEqual([
    'conductor create web-p0+web-p1 applied',
    // Aborted when the old one's lease was lost: they never arrive.
    'conductor bind web-p0@h2 unavailable',
    'conductor bind web-p1@h2 unavailable',
    'conductor bind web-p0@h2 applied',
    'conductor bind web-p1@h2 applied',
  ]);
  expect(world.ports('web').map((port) => port.binding)).toEqual(binding);
  expect(binding.map((one) => one?.serial)).toEqual([1, 1]);
  expect(world.instance('web').attempts).toHaveLength(1);
  expect(world.tasks()).toEqual(['build web on h2']);
});

test('scheduling-27 an event that came before the wait ends it at once', async () => {
  const world = await startFixtureF({ backEnd: 'simulated', machine: { delayMs: 20_000 } });
  const operation = await world.create();
  await world.until('the host builds', () => world.performedTasks.length > 0);
  // The port is reported as plugged while the host has not even begun.
  expect(world.all(NETWORK_EVENT).map(({ doc }) => doc)).toMatchObject([
    { port: 'web-p0', name: 'plugged', serial: 1 },
  ]);
  await world.settle();
  expect(world.instance('web').state).toBe('active');
  const item = world.versionsOf('item', `${operation}.web`);
  expect(item.map((one) => one?.['step'])).toContain('plug');
  expect(item.some((one) => one?.['state'] === 'waiting')).toBe(false);
});

test('scheduling-27 an event of an earlier binding does not count for the present one', async () => {
  const world = await startFixtureF({ backEnd: 'simulated' });
  world.arm({ op: 'spawn', host: 'h2', outcome: 'spawn-failed', delayMs: 1000 });
  const operation = await world.create();
  await world.until('it was plugged at the first host', () => world.all(NETWORK_EVENT).length === 1);
  world.network.eventsEnabled = false;
  await world.until('it waits to be plugged', () => world.item(operation, 'web').step === 'plug');
  await world.clock.pass(1000);
  expect(world.item(operation, 'web')).toMatchObject({ state: 'waiting', reason: { code: 'ports-not-plugged' } });
  const serial = world.port('web-p0').binding?.serial ?? 0;
  expect(serial).toBeGreaterThan(1);
  world.server.tell({ port: 'web-p0', name: 'plugged', serial: 1 });
  await world.clock.pass(10_000);
  expect(world.instance('web').state).toBe('building');
  world.server.tell({ port: 'web-p0', name: 'plugged', serial });
  await world.settle();
  expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h3' });
});

test.each(BOTH)('scheduling-28 of 100 boots at once as many run as there are addresses (%s)', async (backEnd) => {
  const world = await startFixtureF({
    backEnd,
    pool0: [{ first: '10.0.0.10', last: '10.0.0.29' }],
    pool2: [{ first: '10.2.0.10', last: '10.2.0.26' }],
  });
  const names = Array.from({ length: 100 }, (_, nth) => `web-${nth}`);
  await Promise.all(names.map((name) => world.create({ name })));
  await world.settle();
  const instances = world.all(INSTANCE).map(({ doc }) => doc);
  const active = instances.filter(({ state }) => state === 'active');
  const rest = instances.filter(({ state }) => state !== 'active');
  expect(active).toHaveLength(37);
  expect(rest).toHaveLength(63);
  expect(new Set(rest.map(({ state, fault }) => `${state} ${fault?.code}`))).toEqual(
    new Set(['error addresses-exhausted']),
  );
  const addresses = active.flatMap(({ name }) => world.addresses(name));
  expect(new Set(addresses).size).toBe(37);
  expect(world.all(PORT)).toHaveLength(37);
  expect(world.all(CLAIM)).toHaveLength(37);
  expect([world.free('segment:seg0'), world.free('segment:seg2')]).toEqual([0, 0]);
});

/** Five good hosts in seg0, a poor one in seg2. */
async function oneElsewhere(fixture: Partial<FixtureF> = {}): Promise<AcceptanceWorld> {
  const near = { memoryGiB: 300, segments: ['seg0'] };
  const hosts = { h1: near, h2: near, h3: near, h4: near, h5: near };
  const world = await startFixtureF({ backEnd: 'simulated', hosts, ...fixture });
  await world.hosts({ poor: { memoryGiB: 1, segments: ['seg2'] } });
  return world;
}

test('scheduling-29 five good hosts in a segment that is empty at bind do not use up the attempts', async () => {
  const world = await oneElsewhere({ pool0: [{ first: '10.0.0.10', last: '10.0.0.11' }] });
  world.network.addForeign('sub0', '10.0.0.10');
  world.network.addForeign('sub0', '10.0.0.11');
  const web = await world.boot();
  expect(web).toMatchObject({ state: 'active', host: 'poor', attemptsMax: 3 });
  expect(web.attempts.map(({ host, fault }) => [host, fault])).toEqual([
    ['h1', 'pool-empty'],
    ['poor', undefined],
  ]);
});

test('scheduling-29 an attempt that failed in one segment is followed by one in another', async () => {
  const world = await oneElsewhere();
  world.arm({ op: 'bind', segment: 'seg0', outcome: 'binding-failed', times: 100 });
  const web = await world.boot();
  expect(web).toMatchObject({ state: 'active', host: 'poor' });
  expect(web.attempts).toHaveLength(2);
});

const THREE = {
  pool0: [{ first: '10.0.0.10', last: '10.0.0.11' }],
  pool2: [{ first: '10.2.0.10', last: '10.2.0.10' }],
};

test('scheduling-30 four of which three find an address are none (embedded)', async () => {
  const world = await startFixtureF(THREE);
  const refusal = await world.createRefused({ count: 4, minCount: 4 });
  expect(refusal).toMatchObject({
    kind: 'conflict',
    code: 'no-valid-host',
    facts: { placed: 3, count: 4, minCount: 4 },
  });
  expect(refusal.message).toContain('addresses');
  expect([...world.all(INSTANCE), ...world.all(PORT), ...world.all(CLAIM)]).toEqual([]);
});

test('scheduling-30 four of which three find an address are none (simulated)', async () => {
  const world = await startFixtureF({ backEnd: 'simulated', ...THREE });
  const operation = await world.create({ count: 4, minCount: 4 });
  await world.settle();
  expect(world.operationDoc(operation)).toMatchObject({
    state: 'failed',
    reason: { failedFor: 'addresses-exhausted' },
  });
  expect([...world.all(INSTANCE), ...world.all(PORT), ...world.all(CLAIM)]).toEqual([]);
  expect(['web-p0', 'web-p1', 'web-p2', 'web-p3'].map((id) => world.network.port(id))).toEqual(
    Array(4).fill(undefined),
  );
  expect(world.tasks()).toEqual([]);
  expect(world.calls().filter((call) => call.includes(' bind '))).toEqual([]);
});

test.each(BOTH)('scheduling-30 three are enough when no more were asked for at least (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd, ...THREE });
  await world.create({ count: 4, minCount: 3 });
  await world.settle();
  const active = world.all(INSTANCE).filter(({ doc }) => doc.state === 'active');
  expect(active.map(({ id }) => id)).toEqual(['web-1', 'web-2', 'web-3']);
  expect(world.all(PORT)).toHaveLength(3);
  expect(world.all(CLAIM)).toHaveLength(3);
});

test.each(BOTH)(
  'scheduling-35 the bandwidth that a network asks for is claimed, and the claim goes where the build goes (%s)',
  async (backEnd) => {
    const bandwidth = (kbps: number): { resources: Record<string, number> } => ({
      resources: { 'bandwidth-kbps:phys-seg0': kbps, 'bandwidth-kbps:phys-seg2': kbps },
    });
    const world = await startFixtureF({
      backEnd,
      hosts: { h2: bandwidth(500), h3: bandwidth(1500), h4: bandwidth(1500), h5: bandwidth(1500) },
    });
    await world.net('qos', { backEnd, minBandwidthKbps: 1000 });
    await world.segment('seg0q', 'qos', { physicalNetwork: 'phys-seg0', segmentationId: 7 });
    await world.segment('seg2q', 'qos', { physicalNetwork: 'phys-seg2', segmentationId: 7 });
    await world.subnet('sub0q', 'qos', '10.10.0.0/24', { segment: 'seg0q' });
    await world.subnet('sub2q', 'qos', '10.12.0.0/24', { segment: 'seg2q' });
    world.arm({ op: 'spawn', host: 'h3', outcome: 'spawn-failed' });
    await world.create({ networks: [{ network: 'qos' }] });
    await world.until('it has a place', () => world.claim('web') !== undefined);
    // The best host has too little of it.
    expect(world.claim('web')).toMatchObject({ host: 'h3', resources: { 'bandwidth-kbps:phys-seg2': 1000 } });
    await world.settle();
    expect(world.instance('web')).toMatchObject({ state: 'active', host: 'h4' });
    expect(world.claim('web')).toMatchObject({ host: 'h4', resources: { 'bandwidth-kbps:phys-seg0': 1000 } });
    expect(world.all(CLAIM)).toHaveLength(1);
    // The claim of the first try is free: another build uses it; after that there is too little except on the last host.
    const hosts: (string | undefined)[] = [];
    for (const name of ['b', 'c', 'd']) hosts.push((await world.boot({ name, networks: [{ network: 'qos' }] })).host);
    expect(hosts).toEqual(['h3', 'h5', 'h5']);
    const none = await world.boot({ name: 'e', networks: [{ network: 'qos' }] });
    expect(none).toMatchObject({ state: 'error', fault: { code: 'no-valid-host' } });
    expect(none.fault?.message).toContain('bandwidth');
  },
);

test.each(BOTH)('scheduling-38 an instance whose attempts are used up records each of them (%s)', async (backEnd) => {
  const world = await startFixtureF({ backEnd });
  await world.userPort('mine', 'n');
  world.arm({ op: 'spawn', outcome: 'spawn-failed', times: 3 });
  const web = await world.boot({ networks: [{ port: 'mine' }, { network: 'n' }] });
  expect(web).toMatchObject({ state: 'error', nics: [], fault: { code: 'attempts-exhausted' } });
  expect(web.attempts).toMatchObject([
    { nth: 1, host: 'h2', pools: ['segment:seg0', 'segment:seg0'], fault: 'spawn-failed', excludes: 'host' },
    { nth: 2, host: 'h3', pools: ['segment:seg2', 'segment:seg2'], fault: 'spawn-failed', excludes: 'host' },
    { nth: 3, host: 'h4', pools: ['segment:seg0', 'segment:seg0'], fault: 'spawn-failed', excludes: 'host' },
  ]);
  expect(web.attempts.every(({ text, atMs }) => text !== undefined && atMs > 0)).toBe(true);
  // The user's port is as it was before: without the address that it had for a host.
  expect(world.all(PORT).map(({ id }) => id)).toEqual(['mine']);
  expect(world.port('mine')).toMatchObject({ addresses: [], ipAllocation: 'deferred' });
  expect(world.port('mine')).not.toHaveProperty('binding');
  if (backEnd === 'simulated') expect(world.network.port('mine')).toMatchObject({ addresses: [], instance: undefined });
  expect(world.all(CLAIM)).toEqual([]);
  expect([world.free('segment:seg0'), world.free('segment:seg2')]).toEqual([253, 253]);
  expect(world.copies('web')).toEqual([]);
});

test.each(['ok', 'hang', 'applied-but-lost'] as const)(
  'scheduling-39 a delete during the bind leaves nothing (%s)',
  async (outcome) => {
    const world = await startFixtureF({ backEnd: 'simulated' });
    world.arm({ op: 'bind', outcome, delayMs: 10_000 });
    await world.create();
    await world.until('the bind is under way', () => world.calls().some((call) => call.endsWith('under way')));
    const operation = await world.remove('web');
    await world.settle();
    expect(world.operationDoc(operation).state).toBe('succeeded');
    expect([...world.all(INSTANCE), ...world.all(PORT), ...world.all(CLAIM)]).toEqual([]);
    expect(world.network.port('web-p0')).toBeUndefined();
    expect([world.free('segment:seg0'), world.free('segment:seg2')]).toEqual([253, 253]);
    expect(world.tasks().filter((task) => task.startsWith('build'))).toEqual([]);
    // Its address is free again at the back end.
    const next = await world.boot({ name: 'next' });
    expect(next).toMatchObject({ state: 'active', host: 'h2' });
    expect(world.addresses('next')).toEqual(['10.0.0.2']);
  },
);

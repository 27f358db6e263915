// Removing hosts and recovering them: who is notified, what is left of a host, and that force keeps its reason.
import { describe, expect, test } from 'vitest';
import { TOKEN } from '../../access/index.ts';
import { idOf, put, type Change } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import { HOST } from '../model.ts';
import { guests, hostIn, activeHosts, posts, ScaleInWorld } from './scale-in-fixture.ts';

const DOWN = { connection: { state: 'down' as const, sinceMs: 0 } };

const tokenOf = (host: string): Change =>
  put(TOKEN, idOf(TOKEN, `t-${host}`), {
    name: `agent/${host}`,
    role: 'agent',
    host,
    hash: 'a'.repeat(64),
    createdAtMs: 0,
    createdBy: 'test',
  });

const isRevoked = (world: ScaleInWorld, host: string): boolean =>
  world.fleet.get(TOKEN, idOf(TOKEN, `t-${host}`))?.doc.revoked !== undefined;

async function drained(...more: readonly Change[]): Promise<ScaleInWorld> {
  const identity = { datapathId: '00000000000000ff', systemId: 'sys-1' };
  const facts = { ...DOWN, switch: identity, traits: ['gpu'], tunnelAddress: '10.0.0.1' };
  return ScaleInWorld.of(...activeHosts('c2', 'c3'), hostIn('c1', 'drained', facts), tokenOf('c1'), ...more);
}

describe('a host that is proven empty', () => {
  test('is-removed-when-all-its-peers-have-converged, and keeps only its identity', async () => {
    const world = await drained();
    world.views.behind.add('c3');
    const { operation = '' } = await world.commit(world.ending(['c1']));
    for (let tick = 0; tick < 3; tick += 1) await world.tick();
    expect(world.states('c1')).toBe('c1 finalizing');
    expect(world.item(operation, 'c1')).toMatchObject({
      step: 'finalize',
      state: 'waiting',
      reason: { code: 'hosts-behind', hosts: ['c3'] },
    });
    world.views.behind.clear();
    await world.settle();
    expect(world.host('c1')).toEqual({
      name: 'c1',
      site: 'central',
      // The address stays taken while the removed host still reports.
      tunnelAddress: '10.0.0.1',
      zone: 'default',
      aggregates: [],
      capacity: { vcpus: 0, memoryMiB: 0, diskGiB: 0, ratios: { vcpus: 1, memory: 1, disk: 1 } },
      traits: [],
      physicalNetworks: [],
      baseWeight: 0,
      switch: { datapathId: '00000000000000ff', systemId: 'sys-1' },
      state: 'removed',
      connection: { state: 'unknown', sinceMs: expect.any(Number) as number },
      serviceVersion: 0,
      changedBy: 'operation:scale-in-end',
      changedAtMs: expect.any(Number) as number,
    });
    expect(isRevoked(world, 'c1')).toBe(true);
    expect(world.operationState(operation)).toBe('succeeded');
    expect(world.pending()).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test('something-that-comes-past-the-point-of-no-return-keeps-it, until that is gone or force is requested', async () => {
    const world = await drained();
    world.views.behind.add('c3');
    const { operation = '' } = await world.commit(world.ending(['c1']));
    await world.tick();
    await world.commit(() => accept([guests.put('late', { host: 'c1' })], null));
    world.views.behind.clear();
    for (let tick = 0; tick < 4; tick += 1) await world.tick();
    expect(world.states('c1')).toBe('c1 finalizing');
    expect(world.item(operation, 'c1')?.reason).toMatchObject({ code: 'lives-here', kind: 'guest', tenant: 'late' });
    await world.commit(world.ending(['c1'], { force: { reason: 'it is lost' } }));
    await world.settle();
    expect(world.states('c1')).toBe('c1 removed');
    expect(world.violations).toEqual([]);
  });
});

describe('a connected host', () => {
  test('is-told-to-leave-first, and its credential is revoked then', async () => {
    const world = await drained();
    await world.connect('c1', 'up');
    const { operation = '', hosts } = await world.commit(world.ending(['c1'], { disconnect: true }));
    expect(hosts).toMatchObject([{ result: 'accepted' }]);
    expect(world.states('c1')).toBe('c1 drained');
    while (world.left.length === 0) await world.tick();
    // As soon as it has left, long before it is removed.
    expect([world.states('c1'), isRevoked(world, 'c1')]).toEqual(['c1 drained', true]);
    await world.settle();
    expect(world.left).toEqual(['leave c1']);
    expect(world.states('c1')).toBe('c1 removed');
    expect(isRevoked(world, 'c1')).toBe(true);
    expect(world.operationState(operation)).toBe('succeeded');
  });

  test('asked-again-it-is-the-same-operation', async () => {
    const world = await drained();
    await world.connect('c1', 'up');
    const first = await world.commit(world.ending(['c1'], { disconnect: true }));
    const again = await world.commit(world.ending(['c1'], { disconnect: true }));
    expect(again).toMatchObject({ operation: first.operation, hosts: [{ result: 'unchanged' }] });
  });

  test('something-that-came-meanwhile-keeps-it, and it drains again', async () => {
    const world = await drained();
    await world.connect('c1', 'up');
    const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true }));
    await world.commit(() => accept([guests.put('late', { host: 'c1' })], null));
    await world.settle();
    expect(world.item(operation, 'c1')).toMatchObject({ state: 'failed', reason: { code: 'lives-here' } });
    expect(world.host('c1')?.state).toBe('draining');
    expect(world.violations).toEqual([]);
  });

  test('recovered-while-it-is-told-to-leave, it stays', async () => {
    const world = await drained();
    await world.connect('c1', 'up');
    const { operation = '' } = await world.commit(world.ending(['c1'], { disconnect: true }));
    await world.commit(world.recovering(['c1']));
    await world.settle();
    expect(world.states('c1')).toBe('c1 active');
    expect(world.operationState(operation)).toBe('cancelled');
    expect(world.left).toEqual([]);
  });
});

describe('force', () => {
  const force = { reason: 'the machine is scrap' };

  test('removes-what-is-not-empty, tells it to leave first, and keeps the reason', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c2'),
      hostIn('c1', 'draining'),
      guests.put('g', { host: 'c1' }),
    );
    await world.commit(world.ending(['c1'], { force }));
    await world.settle();
    expect(world.left).toEqual(['leave c1']);
    expect(world.states('c1')).toBe('c1 removed');
    expect(world.host('c1')?.leaving?.forced).toEqual({ ...force, by: 'ann', atMs: 1_000_000 });
    expect(guests.on(world.fleet, 'c1')).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test('does-not-wait-for-ever-for-one-that-does-not-leave', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c2'),
      hostIn('c1', 'draining'),
      guests.put('g', { host: 'c1' }),
    );
    await world.connect('c1', 'suspect');
    await world.commit(world.ending(['c1'], { force }));
    await world.tick();
    expect(world.states('c1')).toBe('c1 draining');
    world.clock.now += 60_000;
    await world.settle();
    expect(world.states('c1')).toBe('c1 removed');
  });

  test('begins-no-more-moves', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'), guests.put('g', { host: 'c1' }));
    await world.connect('c1', 'down');
    const { operation } = await world.commit(world.starting(['c1']));
    await world.settle();
    await world.commit(world.ending(['c1'], { force }));
    await world.settle();
    expect(world.operationState(operation)).toBe('cancelled');
    expect(world.driver.moved).toEqual([]);
    expect(world.states('c1')).toBe('c1 removed');
  });

  test('does-not-remove-a-host-in-service', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'));
    expect(await world.refusal(world.ending(['c1'], { force }))).toMatchObject({ code: 'wrong-state' });
  });

  test('can-be-asked-for-while-a-host-is-told-to-leave', async () => {
    const world = await drained();
    await world.connect('c1', 'suspect');
    const first = await world.commit(world.ending(['c1'], { disconnect: true }));
    const again = await world.commit(world.ending(['c1'], { force }));
    expect(again).toMatchObject({ operation: first.operation, hosts: [{ result: 'accepted' }] });
    world.clock.now += 60_000;
    await world.settle();
    expect(world.host('c1')).toMatchObject({ state: 'removed', leaving: { forced: force } });
  });
});

describe('a host that is brought back', () => {
  test('is-as-it-was, once it has converged', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'));
    const before = world.host('c1');
    await world.commit(world.starting(['c1']));
    await world.settle();
    world.views.behind.add('c1');
    const { operation = '' } = await world.commit(world.recovering(['c1']));
    for (let tick = 0; tick < 3; tick += 1) await world.tick();
    expect(world.states('c1')).toBe('c1 recovering');
    expect(world.item(operation, 'c1')?.reason).toMatchObject({ code: 'hosts-behind' });
    world.views.behind.clear();
    await world.settle();
    const { changedBy: _, changedAtMs: __, ...after } = world.host('c1') ?? {};
    const { changedBy: ___, changedAtMs: ____, ...was } = before ?? {};
    expect(after).toEqual(was);
    expect(world.violations).toEqual([]);
  });

  test('begins-no-more-moves, and those under way end', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c1', 'c2'),
      ...['a', 'b', 'c'].map((name) => guests.put(name, { host: 'c1' })),
    );
    await world.budget({ movesPerHostAtOnce: 1 });
    world.driver.held = true;
    await world.commit(world.starting(['c1']));
    await world.tick();
    await world.tick();
    await world.commit(world.recovering(['c1']));
    world.driver.held = false;
    await world.settle();
    expect(world.driver.moved).toEqual(['a']);
    expect(guests.on(world.fleet, 'c1')).toEqual(['b', 'c']);
    expect(world.states('c1')).toBe('c1 active');
  });

  test.each([
    [false, 'c2'],
    [true, 'c1'],
  ])('services-stay-where-they-went-unless-fail-back-is-asked-for: %s', async (failBack, where) => {
    const presence = ['c1', 'c2'];
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2'), posts.put('nat', { host: 'c1', presence }));
    await world.commit(world.starting(['c1']));
    await world.settle();
    expect(posts.on(world.fleet, 'c2')).toEqual(['nat']);
    await world.commit(world.recovering(['c1'], { failBack }));
    await world.settle();
    expect(posts.on(world.fleet, where)).toEqual(['nat']);
    expect(world.host('c1')).not.toHaveProperty('leaving');
  });

  test.each([
    ['agent-not-connected', DOWN],
    ['forced-down', { forcedDown: { reason: 'off', by: 'ann', atMs: 0 } }],
  ])('waits-with-a-reason: %s', async (code, facts) => {
    const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'drained', facts));
    const { operation = '' } = await world.commit(world.recovering(['c1']));
    await world.settle();
    expect(world.item(operation, 'c1')?.reason).toMatchObject({ code });
    expect(world.states('c1')).toBe('c1 recovering');
  });

  test('waits-for-services-that-are-being-handed-over', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c1', 'c2'),
      posts.put('nat', { host: 'c1', presence: ['c1', 'c2'] }),
    );
    world.driver.held = true;
    await world.commit(world.starting(['c1']));
    await world.tick();
    const { operation = '' } = await world.commit(world.recovering(['c1']));
    await world.tick();
    expect(world.item(operation, 'c1')?.reason).toMatchObject({ code: 'handovers-under-way' });
    world.driver.held = false;
    await world.settle();
    expect(world.states('c1')).toBe('c1 active');
  });
});

test('the-sequence-of-the-operator: start A, B, C; A and C become empty, B does not; end A, C; recover B', async () => {
  const world = await ScaleInWorld.of(
    ...activeHosts('a', 'b', 'c', 'x'),
    guests.put('ga', { host: 'a' }),
    guests.put('gb', { host: 'b', presence: ['b'] }),
    guests.put('gc', { host: 'c' }),
  );
  await world.commit(world.starting(['a', 'b', 'c']));
  await world.settle();
  expect(world.states('a', 'b', 'c')).toBe('a drained, b draining, c drained');
  await world.connect('a', 'down');
  await world.connect('c', 'down');
  await world.commit(world.ending(['a', 'c']));
  await world.commit(world.recovering(['b']));
  await world.settle();
  expect(world.states('a', 'b', 'c')).toBe('a removed, b active, c removed');
  expect(guests.on(world.fleet, 'x')).toEqual(['ga', 'gc']);
  expect(world.open()).toEqual([]);
  expect(world.violations).toEqual([]);
});

test('never: a removed host comes back by itself, or is deleted', async () => {
  const world = await drained();
  await world.commit(world.ending(['c1']));
  await world.settle();
  await world.connect('c1', 'up');
  expect(world.violations).toEqual([expect.stringContaining('host c1 is removed and up')]);
  world.violations.length = 0;
  await world.commit(() => accept([{ kind: HOST.name, id: 'c1', doc: null }], null));
  expect(world.violations).toEqual([expect.stringContaining('host c1 is deleted')]);
});

test('never: a host is removed while something lives on it, unless it is forced with a reason', async () => {
  const world = await drained(guests.put('g', { host: 'c1' }));
  await world.edit('c1', { state: 'finalizing' });
  const { leaving: _, ...doc } = world.host('c1') ?? {};
  await world.commit(() => accept([put(HOST, idOf(HOST, 'c1'), { ...doc, state: 'removed' } as never)], null));
  expect(world.violations).toEqual([expect.stringContaining('host c1 is removed with guest g')]);
});

// Handovers over time: make before break, and what happens when a host on the way dies, leaves, or is late.
import { describe, expect, test } from 'vitest';
import { idOf, remove } from '../../fleet/index.ts';
import { ROUTER } from '../../network/index.ts';
import { explainer } from '../../operations/index.ts';
import { fitHost, LEAVING, portOn, routed, service, ElectionWorld } from '../election-fixture.ts';
import { cancel, startLeaving, NAT, served, stateOf, WHOLE_WAY } from './handover-fixture.ts';
import { moveService } from '../move.ts';
import { electionSentences } from '../sentences.ts';

test('the-new-host-is-ready-before-the-others-change-to-it-and-the-old-one-stops-last', async () => {
  const world = await startLeaving();
  await world.settle();
  expect(world.views.log).toEqual(WHOLE_WAY);
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  expect(world.wrong()).toEqual([]);
});

test('the-epoch-grows-once-and-at-the-switch', async () => {
  const world = await startLeaving();
  const epoch = service(world.fleet, NAT)?.epoch ?? 0;
  world.views.behind.add('b');
  await world.until(NAT, 'switched');
  expect(service(world.fleet, NAT)).toMatchObject({
    epoch: epoch + 1,
    designated: { host: 'x' },
    why: { cause: 'host-leaving', chosen: 'x' },
  });
  world.views.behind.clear();
  await world.settle();
  expect(service(world.fleet, NAT)?.epoch).toBe(epoch + 1);
});

test('nothing-goes-on-while-a-host-that-is-concerned-is-behind', async () => {
  const world = await startLeaving();
  world.views.behind.add('y');
  await world.until(NAT, 'switched');
  for (let pass = 0; pass < 30; pass += 1) await world.pass();
  expect(stateOf(world)).toBe('switch waiting hosts-behind');
  await world.silent('y');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  expect(world.wrong()).toEqual([]);
});

test('a-host-whose-agent-leaves-its-switch-as-it-is-is-not-waited-for', async () => {
  const world = await startLeaving();
  await world.put(fitHost('y', { serviceVersion: 3 }));
  world.views.behind.add('y');
  await world.settle();
  expect(world.views.log).toEqual([
    'prepare x',
    'sync a x',
    'switch b x',
    'retire a',
    'resync a x',
    'redirect a',
    'clear a',
  ]);
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
});

describe('the target after the switch', () => {
  test.each(['switched', 'retiring', 'resyncing', 'draining'])(
    'one-that-dies-costs-no-connection-that-the-old-host-still-has: %s',
    async (phase) => {
      const world = await startLeaving();
      await world.until(NAT, phase);
      await world.silent('x');
      await world.reconcile();
      expect(service(world.fleet, NAT)).toMatchObject({ designated: { host: 'a', degraded: true } });
      // And the service is handed over from there, with its connections.
      world.views.log.length = 0;
      await world.settle();
      expect(world.views.log).toContain('sync a y');
      expect(world.shown()).toBe('nat:r1 y, subnet-route:s1 b');
      expect(world.wrong()).toEqual([]);
      expect(world.violations).toEqual([]);
    },
  );

  test('one-that-dies-once-the-old-host-was-cleared-is-replaced-by-another', async () => {
    const world = await startLeaving();
    await world.settle();
    await world.silent('x');
    await world.settle();
    expect(world.shown()).toBe('nat:r1 b, subnet-route:s1 b');
  });

  test('an-old-host-that-is-lost-as-well-is-not-waited-for', async () => {
    const world = await startLeaving();
    await world.until(NAT, 'retiring');
    await world.silent('a');
    await world.silent('x');
    await world.reconcile();
    expect(service(world.fleet, NAT)).toMatchObject({ designated: { host: 'y' } });
  });
});

describe('the target before the switch', () => {
  test('one-that-dies-is-replaced-while-the-old-host-serves', async () => {
    const world = await startLeaving();
    world.views.behind.add('x');
    await world.pass();
    await world.silent('x');
    await world.pass();
    expect(world.shown()).toBe('nat:r1 a (a to y, preparing), subnet-route:s1 b');
    await world.settle();
    expect(world.shown()).toBe('nat:r1 y, subnet-route:s1 b');
    expect(world.operations()).toHaveLength(1);
    expect(world.wrong()).toEqual([]);
  });

  test('one-that-dies-between-the-last-look-and-the-switch-is-not-switched-to', async () => {
    const world = await startLeaving();
    const { carryOut } = world.views;
    let died = false;
    world.views.carryOut = async (...args) => {
      if (!died) await world.silent('x');
      died = true;
      return carryOut.apply(world.views, args);
    };
    await world.settle();
    expect(world.shown()).toBe('nat:r1 y, subnet-route:s1 b');
    expect(world.wrong()).toEqual([]);
  });

  test('one-that-is-connected-and-never-ready-is-passed-over-in-time', async () => {
    const world = await startLeaving();
    world.views.behind.add('x');
    for (let pass = 0; pass < 30; pass += 1) await world.pass();
    expect(world.shown()).toBe('nat:r1 a (a to x, preparing), subnet-route:s1 b');
    for (let pass = 0; pass < 45; pass += 1) await world.pass();
    // The other hosts wait for x all the same when they redirect to the new host: x is connected and has to redirect, too.
    expect(world.shown()).toBe('nat:r1 y (a to y, switched), subnet-route:s1 b');
    world.views.behind.clear();
    await world.settle();
    expect(world.shown()).toBe('nat:r1 y, subnet-route:s1 b');
  });

  test('with-no-candidate-left-it-waits-and-says-so-and-goes-on-with-the-first', async () => {
    const world = await startLeaving();
    world.views.behind.add('x');
    await world.pass();
    for (const name of ['b', 'x', 'y']) await world.edit(name, { quarantined: { because: 'identity', atMs: 0 } });
    await world.pass();
    expect(stateOf(world)).toBe('prepare waiting no-candidate');
    const { reason } = world.items()[0]!;
    expect(explainer([electionSentences])(reason!)).toMatchInlineSnapshot(
      `"No host can take nat:r1: x is quarantined, and there is no other candidate. The old host serves meanwhile."`,
    );
    expect(service(world.fleet, NAT)?.designated?.host).toBe('a');
    await world.put(fitHost('y'));
    await world.settle();
    expect(service(world.fleet, NAT)?.designated?.host).toBe('y');
  });

  const without = (...hosts: readonly string[]) => hosts.map((host) => `${host}-s1`);

  test('one-that-leaves-too-is-not-kept-by-what-it-was-to-get', async () => {
    const world = await startLeaving();
    world.views.behind.add('x');
    await world.pass();
    await world.unplug(...without('b', 'y'));
    await world.put(fitHost('x', LEAVING));
    await world.settle();
    // No other host is left: it stays where it is, and nothing ties it to x any more.
    expect(service(world.fleet, NAT)).not.toHaveProperty('handover');
    expect(service(world.fleet, NAT)?.designated).toMatchObject({ host: 'a', degraded: true });
    expect(world.wrong()).toEqual([]);
  });

  test('with-nothing-left-anywhere-the-service-is-withdrawn', async () => {
    const world = await startLeaving();
    world.views.behind.add('x');
    await world.pass();
    await world.unplug(...without('a', 'b', 'x', 'y'));
    await world.settle();
    expect(world.shown()).toBe('nat:r1 -, subnet-route:s1 -');
    expect(world.open()).toEqual([]);
  });
});

describe('the old host', () => {
  test('one-that-dies-while-the-new-one-is-built-hands-over-at-once', async () => {
    const world = await startLeaving();
    world.views.behind.add('x');
    await world.pass();
    await world.silent('a', 'down');
    await world.reconcile();
    // x is half prepared already: it is preferred to any other.
    expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
    await world.settle();
    expect(stateOf(world)).toBe('prepare done elected-anew');
    expect(service(world.fleet, NAT)?.cameFrom).toEqual({ host: 'a', operation: 'op-scale-in' });
    expect(world.wrong()).toEqual([]);
  });

  test('one-that-dies-after-the-switch-is-not-waited-for', async () => {
    const world = await startLeaving();
    await world.until(NAT, 'switched');
    world.views.behind.add('a');
    await world.until(NAT, 'retiring');
    await world.silent('a');
    await world.settle();
    expect(stateOf(world)).toBe('clear done');
    expect(world.views.log).toEqual(['prepare x', 'sync a x', 'switch b x y']);
    expect(world.wrong()).toEqual([]);
  });
});

test('the-new-host-dies-after-the-switch-and-the-old-one-goes-on', async () => {
  const world = await startLeaving();
  world.views.behind.add('b');
  await world.until(NAT, 'switched');
  const epoch = service(world.fleet, NAT)?.epoch ?? 0;
  await world.silent('x');
  await world.reconcile();
  expect(world.shown()).toBe('nat:r1 a!, subnet-route:s1 b');
  expect(service(world.fleet, NAT)?.epoch).toBe(epoch + 1);
  world.views.behind.clear();
  await world.settle();
  expect(stateOf(world)).toBe('clear done; switch done elected-anew');
  expect(world.wrong()).toEqual([]);
});

test.each(['preparing', 'syncing', 'switched', 'retiring', 'resyncing', 'draining'])(
  'a-service-that-goes-meanwhile-ends-its-handover: %s',
  async (phase) => {
    const world = await startLeaving();
    await world.until(NAT, phase);
    for (const name of ['a', 'b', 'x', 'y']) world.views.behind.add(name);
    await world.pass();
    expect(service(world.fleet, NAT)?.handover?.phase).toBe(phase);
    await world.put(remove(ROUTER, idOf(ROUTER, 'r1')));
    await world.settle();
    expect(world.shown()).toBe('');
    expect(stateOf(world)).toContain('done service-gone');
    expect(world.operations().map(({ state }) => state)).toEqual(['succeeded']);
    expect(world.wrong()).toEqual([]);
  },
);

test('a-service-is-never-handed-over-twice-at-a-time', async () => {
  const world = await startLeaving();
  const again = (): Promise<unknown> =>
    world.refusal((fleet) => moveService(fleet, { id: NAT, ...world.commandContext() }));
  expect(await again()).toMatchObject({ code: 'handover-under-way' });
  await world.until(NAT, 'draining');
  expect(await again()).toMatchObject({ code: 'handover-under-way' });
  // Released, but not cleared yet: the old host must not be ordered to build what it is taking down.
  await world.pass();
  world.views.behind.add('a');
  for (let pass = 0; pass < 5; pass += 1) await world.pass();
  expect(service(world.fleet, NAT)?.handover).toBeUndefined();
  expect(stateOf(world)).toBe('clear waiting hosts-behind');
  expect(await again()).toMatchObject({ code: 'handover-under-way' });
});

describe('cancel', () => {
  async function startMove(): Promise<ElectionWorld> {
    const world = await served();
    await world.commit((fleet) => moveService(fleet, { id: NAT, host: 'y', ...world.commandContext() }));
    return world;
  }

  test('while-preparing-the-old-host-goes-on', async () => {
    const world = await startMove();
    const epoch = service(world.fleet, NAT)?.epoch;
    world.views.behind.add('y');
    await world.pass();
    await cancel(world);
    await world.settle();
    expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
    expect(service(world.fleet, NAT)?.epoch).toBe(epoch);
    expect(world.wrong()).toEqual([]);
  });

  test('after-the-switch-the-new-host-keeps-it', async () => {
    const world = await startMove();
    world.views.behind.add('b');
    await world.until(NAT, 'switched');
    await cancel(world);
    await world.settle();
    expect(world.shown()).toBe('nat:r1 y, subnet-route:s1 b');
    expect(world.wrong()).toEqual([]);
  });
});

test.each([
  ['preparing', 'x', 'a'],
  ['switched', 'y', 'x'],
])('at-the-deadline-whoever-has-it-keeps-it: %s', async (phase, behind, keeps) => {
  const world = await served();
  world.views.behind.add(behind);
  await world.commit((fleet) =>
    moveService(fleet, { id: NAT, host: 'x', ...world.commandContext(), deadlineMs: 20_000 }),
  );
  await world.until(NAT, phase);
  for (let pass = 0; pass < 40; pass += 1) await world.pass();
  expect(stateOf(world)).toContain('failed deadline-passed');
  expect(service(world.fleet, NAT)).toMatchObject({ designated: { host: keeps } });
  expect(service(world.fleet, NAT)?.handover).toBeUndefined();
  await world.reconcile();
  expect(world.wrong()).toEqual([]);
});

test('after-the-deadline-a-leaving-host-is-tried-to-be-relieved-again', async () => {
  const world = await startLeaving();
  for (const name of ['b', 'x', 'y']) world.views.behind.add(name);
  world.clock.now += 3_600_001;
  await world.pass();
  expect(service(world.fleet, NAT)?.handover).toBeUndefined();
  world.views.behind.clear();
  await world.settle();
  expect(service(world.fleet, NAT)?.designated?.host).toBe('x');
  expect(
    world
      .operations()
      .map(({ state }) => state)
      .sort(),
  ).toEqual(['failed', 'succeeded']);
});

test('held-elections-hold-a-handover-before-its-switch-and-not-after', async () => {
  const world = await startLeaving();
  await world.setting({ held: true });
  for (let pass = 0; pass < 8; pass += 1) await world.pass();
  expect(stateOf(world)).toBe('prepare waiting elections-held');
  await world.setting({ held: false });
  world.views.behind.add('b');
  await world.until(NAT, 'switched');
  await world.setting({ held: true });
  world.views.behind.clear();
  await world.settle();
  expect(stateOf(world)).toBe('clear done');
});

test('a-handover-that-nothing-carries-on-is-taken-back', async () => {
  const world = await startLeaving();
  const [item] = [...world.fleet.all({ name: 'item', check: () => undefined })];
  await world.put({ kind: 'item', id: item!.id, doc: null });
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  expect(world.wrong()).toEqual([]);
});

test('the-drain-time-is-waited-out', async () => {
  const world = await startLeaving();
  await world.setting({ handoverDrainMs: 30_000 });
  await world.until(NAT, 'retiring');
  for (let pass = 0; pass < 10; pass += 1) await world.pass();
  expect(stateOf(world)).toBe('drain waiting handover-drains');
  expect(service(world.fleet, NAT)?.handover?.phase).toBe('draining');
  for (let pass = 0; pass < 30; pass += 1) await world.pass();
  expect(stateOf(world)).toBe('clear done');
});

test('an-eligible-host-that-appears-is-taken-instead-of-a-leaving-one', async () => {
  const world = await ElectionWorld.of(
    ['a', 'b'].map((name) => fitHost(name)),
    routed('r1', ['s1']),
    ['a', 'b'].map((name) => portOn(name, 's1')),
  );
  await world.settle();
  await world.put(fitHost('a', LEAVING), fitHost('b', LEAVING));
  await world.settle();
  world.views.behind.add('b');
  await world.unplug('a-s1');
  await world.reconcile();
  expect(world.shown()).toBe('nat:r1 a! (a to b, preparing), subnet-route:s1 b!');
  await world.put(fitHost('x'), portOn('x', 's1'));
  await world.pass();
  await world.reconcile();
  expect(world.shown()).toBe('nat:r1 a! (a to x, preparing), subnet-route:s1 b! (b to x, preparing)');
  world.views.behind.clear();
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 x');
  expect(world.wrong()).toEqual([]);
});

// Elections over time: first designations, failovers and their timing, and what must never happen. Tests are named after what must hold.
import { expect, test } from 'vitest';
import { idOf, put, remove } from '../fleet/index.ts';
import { HOST, type Host } from '../hosts/index.ts';
import { PORT, ROUTER, SUBNET, TRANSPORT_ZONE } from '../network/index.ts';
import { fitHost, LEAVING, plainSubnet, portOn, routed, service, ElectionWorld } from './election-fixture.ts';

const epochOf = (world: ElectionWorld, id: string): number => service(world.fleet, id)?.epoch ?? -1;

async function three(): Promise<ElectionWorld> {
  const world = await ElectionWorld.of(
    ['a', 'b', 'x'].map((name) => fitHost(name)),
    routed('r1', ['s1']),
    ['a', 'b', 'x'].map((name) => portOn(name, 's1')),
  );
  await world.settle();
  return world;
}

test('services-come-with-their-subjects-and-go-with-them', async () => {
  const world = await three();
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
  await world.put(plainSubnet('s1', { dhcp: true }));
  await world.settle();
  expect(world.shown()).toBe('dhcp:s1 x, nat:r1 a, subnet-route:s1 b');
  await world.put(remove(ROUTER, idOf(ROUTER, 'r1')));
  await world.settle();
  expect(world.shown()).toBe('dhcp:s1 x');
  await world.put(plainSubnet('s1'));
  await world.settle();
  expect(world.shown()).toBe('');
  expect(world.wrong()).toEqual([]);
});

test('a-service-made-anew-begins-above-every-epoch-before', async () => {
  const world = await three();
  const before = epochOf(world, 'nat:r1');
  await world.put(remove(ROUTER, idOf(ROUTER, 'r1')));
  await world.settle();
  await world.put(...routed('r1', ['s1']));
  await world.settle();
  expect(epochOf(world, 'nat:r1')).toBeGreaterThan(before);
});

test('a-lost-host-loses-its-services-at-once-and-gets-none-back', async () => {
  const world = await three();
  const epoch = epochOf(world, 'nat:r1');
  await world.silent('a');
  await world.reconcile();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  expect(epochOf(world, 'nat:r1')).toBe(epoch + 1);
  expect(service(world.fleet, 'nat:r1')?.why?.cause).toBe('host-lost');
  await world.back('a');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  expect(world.operations()).toEqual([]);
});

test.each(['suspect', 'down'] as const)('a-silent-host-keeps-its-services-while-BFD-to-it-is-up: %s', async (state) => {
  const world = await three();
  await world.say('nat:r1', { onControlLoss: 'hold' });
  world.bfdUp.add('a');
  await world.silent('a', state);
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
  world.bfdUp.delete('a');
  // No event reports it: the scan finds it.
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
});

test('one-that-is-held-on-a-leaving-host-says-so-when-no-other-could-take-it', async () => {
  const world = await three();
  await world.say('nat:r1', { onControlLoss: 'hold' });
  world.bfdUp.add('a');
  await world.silent('a', 'down');
  await world.edit('a', LEAVING);
  await world.settle();
  const { host, degraded } = service(world.fleet, 'nat:r1')?.designated ?? {};
  expect([host, degraded]).toEqual(['a', undefined]);
  for (const name of ['b', 'x']) await world.edit(name, LEAVING);
  await world.settle();
  expect(service(world.fleet, 'nat:r1')?.designated).toMatchObject({ host: 'a', degraded: true });
  expect(world.wrong()).toEqual([]);
});

test('the-peers-of-a-silent-host-are-asked-once-in-a-look-for-all-its-services', async () => {
  const world = await ElectionWorld.of(
    [fitHost('a', { baseWeight: 9 }), fitHost('b')],
    ['1', '2'].flatMap((nth) => routed(`r${nth}`, [`s${nth}`])),
    ['a', 'b'].flatMap((name) => ['s1', 's2'].map((subnet) => portOn(name, subnet))),
  );
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a, nat:r2 a, subnet-route:s1 a, subnet-route:s2 a');
  for (const id of ['nat:r1', 'nat:r2']) await world.say(id, { onControlLoss: 'hold' });
  world.bfdUp.add('a');
  await world.silent('a');
  await world.reconcile();
  expect(world.shown()).toBe('nat:r1 a, nat:r2 a, subnet-route:s1 b, subnet-route:s2 b');
  expect(world.requests).toEqual(['a']);
  // Their reports are not kept for longer.
  world.bfdUp.clear();
  await world.settle();
  expect(world.shown()).toBe('nat:r1 b, nat:r2 b, subnet-route:s1 b, subnet-route:s2 b');
});

test('a-site-that-is-silent-as-a-whole-keeps-its-services-until-it-is-known-who-is-lost', async () => {
  const world = await three();
  const before = world.shown();
  world.possiblyPartitioned.add('central');
  // One after the other, as their last heartbeats were.
  for (const name of ['a', 'b', 'x']) {
    await world.silent(name);
    await world.reconcile();
  }
  await world.settle();
  expect(world.shown()).toBe(before);
  await world.back('b');
  await world.back('x');
  world.possiblyPartitioned.clear();
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  expect(world.wrong()).toEqual([]);
});

test('of-a-silent-site-a-host-that-is-forced-down-loses-its-services', async () => {
  const world = await three();
  world.possiblyPartitioned.add('central');
  await world.silent('a');
  await world.edit('a', { forcedDown: { reason: 'off', by: 'ann', atMs: 0 } });
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
});

test.each(['suspect', 'down'] as const)(
  'a-host-that-leaves-no-more-is-not-called-degraded-while-it-is-%s',
  async (state) => {
    const world = await ElectionWorld.of(fitHost('a', LEAVING), routed('r1', ['s1']), portOn('a', 's1'));
    await world.settle();
    expect(world.shown()).toBe('nat:r1 a!, subnet-route:s1 a!');
    world.possiblyPartitioned.add('central');
    await world.silent('a', state);
    await world.edit('a', { state: 'recovering' });
    await world.active('a');
    await world.settle();
    expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 a');
    expect(world.wrong()).toEqual([]);
  },
);

test('a-silent-host-keeps-what-no-other-can-take', async () => {
  const world = await ElectionWorld.of(fitHost('a'), routed('r1', ['s1']), portOn('a', 's1'));
  await world.settle();
  const epoch = epochOf(world, 'nat:r1');
  await world.silent('a', 'down');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 a');
  await world.edit('a', { forcedDown: { reason: 'off', by: 'ann', atMs: 0 } });
  await world.settle();
  expect(world.shown()).toBe('nat:r1 -, subnet-route:s1 -');
  expect(epochOf(world, 'nat:r1')).toBe(epoch);
  await world.put(fitHost('b'), portOn('b', 's1'));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 b, subnet-route:s1 b');
  expect(epochOf(world, 'nat:r1')).toBe(epoch + 1);
  expect(service(world.fleet, 'nat:r1')?.why?.cause).toBe('recovered');
  expect(world.wrong()).toEqual([]);
});

test('with-the-last-port-gone-it-is-withdrawn-and-elected-with-the-next', async () => {
  const world = await ElectionWorld.of(
    ['a', 'y'].map((name) => fitHost(name)),
    routed('r1', ['s1']),
    portOn('a', 's1'),
  );
  await world.settle();
  await world.unplug('a-s1');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 -, subnet-route:s1 -');
  await world.put(portOn('y', 's1'));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 y, subnet-route:s1 y');
  expect(world.wrong()).toEqual([]);
});

test('a-host-that-cannot-do-it-keeps-it-only-while-there-is-something-to-do', async () => {
  const world = await ElectionWorld.of(fitHost('a'), routed('r1', ['s1']), portOn('a', 's1'));
  await world.settle();
  const { tunnelAddress: _, ...rest } = fitHost('a').doc as Host;
  await world.put(put(HOST, idOf(HOST, 'a'), rest));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 a');
  await world.unplug('a-s1');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 -, subnet-route:s1 -');
});

test('a-host-that-is-back-is-not-a-last-resort-any-more-even-if-it-cannot-do-it', async () => {
  const world = await ElectionWorld.of(fitHost('a'), routed('r1', ['s1']), portOn('a', 's1'));
  await world.settle();
  await world.put(fitHost('a', LEAVING));
  await world.settle();
  expect(service(world.fleet, 'nat:r1')?.designated).toMatchObject({ host: 'a', degraded: true });
  const { tunnelAddress: _, ...rest } = fitHost('a', { state: 'recovering', leaving: LEAVING.leaving }).doc as Host;
  await world.put(put(HOST, idOf(HOST, 'a'), rest));
  await world.active('a');
  await world.settle();
  expect(world.wrong()).toEqual([]);
});

test('one-of-two-ports-gone-changes-nothing-both-gone-hand-it-over', async () => {
  const world = await ElectionWorld.of(
    ['a', 'y'].map((name) => fitHost(name)),
    routed('r1', ['s1']),
    portOn('a', 's1', 'a1'),
    portOn('a', 's1', 'a2'),
  );
  await world.settle();
  await world.put(portOn('y', 's1'));
  await world.unplug('a1');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 a');
  expect(world.operations()).toEqual([]);
  await world.unplug('a2');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 y, subnet-route:s1 y');
  expect(world.items().map(({ state, step }) => `${step} ${state}`)).toEqual(['clear done', 'clear done']);
  expect(service(world.fleet, 'nat:r1')?.why?.cause).toBe('presence-gone');
  expect(world.wrong()).toEqual([]);
});

test('hosts-that-leave-together-pass-nothing-to-each-other', async () => {
  const world = await three();
  await world.put(fitHost('a', LEAVING), fitHost('b', LEAVING));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 x');
  expect(world.items().map(({ target, host }) => `${target.id} from ${host}`)).toEqual([
    'nat:r1 from a',
    'subnet-route:s1 from b',
  ]);
  expect(world.operations().map(({ kind, title, state }) => `${kind}: ${title}, ${state}`)).toEqual([
    'handover: 2 handovers, succeeded',
  ]);
  expect(service(world.fleet, 'nat:r1')?.cameFrom).toEqual({ host: 'a', operation: 'op-scale-in' });
  expect(world.wrong()).toEqual([]);
});

test('a-leaving-host-that-alone-has-presence-keeps-it-degraded-until-it-is-back', async () => {
  const world = await ElectionWorld.of(fitHost('a'), routed('r1', ['s1']), portOn('a', 's1'));
  await world.settle();
  const epoch = epochOf(world, 'nat:r1');
  await world.put(fitHost('a', LEAVING));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a!, subnet-route:s1 a!');
  expect(world.wrong()).toEqual([]);
  await world.edit('a', { state: 'recovering' });
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a!, subnet-route:s1 a!');
  await world.active('a');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 a');
  expect(epochOf(world, 'nat:r1')).toBe(epoch);
  expect(world.wrong()).toEqual([]);
});

test('hard-exclusion-withdraws-what-only-leaving-hosts-could-do', async () => {
  const world = await ElectionWorld.of(fitHost('a'), routed('r1', ['s1']), portOn('a', 's1'));
  await world.settle();
  await world.say('nat:r1', { exclusion: 'hard' });
  await world.put(fitHost('a', LEAVING));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 -, subnet-route:s1 a!');
  await world.edit('a', { state: 'recovering' });
  await world.active('a');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 a');
  expect(world.wrong()).toEqual([]);
});

test('an-emptied-leaving-host-passes-it-to-a-leaving-one-that-still-has-presence', async () => {
  const world = await ElectionWorld.of(
    ['a', 'b'].map((name) => fitHost(name)),
    routed('r1', ['s1']),
    ['a', 'b'].map((name) => portOn(name, 's1')),
  );
  await world.settle();
  await world.put(fitHost('a', LEAVING), fitHost('b', LEAVING));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a!, subnet-route:s1 b!');
  await world.unplug('a-s1');
  await world.settle();
  expect(world.shown()).toBe('nat:r1 b!, subnet-route:s1 b!');
  expect(world.wrong()).toEqual([]);
});

test('a-new-service-beside-a-leaving-host-goes-to-another', async () => {
  const world = await ElectionWorld.of(
    fitHost('a', LEAVING),
    fitHost('x'),
    plainSubnet('s1'),
    portOn('a', 's1'),
    portOn('x', 's1'),
  );
  await world.settle();
  await world.put(...routed('r1', ['s1']));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 x');
});

test('held-elections-hold-everything-still-and-go-on-when-released', async () => {
  const world = await three();
  await world.setting({ held: true });
  await world.silent('a', 'down');
  await world.put(fitHost('b', LEAVING), plainSubnet('s1', { dhcp: true }));
  await world.settle();
  expect(world.shown()).toBe('dhcp:s1 -, nat:r1 a, subnet-route:s1 b');
  await world.setting({ held: false });
  await world.settle();
  expect(world.shown()).toBe('dhcp:s1 x, nat:r1 x, subnet-route:s1 x');
  expect(world.wrong()).toEqual([]);
});

test.each([
  ['without its tunnel address', { tunnelAddress: undefined }],
  ['with an agent that is too old', { serviceVersion: 3 }],
  ['in a zone that is not defined', { transportZone: 'elsewhere' }],
  ['without a datapath id', { switch: {} }],
])('a-host-that-cannot-do-it-any-more-hands-it-over: %s', async (_what, facts) => {
  const world = await three();
  const { tunnelAddress, ...rest } = { tunnelAddress: '10.9.9.9' as string | undefined, ...facts };
  const { doc } = fitHost('a', rest);
  const { tunnelAddress: _, ...bare } = doc as { tunnelAddress?: string };
  await world.put({ kind: 'host', id: 'a', doc: tunnelAddress === undefined ? bare : { ...bare, tunnelAddress } });
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  expect(service(world.fleet, 'nat:r1')?.why?.cause).toBe('host-unfit');
  expect(world.wrong()).toEqual([]);
});

test('a-zone-that-goes-and-comes-back-moves-nothing-that-has-no-better-place', async () => {
  const world = await three();
  const zone = world.fleet.get(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'));
  await world.put(remove(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default')));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
  await world.put(put(TRANSPORT_ZONE, idOf(TRANSPORT_ZONE, 'default'), zone!.doc));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
});

test('another-server-goes-on-with-what-it-finds', async () => {
  const world = await three();
  world.views.behind.add('x');
  await world.put(fitHost('a', LEAVING));
  await world.reconcile();
  await world.restart();
  for (let pass = 0; pass < 5; pass += 1) await world.pass();
  expect(world.shown()).toBe('nat:r1 a (a to x, preparing), subnet-route:s1 b');
  world.views.behind.clear();
  await world.settle();
  expect(world.shown()).toBe('nat:r1 x, subnet-route:s1 b');
  expect(world.wrong()).toEqual([]);
});

test('no-more-services-are-handed-over-at-once-than-the-setting-says', async () => {
  const subnets = ['s1', 's2', 's3', 's4', 's5'];
  const world = await ElectionWorld.of(
    ['a', 'x'].map((name) => fitHost(name)),
    routed('r1', subnets),
    subnets.map((one) => portOn('a', one)),
  );
  await world.settle();
  await world.put(...subnets.map((one) => portOn('x', one)));
  await world.setting({ handoversAtOnce: 2 });
  await world.put(fitHost('a', LEAVING));
  let most = 0;
  world.journal.onCommit(() => {
    most = Math.max(most, world.open().filter((one) => !one.includes(' clear')).length);
  });
  await world.settle();
  expect(most).toBe(2);
  expect(new Set([...subnets.map((one) => service(world.fleet, `subnet-route:${one}`)?.designated?.host)])).toEqual(
    new Set(['x']),
  );
  expect(world.wrong()).toEqual([]);
});

test('subnets-and-ports-of-others-are-no-presence', async () => {
  const world = await ElectionWorld.of(fitHost('a'), routed('r1', []), plainSubnet('s9'), portOn('a', 's9'));
  await world.settle();
  expect(world.shown()).toBe('nat:r1 -');
  expect(world.fleet.get(PORT, idOf(PORT, 'a-s9'))).toBeDefined();
  expect(world.fleet.get(SUBNET, idOf(SUBNET, 's9'))).toBeDefined();
});

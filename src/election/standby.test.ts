// Which host is the standby of a service, and that it stays the same as long as it is fit.
import { expect, test } from 'vitest';
import { fitHost, LEAVING, plainSubnet, portOn, routed, servedBy, service, ElectionWorld } from './election-fixture.ts';

const NAT = 'nat:r1';

const pair = (world: ElectionWorld, id = NAT): string => {
  const doc = service(world.fleet, id);
  return `${doc?.designated?.host ?? '-'} ${doc?.standby ?? '-'}`;
};

test('the-second-best-is-the-standby', async () => {
  const world = await servedBy('a', 'b', 'c');
  expect(pair(world)).toBe('a c');
  expect(world.wrong()).toEqual([]);
});

test('without-another-host-no-standby', async () => {
  expect(pair(await servedBy('a'))).toBe('a -');
});

test('dhcp-has-none', async () => {
  const world = await servedBy('a', 'b');
  await world.put(plainSubnet('s2', { dhcp: true }), portOn('a', 's2'), portOn('b', 's2'));
  await world.settle();
  expect(pair(world, 'dhcp:s2')).toMatch(/^[ab] -$/);
});

test.each([
  ['is-tombstoned', (world: ElectionWorld) => world.edit('c', LEAVING)],
  [
    'is-quarantined',
    (world: ElectionWorld) => world.edit('c', { quarantined: { because: 'identity', as: 'x', atMs: 0 } }),
  ],
  ['is-silent', (world: ElectionWorld) => world.silent('c')],
  ['has-nothing-of-it-any-more', (world: ElectionWorld) => world.unplug('c-s1')],
])('another-one-is-chosen-when-the-standby %s', async (_name, spoil) => {
  const world = await servedBy('a', 'b', 'c');
  await spoil(world);
  await world.settle();
  expect(pair(world)).toBe('a b');
});

test('a-better-one-does-not-take-the-place-of-one-that-is-fit', async () => {
  const world = await servedBy('b', 'c', 'd');
  const { revision } = world.fleet;
  await world.put(fitHost('a', { baseWeight: 9 }), portOn('a', 's1'));
  await world.settle();
  expect(pair(world)).toBe('b d');
  expect(world.fleet.revision).toBe(revision + 1);
});

test('the-standby-takes-over-whatever-others-would-be-better', async () => {
  const world = await servedBy('a', 'b', 'c');
  await world.put(fitHost('b', { baseWeight: 9 }));
  await world.silent('a');
  await world.settle();
  expect(pair(world)).toBe('c b');
  expect(service(world.fleet, NAT)?.why).toMatchObject({ cause: 'host-lost', chosen: 'c' });
});

test('a-host-that-returns-gets-nothing-back', async () => {
  const world = await servedBy('a', 'b', 'c');
  await world.silent('a');
  await world.settle();
  const { epoch } = service(world.fleet, NAT) ?? {};
  await world.back('a');
  await world.settle();
  expect(pair(world)).toBe('c b');
  expect(service(world.fleet, NAT)?.epoch).toBe(epoch);
});

test('standbys-are-spread-so-that-the-loss-of-a-host-is', async () => {
  const names = ['a', 'b', 'c', 'd'];
  const subnets = Array.from({ length: 12 }, (_, nth) => `s${nth}`);
  const world = await ElectionWorld.of(
    names.map((name) => fitHost(name)),
    subnets.flatMap((one) => routed(`r-${one}`, [one])),
    names.flatMap((name) => subnets.map((one) => portOn(name, one))),
  );
  await world.settle();
  const count = (of: (doc: NonNullable<ReturnType<typeof service>>) => string | undefined): number[] =>
    names.map((name) => subnets.filter((one) => of(service(world.fleet, `nat:r-${one}`)!) === name).length);
  expect(Math.max(...count((doc) => doc.standby))).toBeLessThanOrEqual(5);
  await world.silent('a');
  await world.settle();
  const [lost, ...loads] = count((doc) => doc.designated?.host);
  expect(lost).toBe(0);
  expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(3);
});

test('what-is-held-still-keeps-its-standby', async () => {
  const world = await servedBy('a', 'b', 'c');
  await world.setting({ held: true });
  await world.silent('c');
  await world.settle();
  expect(pair(world)).toBe('a c');
});

/** Only a standby has enough BFD peers to be reported down: most report these hosts down then. */
function loseBfdOfStandby(world: ElectionWorld, ...names: readonly string[]): void {
  const isStandby = (host: string): boolean =>
    [NAT, 'subnet-route:s1'].some((id) => service(world.fleet, id)?.standby === host);
  world.bfdDownByMajority.has = (host) => names.includes(host) && isStandby(host);
}

test('a-standby-with-bfd-down-stays-while-there-is-no-other-candidate: without its peers it would be chosen again', async () => {
  const world = await servedBy('a', 'b');
  expect(pair(world)).toBe('a b');
  loseBfdOfStandby(world, 'b');
  await world.settle();
  expect(pair(world)).toBe('a b');
});

test('a-standby-with-bfd-down-goes-when-another-can, and-not-when-it-lacks-anything-else', async () => {
  const world = await servedBy('a', 'b', 'c');
  const [at, standby] = pair(world).split(' ') as [string, string];
  const other = ['a', 'b', 'c'].find((name) => name !== at && name !== standby) ?? '';
  loseBfdOfStandby(world, standby);
  await world.settle();
  expect(pair(world)).toBe(`${at} ${other}`);
  await world.unplug(`${standby}-s1`);
  await world.edit(other, LEAVING);
  await world.settle();
  expect(pair(world)).toBe(`${at} -`);
});

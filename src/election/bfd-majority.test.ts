// When reports that BFD to a host is down are believed, and what happens to its services then.
import { describe, expect, test } from 'vitest';
import type { Host } from '../hosts/index.ts';
import { fitHost, LEAVING, servedBy, service, type ElectionWorld } from './election-fixture.ts';
import { isDownByMajority, bfdDetectorOf, type PeerBfdStatus } from './bfd-majority.ts';
import { bfdPeers, BFD_OBSERVERS_MAX } from './bfd-peers.ts';

const NAT = 'nat:r1';

const said = (text: string): PeerBfdStatus[] =>
  text.split('').map((letter) => (letter === '.' ? undefined : letter === 'x' ? 'down' : 'up'));

test.each([
  ['no-peer-has-a-session', '', false],
  ['one-alone-never', 'x', false],
  ['one-alone-whatever-silent-ones-there-are', 'x...', false],
  ['both-of-two', 'xx', true],
  ['one-of-two', 'xo', false],
  ['two-of-three', 'xxo', true],
  ['one-of-three', 'xoo', false],
  ['half-of-four-is-no-majority', 'xxoo', false],
  ['three-of-four', 'xxxo', true],
  ['silent-ones-do-not-count', 'xx.......', true],
  ['silent-ones-do-not-count-for-it-either', 'xxoo.', false],
])('a majority: %s', (_name, text, expected) => {
  expect(isDownByMajority(said(text))).toBe(expected);
});

const pair = (world: ElectionWorld): string => {
  const doc = service(world.fleet, NAT);
  return `${doc?.designated?.host ?? '-'} ${doc?.standby ?? '-'}`;
};

describe('a host whose BFD most of its peers report down', () => {
  test('loses-its-services-to-the-standby-at-once, though-it-says-that-it-is-well', async () => {
    const world = await servedBy('a', 'b', 'c');
    const { epoch = 0 } = service(world.fleet, NAT) ?? {};
    expect(pair(world)).toBe('a c');
    await world.loseBfd('a');
    expect(pair(world)).toBe('c b');
    expect(service(world.fleet, NAT)).toMatchObject({ epoch: epoch + 1, why: { cause: 'host-lost', chosen: 'c' } });
    await world.settle();
    expect(world.wrong()).toEqual([]);
  });

  test('gets-nothing-back-when-BFD-is-up-again', async () => {
    const world = await servedBy('a', 'b', 'c');
    await world.loseBfd('a');
    const { epoch } = service(world.fleet, NAT) ?? {};
    world.bfdDownByMajority.clear();
    await world.settle();
    expect([pair(world), service(world.fleet, NAT)?.epoch]).toEqual(['c b', epoch]);
  });

  test('is-not-a-standby', async () => {
    const world = await servedBy('a', 'b', 'c');
    await world.loseBfd('c');
    expect(pair(world)).toBe('a b');
  });

  test('keeps-them-when-BFD-to-all-others-is-down-as-well', async () => {
    const world = await servedBy('a', 'b', 'c');
    const { epoch } = service(world.fleet, NAT) ?? {};
    for (const name of ['b', 'c', 'a']) await world.loseBfd(name);
    await world.settle();
    expect([service(world.fleet, NAT)?.designated?.host, service(world.fleet, NAT)?.epoch]).toEqual(['a', epoch]);
  });

  test('does-not-lose-them-to-one-that-leaves', async () => {
    const world = await servedBy('a', 'b', 'c');
    await world.edit('b', LEAVING);
    await world.edit('c', LEAVING);
    await world.settle();
    await world.loseBfd('a');
    expect(service(world.fleet, NAT)?.designated?.host).toBe('a');
    expect(world.violations).toEqual([]);
  });

  test('that-leaves-and-keeps-them-for-want-of-another-says-so', async () => {
    const world = await servedBy('a', 'b', 'c');
    for (const name of ['b', 'c', 'a']) await world.edit(name, LEAVING);
    await world.loseBfd('a');
    await world.settle();
    expect(service(world.fleet, NAT)?.designated).toMatchObject({ host: 'a', degraded: true });
    expect(world.wrong()).toEqual([]);
  });

  test('that-is-down-as-well-loses-them-to-one-that-leaves', async () => {
    const world = await servedBy('a', 'b', 'c');
    for (const name of ['b', 'c', 'a']) await world.edit(name, LEAVING);
    world.bfdDownByMajority.add('a');
    await world.silent('a', 'down');
    await world.settle();
    expect(service(world.fleet, NAT)?.designated).toMatchObject({ host: 'c', degraded: true });
    expect(world.wrong()).toEqual([]);
  });

  test('loses-what-is-being-handed-over-to-whom-it-is-handed-to', async () => {
    const world = await servedBy('a', 'b', 'c');
    for (const name of ['b', 'c']) world.views.behind.add(name);
    await world.edit('a', LEAVING);
    await world.reconcile();
    const to = service(world.fleet, NAT)?.handover?.to;
    await world.loseBfd('a');
    expect(service(world.fleet, NAT)).toMatchObject({ designated: { host: to } });
    world.views.behind.clear();
    await world.settle();
    expect(world.wrong()).toEqual([]);
  });
});

describe('which hosts have BFD sessions', () => {
  test('all-listen-for-the-designated-and-the-standby, and-they-for-all', async () => {
    const world = await servedBy('a', 'b', 'c', 'd');
    expect(service(world.fleet, 'subnet-route:s1')).toMatchObject({ designated: { host: 'b' }, standby: 'd' });
    await world.put(fitHost('x'));
    const peers = ['a', 'b', 'c', 'd', 'x'].map((name) => bfdPeers(world.fleet, name).join(' '));
    expect(peers).toEqual(['b c d', 'a c d', 'a b d', 'a b c', '']);
  });

  test('only-the-first-ones-by-name-listen, and-whoever-is-in-one-s-list-has-one-in-his', async () => {
    const names = Array.from({ length: BFD_OBSERVERS_MAX + 10 }, (_, nth) => `h${String(nth).padStart(3, '0')}`);
    const world = await servedBy(...names);
    const lists = new Map(names.map((name) => [name, bfdPeers(world.fleet, name)]));
    for (const [name, peers] of lists) for (const peer of peers) expect(lists.get(peer)).toContain(name);
    expect(lists.get('h000')).toHaveLength(BFD_OBSERVERS_MAX + 1);
    expect([...lists.values()].filter((peers) => peers.length === 0)).toHaveLength(8);
  });

  test('a-standby-that-has-just-lost-its-last-port-is-listened-for-by-all-that-it-listens-for', async () => {
    const world = await servedBy('a', 'b', 'c');
    await world.unplug('c-s1');
    expect(pair(world)).toBe('a c');
    expect(['a', 'b', 'c'].map((name) => bfdPeers(world.fleet, name).join())).toEqual(['b,c', 'a,c', 'a,b']);
  });

  test('none-when-it-is-switched-off', async () => {
    const world = await servedBy('a', 'b', 'c');
    await world.setting({ bfd: false });
    expect(bfdPeers(world.fleet, 'a')).toEqual([]);
  });

  test('only-who-listens-is-asked, and-most-are-not-asked-at-all', async () => {
    const world = await servedBy('a', 'b', 'c');
    await world.put(fitHost('x'));
    const queried: string[] = [];
    const down = new Map([['a', 2]]);
    const detector = bfdDetectorOf(world.fleet, {
      countBfdDown: (host) => down.get(host) ?? 0,
      bfdStatus: (listener, host) => {
        queried.push(`${listener} ${host}`);
        return 'down';
      },
    });
    expect(['a', 'b', 'x'].map(detector.isBfdDownByMajority)).toEqual([true, false, false]);
    expect(queried).toEqual(['b a', 'c a']);
    expect(detector.hasBfdUp('a')).toBe(false);
  });

  test('one-without-a-tunnel-to-a-host-says-nothing-of-it', async () => {
    const world = await servedBy('a', 'b', 'c', 'd');
    const detector = bfdDetectorOf(world.fleet, {
      countBfdDown: () => 2,
      // As agents report it: a peer that is not among those with BFD down is up.
      bfdStatus: (listener) => (listener === 'b' || listener === 'c' ? 'down' : 'up'),
    });
    expect([detector.hasBfdUp('a'), detector.isBfdDownUnanimously('a')]).toEqual([true, false]);
    for (const facts of [{ transportZone: 'far' }, { transportZone: undefined, tunnelAddress: undefined }]) {
      await world.edit('d', facts as Partial<Host>);
      expect([detector.hasBfdUp('a'), detector.isBfdDownUnanimously('a'), detector.isBfdDownByMajority('a')]).toEqual([
        false,
        true,
        true,
      ]);
    }
  });
});

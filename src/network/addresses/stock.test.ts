import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { idOf, type AppliedChange, type Change, type Stored } from '../../fleet/index.ts';
import { CLAIM, type Claim } from '../claim.ts';
import { formatIp, parseIp, type IpVersion } from './ip.ts';
import { PORT, SUBNET, type Address, type Port, type Subnet } from '../model.ts';
import type { PoolKey } from '../ports/nic-requirements.ts';
import { claim, commit, fleetWith, network, port, segment, subnet } from '../network-fixture.ts';
import { Stock, stockOf } from './stock.ts';
import { addressKey } from './subnet-stock.ts';
import { poolOf } from '../networks/topology.ts';

const NONE: ReadonlySet<string> = new Set();
const user = (ip: string, of: string): Address => ({ ip, subnet: of, chosenBy: 'user' });

describe('stock', () => {
  test('free is the pool size minus held minus claimed addresses', () => {
    const fleet = fleetWith(network('n'), subnet('s', 'n', '10.0.0.0/28'));
    const stock = stockOf(fleet);
    expect(stock.figures('network:n', 4)).toEqual({ total: 13n, held: 0n, claimed: 0n, free: 13n });
    commit(fleet, [port('p1', 'n', { addresses: [user('10.0.0.2', 's')] })]);
    commit(fleet, [claim('i1', { pool: 'network:n', version: 4, count: 3 })]);
    expect(stock.figures('network:n', 4)).toEqual({ total: 13n, held: 1n, claimed: 3n, free: 9n });
    expect(stock.free('network:n', 4)).toBe(9n);
    expect(stock.free('network:n', 6)).toBe(0n);
    expect(stock.versionsOf('network:n')).toEqual([4]);
  });

  test('a-gateway-inside-a-pool-counts-as-held, and is never picked', () => {
    const pools = [{ first: '10.0.0.1', last: '10.0.0.3' }];
    const fleet = fleetWith(network('n'), subnet('s', 'n', '10.0.0.0/28', { pools }));
    const stock = stockOf(fleet);
    expect(stock.figures('network:n', 4)).toMatchObject({ total: 3n, held: 1n, free: 2n });
    expect(stock.pick('network:n', 4, NONE)).toEqual({ ip: '10.0.0.2', subnet: 's' });
    expect(stock.holderOf('s', '10.0.0.1')).toBe('gateway');
  });

  test('an-address-outside-the-pools-is-held-and-takes-nothing-of-them', () => {
    const pools = [{ first: '10.0.0.8', last: '10.0.0.9' }];
    const fleet = fleetWith(network('n'), subnet('s', 'n', '10.0.0.0/28', { pools }));
    commit(fleet, [port('p1', 'n', { addresses: [user('10.0.0.5', 's')] })]);
    const stock = stockOf(fleet);
    expect(stock.figures('network:n', 4)).toMatchObject({ total: 2n, held: 0n, free: 2n });
    expect(stock.holderOf('s', '10.0.0.5')).toBe('p1');
    expect(stock.heldCountOf('s')).toBe(1);
    expect(stock.isPooled('s', '10.0.0.5')).toBe(false);
  });

  test('pools-that-change-under-held-addresses-count-them-anew', () => {
    const fleet = fleetWith(network('n'), subnet('s', 'n', '10.0.0.0/28'));
    commit(fleet, [port('p1', 'n', { addresses: [user('10.0.0.5', 's')] })]);
    const stock = stockOf(fleet);
    commit(fleet, [subnet('s', 'n', '10.0.0.0/28', { pools: [{ first: '10.0.0.8', last: '10.0.0.9' }] })]);
    expect(stock.figures('network:n', 4)).toMatchObject({ total: 2n, held: 0n, free: 2n });
    commit(fleet, [subnet('s', 'n', '10.0.0.0/28', { pools: [{ first: '10.0.0.5', last: '10.0.0.6' }] })]);
    expect(stock.figures('network:n', 4)).toMatchObject({ total: 2n, held: 1n, free: 1n });
    expect(stock.pick('network:n', 4, NONE)?.ip).toBe('10.0.0.6');
  });

  test('figures-are-exact-beyond-2^53', () => {
    const fleet = fleetWith(network('n'), subnet('s6', 'n', '2001:db8::/64'));
    const stock = stockOf(fleet);
    // Without the routers' anycast address and the gateway.
    expect(stock.figures('network:n', 6).total).toBe((1n << 64n) - 2n);
    commit(fleet, [port('p1', 'n', { addresses: [user('2001:db8::7', 's6')] })]);
    expect(stock.free('network:n', 6)).toBe((1n << 64n) - 3n);
    expect(stock.pick('network:n', 6, NONE)?.ip).toBe('2001:db8::2');
  });

  test('a-pool-is-a-segment-on-a-routed-network, and all-subnets-of-a-plain-one', () => {
    const fleet = fleetWith(
      network('n'),
      segment('a', 'n'),
      segment('b', 'n'),
      subnet('s1', 'n', '10.0.0.0/30', { segment: 'a' }),
      subnet('s2', 'n', '10.0.1.0/30', { segment: 'b' }),
      network('plain'),
      subnet('s3', 'plain', '10.0.0.0/30'),
      subnet('s4', 'plain', '10.0.1.0/30'),
    );
    const stock = stockOf(fleet);
    expect(stock.free('segment:a', 4)).toBe(1n);
    expect(stock.free('network:n', 4)).toBe(0n);
    expect(stock.free('network:plain', 4)).toBe(2n);
    const first = stock.pick('network:plain', 4, NONE);
    expect(first).toEqual({ ip: '10.0.0.2', subnet: 's3' });
    // Excluded by subnet and address: the same address in another subnet is a different one.
    expect(stock.pick('network:plain', 4, new Set([addressKey('s3', '10.0.0.2')]))?.subnet).toBe('s4');
    expect(stock.pick('segment:a', 4, new Set([addressKey('s3', '10.0.0.2')]))?.ip).toBe('10.0.0.2');
  });

  test('a-commit-may-hand-an-address-from-one-port-to-another-in-any-order', () => {
    const fleet = fleetWith(network('n'), subnet('s', 'n', '10.0.0.0/28'));
    const held = { addresses: [user('10.0.0.5', 's')] };
    commit(fleet, [port('p2', 'n', held), port('p1', 'n')]);
    commit(fleet, [port('p1', 'n', held), port('p2', 'n')]);
    expect(stockOf(fleet).holdersOf('s', '10.0.0.5')).toEqual(['p1']);
    expect(stockOf(fleet).figures('network:n', 4).held).toBe(1n);
  });
});

const POOLS: readonly PoolKey[] = ['network:n', 'segment:a', 'segment:b'];
const V4 = '10.0.0.0/28';
const V6 = '2001:db8::/124';

const ipIn = (version: IpVersion, at: number): string =>
  formatIp({
    version,
    value: (parseIp(version === 4 ? '10.0.0.0' : '2001:db8::') as { value: bigint }).value + BigInt(at),
  });

const anySubnet: fc.Arbitrary<Change> = fc
  .record({
    id: fc.constantFrom('s1', 's2', 's3'),
    segment: fc.constantFrom(undefined, 'a', 'b'),
    gateway: fc.option(fc.integer({ min: 1, max: 14 }), { nil: undefined }),
    cuts: fc.uniqueArray(fc.integer({ min: 1, max: 14 }), { maxLength: 6 }),
  })
  .map(({ id, segment: on, gateway, cuts }) => {
    const version = id === 's3' ? 6 : 4;
    const sorted = [...cuts].sort((one, other) => one - other);
    const pools = sorted.flatMap((first, at) =>
      at % 2 === 0 ? [{ first: ipIn(version, first), last: ipIn(version, sorted[at + 1] ?? first) }] : [],
    );
    const change = subnet(id, 'n', version === 4 ? V4 : V6, { pools });
    const { gateway: _, ...doc } = change.doc as Subnet;
    return {
      ...change,
      doc: {
        ...doc,
        ...(on !== undefined && { segment: on }),
        ...(gateway !== undefined && { gateway: ipIn(version, gateway) }),
      },
    };
  });

const anyPort: fc.Arbitrary<Change> = fc
  .record({
    id: fc.constantFrom('p1', 'p2', 'p3', 'p4'),
    addresses: fc.uniqueArray(fc.tuple(fc.constantFrom('s1', 's2', 's3'), fc.integer({ min: 0, max: 15 })), {
      maxLength: 3,
      selector: ([of, at]) => `${of}|${at}`,
    }),
  })
  .map(({ id, addresses }) =>
    port(id, 'n', { addresses: addresses.map(([of, at]) => user(ipIn(of === 's3' ? 6 : 4, at), of)) }),
  );

const anyClaim: fc.Arbitrary<Change> = fc
  .record({
    id: fc.constantFrom('i1', 'i2'),
    addresses: fc.array(
      fc.record({
        pool: fc.constantFrom<string>(...POOLS),
        version: fc.constantFrom<4 | 6>(4, 6),
        count: fc.integer({ min: 1, max: 3 }),
      }),
      { maxLength: 2 },
    ),
  })
  .map(({ id, addresses }) => claim(id, ...addresses));

const anyRemoval: fc.Arbitrary<Change> = fc.constantFrom(
  ...['s1', 's2', 's3'].map((id) => ({ kind: SUBNET.name, id, doc: null })),
  ...['p1', 'p2', 'p3', 'p4'].map((id) => ({ kind: PORT.name, id, doc: null })),
  ...['i1', 'i2'].map((id) => ({ kind: CLAIM.name, id, doc: null })),
);

const anyChanges = fc.array(fc.oneof(anySubnet, anyPort, anyPort, anyClaim, anyRemoval), { maxLength: 30 });

/** All figures of the stock, computed from the documents alone. */
function recount(documents: ReadonlyMap<string, Stored>): unknown {
  const of = <D>(kind: string): [string, D][] =>
    [...documents].flatMap(([key, { id, doc }]) => (key.startsWith(`${kind}/`) ? [[id as string, doc as D]] : []));
  const holders = new Map<string, string[]>();
  for (const [id, { addresses }] of of<Port>(PORT.name)) {
    for (const one of addresses) {
      const key = addressKey(one.subnet, one.ip);
      holders.set(key, [...(holders.get(key) ?? []), id]);
    }
  }
  const figures = POOLS.flatMap((pool) =>
    ([4, 6] as const).map((version) => {
      const subnets = of<Subnet>(SUBNET.name)
        .filter(([, doc]) => poolOf(doc) === pool && doc.version === version)
        .sort(([one], [other]) => (one < other ? -1 : 1));
      const all = subnets.flatMap(([id, doc]) => poolAddresses(doc).map((ip) => ({ id, doc, ip })));
      const free = all.filter(({ id, doc, ip }) => doc.gateway !== ip && !holders.has(addressKey(id, ip)));
      const claimed = of<Claim>(CLAIM.name)
        .flatMap(([, doc]) => doc.addresses)
        .filter((one) => one.pool === pool && one.version === version)
        .reduce((sum, { count }) => sum + count, 0);
      return {
        pool,
        version,
        total: BigInt(all.length),
        held: BigInt(all.length - free.length),
        claimed: BigInt(claimed),
        free: BigInt(free.length - claimed),
        pick: free[0] && { ip: free[0].ip, subnet: free[0].id },
      };
    }),
  );
  const owners = [...holders]
    .map(([key, ids]) => [key, ids.sort()] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));
  return { figures, owners };
}

/** In address order within a subnet. */
function poolAddresses({ pools, version }: Subnet): string[] {
  const values = pools.flatMap(({ first, last }) => {
    const [from, to] = [(parseIp(first) as { value: bigint }).value, (parseIp(last) as { value: bigint }).value];
    return Array.from({ length: Number(to - from) + 1 }, (_, at) => from + BigInt(at));
  });
  return values.sort((one, other) => (one < other ? -1 : 1)).map((value) => formatIp({ version, value }));
}

function describeStock(stock: Stock): unknown {
  const figures = POOLS.flatMap((pool) =>
    ([4, 6] as const).map((version) => ({
      pool,
      version,
      ...stock.figures(pool, version),
      pick: stock.pick(pool, version, NONE),
    })),
  );
  const owners = ['s1', 's2', 's3'].flatMap((of) =>
    Array.from({ length: 16 }, (_, at) => ipIn(of === 's3' ? 6 : 4, at)).flatMap((ip) => {
      const ids = [...stock.holdersOf(of, ip)].sort();
      return ids.length === 0 ? [] : [[addressKey(of, ip), ids] as const];
    }),
  );
  return { figures, owners: owners.sort(([one], [other]) => (one < other ? -1 : 1)) };
}

describe('stock, after any changes', () => {
  test('equals-a-recount, and-inverses-undo-every-change', () => {
    fc.assert(
      fc.property(anyChanges, (changes) => {
        const stock = new Stock();
        const documents = new Map<string, Stored>();
        const done: { readonly applied: AppliedChange; readonly before: unknown }[] = [];
        for (const [at, { kind, id, doc }] of changes.entries()) {
          const before = documents.get(`${kind}/${id}`);
          const after = doc === null ? undefined : { id: idOf(PORT, id), revision: at, doc };
          const applied: AppliedChange = { kind, before, after };
          done.push({ applied, before: describeStock(stock) });
          stock.apply(applied);
          if (after === undefined) documents.delete(`${kind}/${id}`);
          else documents.set(`${kind}/${id}`, after);
          expect(describeStock(stock)).toEqual(recount(documents));
        }
        for (const { applied, before } of done.reverse()) {
          stock.apply({ kind: applied.kind, before: applied.after, after: applied.before });
          expect(describeStock(stock)).toEqual(before);
        }
      }),
    );
  });
});

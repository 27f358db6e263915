// What lies at the holder between the two ends: who may leave it and fetch it, when, and how much of it.
import { describe, expect, test } from 'vitest';
import { COLLECT_WAIT_MAX_MS, DEPOSIT_MAX, type CollectResponse, type DepositRequest } from '../protocol/messages.ts';
import type { Reply } from '../../link/index.ts';
import { NAT, ConntrackSyncWorld } from '../node/switch/conntrack-sync-fixture.ts';
import type { AgentIdentity } from './admission.ts';
import type { AgentGateway } from './agent-gateway.ts';

const LINE = 'udp 10.0.0.5 4000 203.0.113.9 53 198.51.100.7 1024';
const COPY = { service: NAT, operation: 'op', phase: 'syncing' } as const;

interface Ends {
  readonly world: ConntrackSyncWorld;
  readonly gateway: AgentGateway;
  readonly as: (host: string) => AgentIdentity;
}

/** From c1 to c2, with agents that do nothing about it. */
async function startSeeding(): Promise<Ends> {
  const world = await ConntrackSyncWorld.start(['c1', 'c2', 'c3']);
  for (const { testHost } of world.hosts.values()) await testHost.stop();
  await world.designate('c1');
  await world.setHandoverPhase('c1', 'c2', 'syncing');
  const as = (host: string): AgentIdentity => ({ host, token: world.plane.host(host)?.credential ?? '' });
  return { world, gateway: world.plane.leader.gateway, as };
}

const deposit = (facts: Partial<DepositRequest> = {}): DepositRequest => ({
  ...COPY,
  connections: [LINE],
  inAll: 1,
  ...facts,
});
const REFUSED = { kind: 'refused', code: 'not-copied-now' };
const COPIED = { kind: 'answer', answer: { kind: 'connections', connections: [LINE], inAll: 1 } };
const NOT_YET = { kind: 'answer', answer: { kind: 'not-yet' } };

describe('the two ends', () => {
  test('what-the-old-one-leaves-the-new-one-gets-as-often-as-it-asks', async () => {
    const { gateway, as } = await startSeeding();
    expect(gateway.deposit(as('c1'), deposit())).toEqual({ kind: 'answer', answer: { kept: 1 } });
    expect(await gateway.collect(as('c2'), COPY)).toEqual(COPIED);
    expect(await gateway.collect(as('c2'), COPY)).toEqual(COPIED);
  });

  test('the-new-one-waits-for-the-old-one', async () => {
    const { world, gateway, as } = await startSeeding();
    const waiting = gateway.collect(as('c2'), COPY);
    await world.clock.pass(1000);
    gateway.deposit(as('c1'), deposit());
    expect(await waiting).toEqual(COPIED);
  });

  test('and-not-for-ever', async () => {
    const { world, gateway, as } = await startSeeding();
    expect(await gateway.collect(as('c2'), { ...COPY, waitMs: 0 })).toEqual(NOT_YET);
    let said: Reply<CollectResponse> | undefined;
    void gateway.collect(as('c2'), COPY).then((reply) => (said = reply));
    await world.clock.pass(COLLECT_WAIT_MAX_MS - 100);
    expect(said).toBeUndefined();
    await world.clock.pass(300);
    expect(said).toEqual(NOT_YET);
  });

  test('a-newer-deposit-takes-the-place-of-the-one-before', async () => {
    const { gateway, as } = await startSeeding();
    gateway.deposit(as('c1'), deposit());
    gateway.deposit(as('c1'), deposit({ connections: [], inAll: 0 }));
    expect(await gateway.collect(as('c2'), COPY)).toMatchObject({ answer: { connections: [] } });
  });
});

describe('no other host', () => {
  test.each<readonly [string, Partial<DepositRequest>]>([
    ['c2', {}],
    ['c3', {}],
    ['c1', { operation: 'another' }],
    ['c1', { phase: 'resyncing' }],
    ['c1', { service: 'nat:another' }],
  ])('leaves anything: %s %j', async (host, facts) => {
    const { gateway, as } = await startSeeding();
    expect(gateway.deposit(as(host), deposit(facts))).toMatchObject(REFUSED);
    expect(await gateway.collect(as('c2'), { ...COPY, waitMs: 0 })).toEqual(NOT_YET);
  });

  test.each<readonly [string, Partial<DepositRequest>]>([
    ['c1', {}],
    ['c3', {}],
    ['c2', { operation: 'another' }],
    ['c2', { phase: 'resyncing' }],
  ])('fetches anything: %s %j', async (host, { service: _, ...facts }) => {
    const { gateway, as } = await startSeeding();
    gateway.deposit(as('c1'), deposit());
    const { connections: _connections, inAll: _inAll, ...ask } = { ...deposit(), ...facts };
    expect(await gateway.collect(as(host), ask)).toMatchObject(REFUSED);
  });
});

test.each([
  ['seeding', 'syncing'],
  ['syncing', 'seeding'],
  ['seeding', 'seeding'],
] as const)('agents-of-two-versions-copy-to-each-other: one says %s, the other %s', async (left, fetched) => {
  const { gateway, as } = await startSeeding();
  expect(gateway.deposit(as('c1'), deposit({ phase: left }))).toEqual({ kind: 'answer', answer: { kept: 1 } });
  const answer = await gateway.collect(as('c2'), { ...COPY, phase: fetched, waitMs: 0 });
  expect(answer).toMatchObject({ answer: { kind: 'connections', connections: [LINE] } });
});

describe('nothing is kept for long', () => {
  test('a-phase-that-is-over-ends-the-wait-and-what-lies-there', async () => {
    const { world, gateway, as } = await startSeeding();
    const waiting = gateway.collect(as('c2'), COPY);
    await world.setHandoverPhase('c1', 'c2', 'switched');
    expect(await waiting).toMatchObject(REFUSED);
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    gateway.deposit(as('c1'), deposit());
    await world.setHandoverPhase('c1', 'c3', 'syncing');
    expect(await gateway.collect(as('c3'), { ...COPY, waitMs: 0 })).toEqual(NOT_YET);
    await world.setHandoverPhase('c1', 'c2', 'syncing');
    expect(await gateway.collect(as('c2'), { ...COPY, waitMs: 0 })).toEqual(NOT_YET);
  });

  test('after-a-minute-it-is-gone', async () => {
    const { world, gateway, as } = await startSeeding();
    gateway.deposit(as('c1'), deposit());
    await world.clock.pass(59_000);
    expect(await gateway.collect(as('c2'), COPY)).toEqual(COPIED);
    await world.clock.pass(2000);
    expect(await gateway.collect(as('c2'), { ...COPY, waitMs: 0 })).toEqual(NOT_YET);
  });

  test('without-the-lease-no-host-is-served', async () => {
    const { world, gateway, as } = await startSeeding();
    gateway.deposit(as('c1'), deposit());
    await world.plane.leader.stop();
    expect(gateway.deposit(as('c1'), deposit())).toMatchObject({ kind: 'elsewhere' });
    expect(await gateway.collect(as('c2'), COPY)).toMatchObject({ kind: 'elsewhere' });
  });

  test('more-than-there-is-room-for-is-cut', async () => {
    const { world, gateway, as } = await startSeeding();
    const many = Array.from({ length: DEPOSIT_MAX }, () => LINE);
    const kept: unknown[] = [];
    for (let nth = 0; nth < 11; nth += 1) {
      const service = `nat:r${nth}`;
      await world.setHandoverPhase('c1', 'c2', 'syncing', service);
      kept.push(gateway.deposit(as('c1'), { ...COPY, service, connections: many, inAll: many.length }));
    }
    expect(kept.at(9)).toEqual({ kind: 'answer', answer: { kept: DEPOSIT_MAX } });
    expect(kept.at(10)).toEqual({ kind: 'answer', answer: { kept: 0 } });
    const collected = await gateway.collect(as('c2'), { ...COPY, service: 'nat:r10' });
    expect(collected).toEqual({
      kind: 'answer',
      answer: { kind: 'connections', connections: [], inAll: DEPOSIT_MAX },
    });
  });
});

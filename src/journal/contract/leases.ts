// The contract of leases: one holder at a time on the store's clock, an epoch that grows at every change of holder, and
// commits refused to a server that is no longer the holder.
import { expect, test } from 'vitest';
import type { CommitGroup, Lease, LeaseAnswer, LeaseRequest, Store } from '../store.ts';
import { batch, type ContractWorld, type MakeWorld, mustWriteGroup, put, worldOf } from './world.ts';

// Far longer than any test takes: a lease that must not run out.
const LONG_MS = 600_000;

const leaseRequest = (holder: string, ttlMs = LONG_MS): LeaseRequest => ({
  name: 'fleet',
  holder,
  url: `http://${holder}.test`,
  ttlMs,
});

function expectHeld(answer: LeaseAnswer): Lease {
  if (answer.kind !== 'held') throw new Error(`refused: ${JSON.stringify(answer.lease)}`);
  return answer.lease;
}

export function leaseContract(make: MakeWorld): void {
  holdingContract(make);
  expiryContract(make);
  fenceContract(make);
  sessionContract(make);
  timeContract(make);
}

/** The request of a program that is no server. */
const timedRequest = (holder: string, ttlMs = LONG_MS): LeaseRequest => ({
  ...{ name: 'manager/m1', holder, url: '', ttlMs },
  endsWith: 'time',
});

function timeContract(make: MakeWorld): void {
  test('a lease that ends with its time alone outlasts the session that it was acquired in', async () => {
    const world = await worldOf(make);
    const first = await world.another();
    const { epoch } = expectHeld(await first.acquireLease(timedRequest('p1')));
    await first.close();
    expect(await world.store.acquireLease(timedRequest('p2'))).toMatchObject({
      kind: 'refused',
      lease: { holder: 'p1', epoch },
    });
    expect(expectHeld(await world.store.renewLease({ ...timedRequest('p1'), epoch }))).toMatchObject({ epoch });
  });

  test('it is renewed through any store, and bound to none of them by that', async () => {
    const world = await worldOf(make);
    const first = await world.another();
    const { epoch } = expectHeld(await first.acquireLease(timedRequest('p1')));
    await first.close();
    for (let round = 1; round <= 2; round += 1) {
      const other = await world.another();
      expect(expectHeld(await other.renewLease({ ...timedRequest('p1'), epoch })).epoch).toBe(epoch);
      await other.close();
    }
    expect(await world.store.acquireLease(timedRequest('p2'))).toMatchObject({ kind: 'refused' });
    const wrong = { ...timedRequest('p2'), epoch };
    expect(await world.store.renewLease(wrong)).toMatchObject({ kind: 'refused', lease: { holder: 'p1' } });
    const stale = { ...timedRequest('p1'), epoch: epoch + 1 };
    expect(await world.store.renewLease(stale)).toMatchObject({ kind: 'refused', lease: { epoch } });
  });

  test('its end leaves a server’s lease alone that was taken through the same store', async () => {
    const world = await worldOf(make);
    const server = expectHeld(await world.store.acquireLease(leaseRequest('s1')));
    const { epoch } = expectHeld(await world.store.acquireLease(timedRequest('p1')));
    await world.store.releaseLease('manager/m1', epoch);
    expect(await (await world.another()).acquireLease(leaseRequest('s2'))).toMatchObject({ kind: 'refused' });
    expect(expectHeld(await world.store.renewLease({ ...leaseRequest('s1'), epoch: server.epoch }))).toMatchObject({
      holder: 's1',
    });
  });

  test('it runs out by the store’s clock, is renewed no more, and the next one is under the next epoch', async () => {
    const world = await worldOf(make);
    const first = expectHeld(await world.store.acquireLease(timedRequest('p1', world.shortTtlMs)));
    await world.pass(world.shortTtlMs);
    expect(await world.store.renewLease({ ...timedRequest('p1'), epoch: first.epoch })).toMatchObject({
      kind: 'refused',
    });
    const second = expectHeld(await (await world.another()).acquireLease(timedRequest('p1')));
    expect(second.epoch).toBe(first.epoch + 1);
    await world.store.releaseLease('manager/m1', second.epoch);
    expect(expectHeld(await world.store.acquireLease(timedRequest('p2'))).epoch).toBe(second.epoch + 1);
  });

  test('never two winners: many ask at once for one that is free, and for one that ran out', async () => {
    const world = await worldOf(make);
    const stores = [world.store, await world.another(), await world.another()];
    for (let round = 1; round <= 3; round += 1) {
      const requests = Array.from({ length: 9 }, (_, n) =>
        (stores[n % 3] as Store).acquireLease(timedRequest(`p${n}`)),
      );
      const answers = await Promise.all(requests);
      expect(answers.filter((one) => one.kind === 'held')).toHaveLength(1);
      expect(new Set(answers.map((one) => `${one.lease?.holder}/${one.lease?.epoch}`))).toHaveProperty('size', 1);
      expect(answers[0]?.lease?.epoch).toBe(round);
      await world.store.releaseLease('manager/m1', round);
    }
  });

  test('leases are listed by how their names begin, also those that ran out', async () => {
    const world = await worldOf(make);
    expect(await world.store.readLeases('manager/')).toEqual([]);
    expectHeld(await world.store.acquireLease(leaseRequest('s1')));
    const second = expectHeld(await world.store.acquireLease({ ...timedRequest('p2'), name: 'manager/m2' }));
    expectHeld(await world.store.acquireLease({ ...timedRequest('p_'), name: 'manager_m3' }));
    const first = expectHeld(await world.store.acquireLease(timedRequest('p1')));
    await world.store.releaseLease('manager/m1', first.epoch);
    const found = await (await world.another()).readLeases('manager/');
    expect(found.map(({ name, holder, epoch, expiresInMs }) => [name, holder, epoch, expiresInMs > 0])).toEqual([
      ['manager/m1', 'p1', first.epoch, false],
      ['manager/m2', 'p2', second.epoch, true],
    ]);
  });
}

/** Never waits for longer than a test may take, and says which it was. */
async function waitForVacancy(store: Store, until: () => Promise<void>): Promise<'vacant' | 'timed out'> {
  const timeout = AbortSignal.timeout(20_000);
  const waiting = store.awaitVacancy({ name: 'fleet', signal: timeout });
  await until();
  await waiting;
  return timeout.aborted ? 'timed out' : 'vacant';
}

function sessionContract(make: MakeWorld): void {
  test('waiting for a vacancy ends when it is aborted', async () => {
    const { store, another } = await worldOf(make);
    expectHeld(await (await another()).acquireLease(leaseRequest('s1')));
    const over = new AbortController();
    const waiting = store.awaitVacancy({ name: 'fleet', signal: over.signal });
    over.abort();
    await waiting;
  });

  test('a holder whose session ended is succeeded at once, under the next epoch, and writes no more', async () => {
    const world = await worldOf(make);
    if (world.sessions === 'none') return;
    const holder = await world.another();
    const first = expectHeld(await holder.acquireLease(leaseRequest('s1')));
    expectHeld(await holder.renewLease({ ...leaseRequest('s1'), epoch: first.epoch }));
    expect(await world.store.acquireLease(leaseRequest('s2'))).toMatchObject({ kind: 'refused' });
    expect(await waitForVacancy(world.store, () => holder.close())).toBe('vacant');
    expect((await world.store.readLease('fleet'))?.expiresInMs).toBeGreaterThan(LONG_MS / 2);
    const second = expectHeld(await world.store.acquireLease(leaseRequest('s2')));
    expect(second).toMatchObject({ holder: 's2', epoch: first.epoch + 1 });
    const stale = { lease: 'fleet', epoch: first.epoch, holder: 's1' };
    expect(await world.store.write({ fence: stale, batches: [batch([put('a')])] })).toMatchObject({
      conflict: { kind: 'lease', actualEpoch: second.epoch, expired: false },
    });
    const fence = { lease: 'fleet', epoch: second.epoch, holder: 's2' };
    expect(await mustWriteGroup(world.store, { fence, batches: [batch([put('a')])] })).toBe(1);
    // The same once more: the session that counts is that of the new tenure.
    const third = await world.another();
    expect(await third.acquireLease(leaseRequest('s3'))).toMatchObject({ kind: 'refused', lease: { holder: 's2' } });
  });

  test('never two winners: many seize the lease of a holder whose session ended', async () => {
    const world = await worldOf(make);
    if (world.sessions === 'none') return;
    const holder = await world.another();
    const { epoch } = expectHeld(await holder.acquireLease(leaseRequest('s0')));
    const stores = [world.store, await world.another(), await world.another()];
    await holder.close();
    const answers = await Promise.all(stores.map((store, nth) => store.acquireLease(leaseRequest(`s${nth + 1}`))));
    const winners = answers.filter((one) => one.kind === 'held');
    expect(winners).toHaveLength(1);
    expect(answers.map((one) => [one.lease?.epoch, one.lease?.holder])).toEqual(
      answers.map(() => [epoch + 1, winners[0]?.lease.holder]),
    );
  });
}

function holdingContract(make: MakeWorld): void {
  test('the first to ask holds the lease, another is refused and learns who does', async () => {
    const world = await worldOf(make);
    const other = await world.another();
    expect(await world.store.readLease('fleet')).toBeUndefined();
    const lease = expectHeld(await world.store.acquireLease(leaseRequest('s1')));
    expect(lease).toMatchObject({ name: 'fleet', holder: 's1', url: 'http://s1.test', epoch: 1 });
    expect(lease.expiresInMs).toBeGreaterThan(0);
    expect(lease.expiresInMs).toBeLessThanOrEqual(LONG_MS);
    expect(await other.acquireLease(leaseRequest('s2'))).toMatchObject({
      kind: 'refused',
      lease: { holder: 's1', epoch: 1 },
    });
    expect(await other.readLease('fleet')).toMatchObject({ holder: 's1', url: 'http://s1.test', epoch: 1 });
    expect(expectHeld(await other.acquireLease({ ...leaseRequest('s2'), name: 'other' }))).toMatchObject({
      holder: 's2',
      epoch: 1,
    });
  });

  test('only the holder renews, with its epoch; renewing keeps the epoch', async () => {
    const { store } = await worldOf(make);
    expect(await store.renewLease({ ...leaseRequest('s1'), epoch: 1 })).toEqual({ kind: 'refused', lease: undefined });
    const { epoch } = expectHeld(await store.acquireLease(leaseRequest('s1')));
    expect(
      expectHeld(await store.renewLease({ ...leaseRequest('s1'), epoch, url: 'http://moved.test' })),
    ).toMatchObject({ epoch });
    expect(await store.readLease('fleet')).toMatchObject({ holder: 's1', url: 'http://moved.test', epoch });
    expect(await store.renewLease({ ...leaseRequest('s2'), epoch })).toMatchObject({
      kind: 'refused',
      lease: { holder: 's1' },
    });
    expect(await store.renewLease({ ...leaseRequest('s1'), epoch: epoch + 1 })).toMatchObject({ kind: 'refused' });
  });

  test('a released lease is free at once; a release by a stale epoch does nothing', async () => {
    const { store } = await worldOf(make);
    await store.releaseLease('fleet', 1);
    const first = expectHeld(await store.acquireLease(leaseRequest('s1')));
    await store.releaseLease('fleet', first.epoch);
    expect((await store.readLease('fleet'))?.expiresInMs).toBeLessThanOrEqual(0);
    const second = expectHeld(await store.acquireLease(leaseRequest('s2')));
    expect(second.epoch).toBe(first.epoch + 1);
    await store.releaseLease('fleet', first.epoch);
    expect((await store.readLease('fleet'))?.expiresInMs).toBeGreaterThan(0);
    expect(await store.acquireLease(leaseRequest('s1'))).toMatchObject({ kind: 'refused', lease: { holder: 's2' } });
  });

  test('many acquirers at once: one wins, the others learn of it', async () => {
    const world = await worldOf(make);
    const stores = [world.store, await world.another(), await world.another()];
    for (let round = 1; round <= 3; round += 1) {
      const requests = Array.from({ length: 9 }, (_, n) =>
        (stores[n % 3] as Store).acquireLease(leaseRequest(`s${n}`)),
      );
      const answers = await Promise.all(requests);
      const winners = answers.filter((one) => one.kind === 'held');
      expect(winners).toHaveLength(1);
      const winner = winners[0]?.lease;
      expect(winner?.epoch).toBe(round);
      expect(new Set(answers.map((one) => one.lease?.holder))).toEqual(new Set([winner?.holder]));
      await world.store.releaseLease('fleet', round);
    }
  });
}

async function expireLease(world: ContractWorld): Promise<Lease> {
  const lease = expectHeld(await world.store.acquireLease(leaseRequest('s1', world.shortTtlMs)));
  await world.pass(world.shortTtlMs);
  return lease;
}

function expiryContract(make: MakeWorld): void {
  test('a lease expires on the store’s clock; the next holder gets the next epoch', async () => {
    const world = await worldOf(make);
    const first = await expireLease(world);
    expect((await world.store.readLease('fleet'))?.expiresInMs).toBeLessThanOrEqual(0);
    expect(await world.store.renewLease({ ...leaseRequest('s1'), epoch: first.epoch })).toMatchObject({
      kind: 'refused',
    });
    const second = expectHeld(await (await world.another()).acquireLease(leaseRequest('s2')));
    expect(second).toMatchObject({ holder: 's2', epoch: first.epoch + 1 });
    expect(await world.store.renewLease({ ...leaseRequest('s1'), epoch: first.epoch })).toMatchObject({
      kind: 'refused',
      lease: { holder: 's2', epoch: second.epoch },
    });
  });

  test('the old holder that asks again gets a new epoch too', async () => {
    const world = await worldOf(make);
    const first = await expireLease(world);
    expect(expectHeld(await world.store.acquireLease(leaseRequest('s1'))).epoch).toBe(first.epoch + 1);
  });

  test('a renewed lease outlasts its first time', async () => {
    const world = await worldOf(make);
    const { epoch } = expectHeld(await world.store.acquireLease(leaseRequest('s1', world.shortTtlMs)));
    expectHeld(await world.store.renewLease({ ...leaseRequest('s1'), epoch }));
    await world.pass(world.shortTtlMs);
    expect(await (await world.another()).acquireLease(leaseRequest('s2'))).toMatchObject({ kind: 'refused' });
  });
}

function fenceContract(make: MakeWorld): void {
  test('the holder writes under its epoch; a stale epoch is refused and named', async () => {
    const world = await worldOf(make);
    const first = expectHeld(await world.store.acquireLease(leaseRequest('s1')));
    const stale = { fence: { lease: 'fleet', epoch: first.epoch }, batches: [batch([put('a')])] };
    expect(await mustWriteGroup(world.store, stale)).toBe(1);
    await world.store.releaseLease('fleet', first.epoch);
    const second = expectHeld(await (await world.another()).acquireLease(leaseRequest('s2')));
    expect(await world.store.write(stale)).toEqual({
      kind: 'conflict',
      conflict: { kind: 'lease', lease: 'fleet', epoch: first.epoch, actualEpoch: second.epoch, expired: false },
    });
    const fence = { lease: 'fleet', epoch: second.epoch };
    expect(await mustWriteGroup(world.store, { fence, expectedHead: 1, batches: [batch([put('a')])] })).toBe(2);
  });

  test('another holder of the same epoch is refused', async () => {
    const { store } = await worldOf(make);
    const { epoch } = expectHeld(await store.acquireLease(leaseRequest('s1')));
    const group = (holder: string): CommitGroup => ({
      fence: { lease: 'fleet', epoch, holder },
      batches: [batch([put('a')])],
    });
    expect(await store.write(group('s2'))).toMatchObject({ conflict: { kind: 'lease', expired: false } });
    expect(await mustWriteGroup(store, group('s1'))).toBe(1);
  });

  test('an expired lease is refused at commit though no other server took it', async () => {
    const world = await worldOf(make);
    const { epoch } = await expireLease(world);
    expect(await world.store.write({ fence: { lease: 'fleet', epoch }, batches: [batch([put('a')])] })).toEqual({
      kind: 'conflict',
      conflict: { kind: 'lease', lease: 'fleet', epoch, actualEpoch: epoch, expired: true },
    });
  });

  test('the lease is checked first, then the head, then the resources', async () => {
    const { store } = await worldOf(make);
    const wrongAll = batch([put('a')], { preconditions: [{ kind: 'at', resource: ['host', 'a'], revision: 7 }] });
    const group = { fence: { lease: 'fleet', epoch: 1 }, expectedHead: 7, batches: [wrongAll] };
    expect(await store.write(group)).toMatchObject({ conflict: { kind: 'lease' } });
    expectHeld(await store.acquireLease(leaseRequest('s1')));
    expect(await store.write(group)).toMatchObject({ conflict: { kind: 'head' } });
    expect(await store.write({ ...group, expectedHead: 0 })).toMatchObject({ conflict: { kind: 'resource' } });
  });
}

// When passes are made, what ends one and what ends the loop: on a journal whose lease comes and goes.
import { expect, onTestFinished, test } from 'vitest';
import { Registry } from '../fleet/index.ts';
import { Journal } from './journal.ts';
import { LeaseHolderLoop, type LeaseHolderLoopOptions, type LeasePass } from './lease-holder-loop.ts';
import { MemoryDisk } from './memory-disk.ts';
import { MemoryStore } from './memory-store.ts';
import { accept } from './request.ts';
import { StoreUnavailable } from './store.ts';
import { VirtualClock } from './virtual-clock-fixture.ts';

class LoopWorld {
  readonly clock = new VirtualClock();
  readonly #store = new MemoryStore(new MemoryDisk({ journalId: 'j', nowMs: () => this.clock.nowMs() }));
  readonly journal = new Journal({
    store: this.#store,
    registry: new Registry([]),
    clock: this.clock,
    ids: { next: (prefix) => `${prefix}-1`, secret: () => 's' },
  });
  readonly stop = new AbortController();
  readonly passes: LeasePass[] = [];
  readonly warnings: object[] = [];
  /** How the loop ended. */
  ended: unknown;

  async lead(): Promise<void> {
    const answer = await this.#store.acquireLease({ name: 'fleet', holder: 's', url: 'u', ttlMs: 1e9 });
    if (answer.kind !== 'held') throw new Error('no lease');
    await this.journal.lead({ lease: 'fleet', epoch: answer.lease.epoch });
  }

  async lose(): Promise<void> {
    await this.#store.releaseLease('fleet', this.journal.fence?.epoch ?? 0);
    this.journal.stepDown();
  }

  loop(
    reconcile: (pass: LeasePass) => Promise<unknown> = () => Promise.resolve(),
    options: Partial<LeaseHolderLoopOptions> = {},
  ): LeaseHolderLoop {
    onTestFinished(() => this.stop.abort());
    return new LeaseHolderLoop({
      journal: this.journal,
      clock: this.clock,
      log: { warn: (facts) => void this.warnings.push(facts) },
      name: 'test',
      reconcile: async (pass) => {
        this.passes.push(pass);
        await reconcile(pass);
      },
      intervalMs: 1000,
      ...options,
    });
  }

  async start(loop: LeaseHolderLoop): Promise<void> {
    loop.run(this.stop.signal).then(
      () => (this.ended = 'yes'),
      (error: unknown) => (this.ended = error),
    );
    await this.clock.settle();
  }
}

test('a-follower-makes-no-pass-and-a-holder-makes-one-after-each-interval', async () => {
  const world = new LoopWorld();
  await world.start(world.loop());
  await world.clock.pass(5000);
  expect(world.passes).toEqual([]);
  await world.lead();
  await world.clock.pass(3000);
  expect(world.passes.map(({ fence }) => fence?.epoch)).toEqual([1, 1, 1]);
  await world.lose();
  await world.clock.pass(3000);
  expect(world.passes).toHaveLength(3);
});

test('a-loop-that-runs-as-follower-has-no-lease-in-its-pass', async () => {
  const world = new LoopWorld();
  await world.start(world.loop(undefined, { runsAsFollower: true }));
  expect(world.passes).toMatchObject([{ fence: undefined, isNewTerm: false }]);
});

test('a-pass-that-loses-the-lease-ends-without-an-error-and-the-term-stays-new-until-one-ended', async () => {
  const world = new LoopWorld();
  await world.lead();
  let losses = 2;
  const commit = async (): Promise<unknown> => {
    if ((losses -= 1) >= 0) await world.lose();
    return world.journal.submit({ by: 'test', decide: () => accept([], null) });
  };
  const loop = world.loop(commit);
  expect(await loop.reconcile()).toBe(false);
  expect(await loop.reconcile()).toBe(false);
  expect(world.passes).toHaveLength(1);
  await world.lead();
  expect(await loop.reconcile()).toBe(false);
  await world.lead();
  expect(await loop.reconcile()).toBe(true);
  expect(await loop.reconcile()).toBe(true);
  expect(world.passes.map(({ fence, isNewTerm }) => [fence?.epoch, isNewTerm])).toEqual([
    [1, true],
    [2, true],
    [3, true],
    [3, false],
  ]);
  expect(world.warnings).toEqual([
    { controller: 'test', code: 'not-holder' },
    { controller: 'test', code: 'not-holder' },
  ]);
});

test('a-pass-that-is-cut-short-under-a-lease-that-is-kept-is-made-again-after-the-interval', async () => {
  const world = new LoopWorld();
  await world.lead();
  let failures = 1;
  const loop = world.loop(
    async () => {
      if ((failures -= 1) >= 0) throw new StoreUnavailable('away', { outcome: 'failed' });
    },
    { isSilent: true },
  );
  await world.start(loop);
  await world.clock.pass(2000);
  expect(world.passes.map(({ isNewTerm }) => isNewTerm)).toEqual([true, true, false]);
  expect(world.warnings).toEqual([]);
});

test('any-other-error-ends-the-loop-with-it', async () => {
  const world = new LoopWorld();
  await world.lead();
  const bug = new Error('a bug');
  await world.start(world.loop(() => Promise.reject(bug)));
  expect(world.ended).toBe(bug);
});

test('wake-ends-the-pause-and-a-wake-during-a-pass-is-not-lost', async () => {
  const world = new LoopWorld();
  await world.lead();
  const gate = Promise.withResolvers<undefined>();
  const loop = world.loop(() => (world.passes.length === 2 ? gate.promise : Promise.resolve()));
  await world.start(loop);
  const startMs = world.clock.nowMs();
  loop.wake();
  loop.wake();
  await world.clock.settle();
  expect(world.passes).toHaveLength(2);
  loop.wake();
  await world.clock.settle();
  expect(world.passes).toHaveLength(2);
  gate.resolve(undefined);
  await world.clock.settle();
  expect(world.passes).toHaveLength(3);
  expect(world.clock.nowMs()).toBe(startMs);
  await world.clock.pass(1000);
  expect(world.passes).toHaveLength(4);
});

test('abort-ends-the-pause-at-once-and-a-pass-when-it-lets-itself-be-ended', async () => {
  const paused = new LoopWorld();
  await paused.lead();
  await paused.start(paused.loop());
  paused.stop.abort();
  await paused.clock.settle();
  expect(paused.ended).toBe('yes');

  const busy = new LoopWorld();
  await busy.lead();
  const gate = Promise.withResolvers<undefined>();
  await busy.start(busy.loop(() => gate.promise));
  busy.stop.abort();
  await busy.clock.settle();
  expect(busy.passes[0]?.signal.aborted).toBe(true);
  expect(busy.ended).toBe(undefined);
  gate.resolve(undefined);
  await busy.clock.settle();
  expect(busy.ended).toBe('yes');
  expect(busy.passes).toHaveLength(1);
});

test('a-start-delay-comes-before-the-first-pass-and-abort-ends-it', async () => {
  const world = new LoopWorld();
  await world.lead();
  await world.start(world.loop(undefined, { startDelayMs: 60_000 }));
  await world.clock.pass(59_999);
  expect(world.passes).toEqual([]);
  await world.clock.pass(1);
  expect(world.passes).toHaveLength(1);

  const stopped = new LoopWorld();
  await stopped.lead();
  await stopped.start(stopped.loop(undefined, { startDelayMs: 60_000 }));
  stopped.stop.abort();
  await stopped.clock.settle();
  expect(stopped.ended).toBe('yes');
  expect(stopped.passes).toEqual([]);
});

test('the-interval-is-asked-for-after-each-pass', async () => {
  const world = new LoopWorld();
  await world.lead();
  const intervalsMs = [10, 5000];
  await world.start(world.loop(undefined, { intervalMs: () => intervalsMs[world.passes.length - 1] ?? 1e6 }));
  await world.clock.pass(10);
  expect(world.passes).toHaveLength(2);
  await world.clock.pass(4999);
  expect(world.passes).toHaveLength(2);
  await world.clock.pass(1);
  expect(world.passes).toHaveLength(3);
});

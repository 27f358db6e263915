// The torture kit, generic over operation kinds: each step twice, a failure at each step, a crash at each port call,
// a cancel at each step. Whatever happens, the operation ends where it would have ended.
import { describe, expect, test } from 'vitest';
import type { FleetReader } from '../fleet/index.ts';
import type { Journal } from '../journal/index.ts';
import type { Driver, OperationKind } from './kind.ts';
import { countsOf, isUnfinished, OPERATION } from './model.ts';
import { TORTURED, TortureWorld, type PortCallFault, type TortureSubject } from './torture-world.ts';

/** Far more ticks than any kind needs: an operation that is not done by then hangs. */
const TICKS_MAX = 200;
const TICK_MS = 5_000;
/** A test plays an operation once for each of its steps: a slow machine takes a while. */
const TIMEOUT_MS = 60_000;

interface Run {
  readonly fault: PortCallFault;
  /** Request the cancel once this many commits are made. */
  readonly cancelAfter?: number;
}

interface Ended {
  readonly world: TortureWorld;
  readonly state: string;
  readonly fleet: FleetReader;
  readonly crashed: boolean;
}

export function torture(subject: TortureSubject): void {
  describe(`torture: ${subject.name}`, { timeout: TIMEOUT_MS }, () => {
    test('runs to its end undisturbed', async () => {
      const ended = await run(subject, { fault: { kind: 'none' } });
      expectDone(subject, ended);
    });

    test('each-step-twice', async () => {
      const twice: OperationKind = {
        ...subject.kind,
        plan: (...args) => subject.kind.plan(...args).flatMap((next) => [next, next]),
      };
      const plain = await run(subject, { fault: { kind: 'none' } });
      const ended = await run({ ...subject, kind: twice, ...twiceDriven(subject) }, { fault: { kind: 'none' } });
      expectDone(subject, ended);
      expect(ended.world.commits, 'a step that is taken twice commits once').toBe(plain.world.commits);
    });

    test.each(['failed', 'unknown-written', 'unknown-lost'] as const)('a failure at each step: %s', async (outcome) => {
      await atEachPortCall(subject, (at) => ({ kind: 'fail', at, outcome }), false);
    });

    test.each(['before', 'after'] as const)('a crash at each port call, %s its effect', async (effect) => {
      await atEachPortCall(subject, (at) => ({ kind: 'crash', at, effect }), true);
    });

    // A driver that ignores its signal: what it did all the same must be found again, or undone.
    test.each(['before', 'after'] as const)('the lease lost during each action, %s its effect', async (effect) => {
      const { world } = await run(subject, { fault: { kind: 'none' } });
      for (let at = 1; at <= world.driverCalls; at += 1) {
        const ended = await run(subject, { fault: { kind: 'abort', at, effect, cause: 'lease-lost' } });
        expect(ended.world.abortedWith).toMatchObject({ code: 'lease-lost' });
        expectDone(subject, ended);
      }
    });

    test.each(['before', 'after'] as const)('a cancel during each action, %s its effect', async (effect) => {
      const { world } = await run(subject, { fault: { kind: 'none' } });
      for (let at = 1; at <= world.driverCalls; at += 1) {
        const ended = await run(subject, { fault: { kind: 'abort', at, effect, cause: 'operation-cancelled' } });
        if (subject.kind.cancel.kind === 'none') expectDone(subject, ended);
        else {
          expect(ended.world.abortedWith).toMatchObject({ code: 'operation-cancelled' });
          expect(ended.state).toBe('cancelled');
          expect(subject.wrongWhenCancelled(ended.fleet), `at action ${at}`).toEqual([]);
          expect(ended.world.violations).toEqual([]);
        }
      }
    });

    test('a cancel at each step', async () => {
      const { world } = await run(subject, { fault: { kind: 'none' } });
      for (let cancelAfter = 1; cancelAfter <= world.commits; cancelAfter += 1) {
        const ended = await run(subject, { fault: { kind: 'none' }, cancelAfter });
        // Only a cancel that comes when the last item is done already finds nothing to cancel. A kind that has none continues.
        if (subject.kind.cancel.kind === 'none') expect(ended.state).toBe('succeeded');
        else if (cancelAfter <= world.commits / 2)
          expect(ended.state, `cancelled after ${cancelAfter} commits`).toBe('cancelled');
        if (ended.state === 'cancelled') expect(subject.wrongWhenCancelled(ended.fleet), `${cancelAfter}`).toEqual([]);
        else expectDone(subject, ended);
        expect(ended.world.violations).toEqual([]);
      }
    });
  });
}

/** Every action is carried out twice in a row: the second time must be a no-op. */
function twiceDriven({ drivers }: TortureSubject): Pick<TortureSubject, 'drivers'> {
  if (drivers === undefined) return {};
  const twice = (driver: Driver): Driver => ({
    carryOut: async (action, fence) => {
      await driver.carryOut(action, fence);
      return driver.carryOut(action, fence);
    },
  });
  return { drivers: () => new Map([...drivers()].map(([name, driver]) => [name, twice(driver)])) };
}

async function atEachPortCall(
  subject: TortureSubject,
  faultAt: (at: number) => PortCallFault,
  crashes: boolean,
): Promise<void> {
  const plain = await run(subject, { fault: { kind: 'none' } });
  expect(plain.world.portCalls).toBeGreaterThan(2);
  for (let at = 1; at <= plain.world.portCalls; at += 1) {
    const ended = await run(subject, { fault: faultAt(at) });
    expect(ended.crashed, `planted at port call ${at}`).toBe(crashes);
    expectDone(subject, ended);
  }
}

function expectDone(subject: TortureSubject, { state, fleet, world }: Ended): void {
  expect(state).toBe('succeeded');
  expect(subject.wrongWhenDone(fleet)).toEqual([]);
  expect(countsOf(fleet, TORTURED)).toMatchObject({ pending: 0, running: 0, waiting: 0, failed: 0 });
  expect(world.violations).toEqual([]);
}

async function run(subject: TortureSubject, { fault, cancelAfter }: Run): Promise<Ended> {
  const world = new TortureWorld(subject, fault);
  let server = await world.incarnate();
  let crashed = false;
  for (let tick = 0; tick < TICKS_MAX; tick += 1) {
    const alive = await Promise.race([live(world, server, cancelAfter), server.died]);
    if (alive === 'died') {
      crashed = true;
      server = await world.incarnate();
    }
    const operation = server.journal.fleet.get(OPERATION, TORTURED);
    if (operation !== undefined && !isUnfinished(operation.doc)) {
      return { world, state: operation.doc.state, fleet: server.journal.fleet, crashed };
    }
  }
  const state = server.journal.fleet.get(OPERATION, TORTURED);
  throw new Error(`${subject.name} does not end under ${JSON.stringify(fault)}: ${JSON.stringify(state)}`);
}

/** One tick of a server's life: the start if it is still due, the world's part, a pass of the engine. */
async function live(
  world: TortureWorld,
  { journal, controller }: { journal: Journal; controller: { pass(): Promise<void> } },
  cancelAfter: number | undefined,
): Promise<'alive'> {
  const { subject, clock } = world;
  clock.advance(TICK_MS);
  await renewLease(journal);
  if (journal.fleet.revision === 0) {
    await journal.submit({ by: 'torture', decide: () => ({ kind: 'accept', changes: subject.prepare, answer: null }) });
  }
  if (journal.fleet.get(OPERATION, TORTURED) === undefined) {
    await journal.submit(subject.start(TORTURED, clock.nowMs()));
  }
  if (cancelAfter !== undefined && world.commits >= cancelAfter) await world.cancel(journal, TORTURED);
  await subject.world(journal, clock.nowMs());
  await controller.pass();
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
  return 'alive';
}

/** The kit's ticks are long: the lease is kept as a lease keeper would. */
async function renewLease(journal: Journal): Promise<void> {
  const lease = await journal.store.readLease('fleet');
  if (lease === undefined) return;
  await journal.store.renewLease({ ...lease, ttlMs: 600_000 });
}

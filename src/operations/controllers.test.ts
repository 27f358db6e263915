// The engine and the lease keeper as shells: what wakes them, what they survive, what they never do.
import { describe, expect, test } from 'vitest';
import { Type } from 'typebox';
import { idOf, put, Registry, schemaKind } from '../fleet/index.ts';
import { Journal, StoreUnavailable, type Clock } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import { OperationsController } from './controller.ts';
import { cancelOperation, newOperation } from './decide.ts';
import { record, wait, type Driver, type OperationKind } from './kind.ts';
import { LeaseController } from './lease-controller.ts';
import type { Log } from './log.ts';
import { ITEM, OPERATION, operationsModel } from './model.ts';

const THING = schemaKind('thing', Type.Object({ ready: Type.Boolean() }, { additionalProperties: false }));
const OP = idOf(OPERATION, 'op-1');
const quiet: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Sleepers wake when the test moves time. */
class TestClock implements Clock {
  #nowMs = 0;
  #sleepers: { at: number; wake: () => void }[] = [];
  nowMs(): number {
    return this.#nowMs;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) resolve();
      const wake = (): void => {
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      signal?.addEventListener('abort', wake, { once: true });
      this.#sleepers.push({ at: this.#nowMs + ms, wake });
    });
  }
  async turn(): Promise<void> {}
  async pass(ms: number): Promise<void> {
    this.#nowMs += ms;
    for (const { wake } of this.#sleepers.filter(({ at }) => at <= this.#nowMs)) wake();
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#nowMs);
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
}

const whenReady: OperationKind = {
  name: 'when-ready',
  steps: ['look'],
  cancel: { kind: 'none', because: 'test' },
  retry: { kind: 'does', what: 'looks again' },
  rollback: { kind: 'none', because: 'test' },
  plan: (fleet, _operation, items) =>
    items.map((item) => {
      const thing = fleet.get(THING, idOf(THING, item.doc.target.id));
      if (thing?.doc.ready === true) return record(item, { state: 'done', step: 'look' });
      return wait(item, { code: 'not-ready' });
    }),
};

function world(kind: OperationKind = whenReady, drivers = new Map<string, Driver>(), log: Log = quiet) {
  const clock = new TestClock();
  const disk = new MemoryDisk({ journalId: 'j', nowMs: () => clock.nowMs() });
  const server = (name: string) => {
    const store = new MemoryStore(disk);
    let count = 0;
    const ids = { next: (prefix: string) => `${prefix}-${name}-${(count += 1)}`, secret: () => 'secret' };
    const journal = new Journal({ store, registry: new Registry([operationsModel, { kinds: [THING] }]), clock, ids });
    const lease = new LeaseController({ journal, clock, log, holder: name, url: `http://${name}` });
    const kinds = new Map([[kind.name, kind]]);
    const engine = new OperationsController({ journal, clock, kinds, drivers, log });
    return { store, journal, lease, engine };
  };
  return { clock, server };
}

/** A server that holds the lease, until `stop`. */
async function leading(server: ReturnType<typeof world>['server']) {
  const one = server('s1');
  const stop = new AbortController();
  void one.lease.run(stop.signal);
  await settled();
  return { ...one, stop };
}

function start(journal: Journal, ready: boolean, deadlineMs = 1e9): Promise<unknown> {
  return journal.submit({
    by: 'test',
    decide: () => {
      const items = [{ key: 'a', target: { kind: 'thing', id: 'a' }, step: 'look' }];
      const operation = { id: OP, kind: 'when-ready', title: 'look', by: 'test', nowMs: 0, deadlineMs, items };
      const changes = [put(THING, idOf(THING, 'a'), { ready }), ...newOperation(operation)];
      return { kind: 'accept', changes, answer: null };
    },
  });
}

const makeReady = (journal: Journal): Promise<unknown> =>
  journal.submit({
    by: 'test',
    decide: () => ({ kind: 'accept', changes: [put(THING, idOf(THING, 'a'), { ready: true })], answer: null }),
  });

describe('the engine', () => {
  test('a-change-of-the-target-wakes-its-item-without-waiting-for-the-scan', async () => {
    const { clock, server } = world();
    const { journal, engine, stop } = await leading(server);
    void engine.run(stop.signal);
    await start(journal, false);
    await settled();
    expect(journal.fleet.get(ITEM, idOf(ITEM, 'op-1.a'))?.doc.reason).toEqual({ code: 'not-ready' });
    await makeReady(journal);
    await settled();
    expect(clock.nowMs()).toBe(0);
    expect(journal.fleet.get(OPERATION, OP)?.doc.state).toBe('succeeded');
    stop.abort();
  });

  test('an-engine-that-saw-no-event-finds-the-work-by-its-scan', async () => {
    const { clock, server } = world();
    const { journal, engine, stop } = await leading(server);
    await start(journal, true);
    void engine.run(stop.signal);
    await clock.pass(5000);
    await clock.pass(5000);
    expect(journal.fleet.get(OPERATION, OP)?.doc.state).toBe('succeeded');
    stop.abort();
  });

  test('a-waiting-operation-at-rest-commits-nothing', async () => {
    const { clock, server } = world();
    const { journal, engine, stop } = await leading(server);
    void engine.run(stop.signal);
    await start(journal, false);
    await clock.pass(5000);
    const { revision } = journal.fleet;
    for (let round = 0; round < 20; round += 1) await clock.pass(5000);
    expect(journal.fleet.revision).toBe(revision);
    stop.abort();
  });

  test('a-bug-in-a-plan-stops-its-operation-and-says-so', async () => {
    const broken: OperationKind = {
      ...whenReady,
      plan: () => {
        throw new Error('boom');
      },
    };
    const { server } = world(broken);
    const { journal, engine, stop } = await leading(server);
    void engine.run(stop.signal);
    await start(journal, true);
    await settled();
    expect(journal.fleet.get(OPERATION, OP)?.doc).toMatchObject({
      stopped: true,
      reason: { code: 'internal-error', detail: 'boom' },
    });
    stop.abort();
  });
});

describe('actions', () => {
  const ITEMS = 150;
  const acting: OperationKind = {
    ...whenReady,
    plan: (_fleet, _operation, items) =>
      items.map((item) => {
        const action = { driver: 'slow', item: item.id, step: 'look', attempt: item.doc.attempt, args: {} };
        return { kind: 'act', item: item.id, expected: item.revision, action };
      }),
    observe: (_fleet, item) => record(item, { state: 'done', step: 'look' }),
  };

  async function runActions(driver: Driver, kind = acting) {
    const { clock, server } = world(kind, new Map([['slow', driver]]));
    const { journal, engine, stop } = await leading(server);
    void engine.run(stop.signal);
    const items = Array.from({ length: ITEMS }, (_, at) => ({
      key: `${at}`,
      target: { kind: 'thing', id: `${at}` },
      step: 'look',
    }));
    const operation = { id: OP, kind: 'when-ready', title: 'act', by: 'test', nowMs: 0, deadlineMs: 1e9, items };
    await journal.submit({
      by: 'test',
      decide: () => ({ kind: 'accept', changes: newOperation(operation), answer: null }),
    });
    await settled();
    return { journal, clock, stop: () => stop.abort() };
  }

  test('more-than-fit-at-once-are-carried-out-as-room-is-made-and-each-once', async () => {
    let [underWay, most, calls] = [0, 0, 0];
    const waiting: (() => void)[] = [];
    const { journal, stop } = await runActions({
      carryOut: async () => {
        calls += 1;
        underWay += 1;
        most = Math.max(most, underWay);
        await new Promise<void>((resolve) => waiting.push(resolve));
        underWay -= 1;
        return { kind: 'applied' };
      },
    });
    expect(underWay).toBe(64);
    while (waiting.length > 0) {
      waiting.shift()?.();
      await settled();
    }
    expect({ most, calls }).toEqual({ most: 64, calls: ITEMS });
    expect(journal.fleet.get(OPERATION, OP)?.doc.state).toBe('succeeded');
    stop();
  });

  test('who-waits-for-room-is-planned-for-when-it-has-its-turn, not by scans, and who has an action under way is not', async () => {
    let planned = 0;
    const waiting: (() => void)[] = [];
    const counting: OperationKind = {
      ...acting,
      plan: (fleet, operation, items, nowMs) => {
        planned += items.length;
        return acting.plan(fleet, operation, items, nowMs);
      },
    };
    const carryOut: Driver['carryOut'] = async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { kind: 'applied' };
    };
    const { journal, clock, stop } = await runActions({ carryOut }, counting);
    const before = planned;
    for (let scan = 0; scan < 5; scan += 1) await clock.pass(5000);
    expect(planned).toBe(before);
    while (waiting.length > 0) {
      waiting.shift()?.();
      await settled();
    }
    expect(planned).toBeLessThanOrEqual(3 * ITEMS);
    expect(journal.fleet.get(OPERATION, OP)?.doc.state).toBe('succeeded');
    stop();
  });

  test('one-that-is-stale-is-not-repeated-before-the-next-scan', async () => {
    let calls = 0;
    const { clock, stop } = await runActions({
      carryOut: () => {
        calls += 1;
        return Promise.resolve({ kind: 'stale' });
      },
    });
    const before = calls;
    await settled();
    expect(calls).toBe(before);
    expect(before).toBeLessThanOrEqual(2 * ITEMS);
    await clock.pass(5000);
    expect(calls).toBeGreaterThan(before);
    stop();
  });
});

describe('a fault of the program', () => {
  test('in-undoing-stops-the-cancel-once-and-does-not-write-on-and-on', async () => {
    const broken: OperationKind = {
      ...whenReady,
      cancel: { kind: 'does', what: 'test' },
      undo: () => {
        throw new Error('boom');
      },
    };
    const { clock, server } = world(broken);
    const { journal, engine, stop } = await leading(server);
    void engine.run(stop.signal);
    await start(journal, false);
    await settled();
    const kinds = new Map([[broken.name, broken]]);
    await journal.submit({ by: 'test', decide: (fleet) => cancelOperation(fleet, { id: OP, kinds, nowMs: 0 }) });
    await settled();
    const { revision } = journal.fleet;
    for (let round = 0; round < 5; round += 1) await clock.pass(5000);
    expect(journal.fleet.revision).toBe(revision);
    expect(journal.fleet.get(OPERATION, OP)?.doc).toMatchObject({ state: 'cancelling', stopped: true });
    stop.abort();
  });

  test('in-a-driver-that-never-answers-ends-at-the-deadline', async () => {
    const hanging: OperationKind = {
      ...whenReady,
      plan: (_fleet, _operation, items) =>
        items.map((item) => {
          const action = { driver: 'hangs', item: item.id, step: 'look', attempt: 1, args: {} };
          return { kind: 'act', item: item.id, expected: item.revision, action };
        }),
      observe: (_fleet, item, outcome) => wait(item, outcome.kind === 'failed' ? outcome.reason : { code: 'odd' }),
    };
    const { clock, server } = world(hanging, new Map([['hangs', { carryOut: () => new Promise(() => undefined) }]]));
    const { journal, engine, stop } = await leading(server);
    void engine.run(stop.signal);
    await start(journal, false, 20_000);
    for (let round = 0; round < 8; round += 1) await clock.pass(5000);
    expect(journal.fleet.get(OPERATION, OP)?.doc).toMatchObject({ state: 'failed', counts: { failed: 1 } });
    stop.abort();
  });
});

describe('the lease', () => {
  test('one-of-two-servers-decides-and-the-other-knows-where', async () => {
    const { server } = world();
    const [one, other] = [server('s1'), server('s2')];
    const stop = new AbortController();
    void one.lease.run(stop.signal);
    await settled();
    void other.lease.run(stop.signal);
    await settled();
    expect(one.journal.fence).toEqual({ lease: 'fleet', epoch: 1, holder: 's1' });
    expect(other.journal.fence).toBeUndefined();
    expect(other.lease.holder()).toMatchObject({ holder: 's1', url: 'http://s1' });
    stop.abort();
  });

  test('a-clean-stop-hands-over-at-once-with-a-higher-epoch', async () => {
    const { clock, server } = world();
    const [one, other] = [server('s1'), server('s2')];
    const [stopOne, stopOther] = [new AbortController(), new AbortController()];
    void one.lease.run(stopOne.signal);
    await settled();
    void other.lease.run(stopOther.signal);
    stopOne.abort();
    await settled();
    await clock.pass(3000);
    expect(other.journal.fence).toEqual({ lease: 'fleet', epoch: 2, holder: 's2' });
    stopOther.abort();
  });

  test('a-holder-that-cannot-reach-the-store-steps-down-when-its-time-is-over', async () => {
    const { clock, server } = world();
    const { store, journal, stop } = await leading(server);
    const cut = (): Promise<never> => Promise.reject(new StoreUnavailable('cut', { outcome: 'failed' }));
    Object.assign(store, { renewLease: cut, acquireLease: cut });
    for (const ms of [3000, 3000, 3000]) await clock.pass(ms);
    expect(journal.fence).toBeDefined();
    await clock.pass(1000);
    expect(journal.fence).toBeUndefined();
    stop.abort();
  });

  test('a-renewal-that-never-answers-does-not-keep-a-holder-in-office', async () => {
    const { clock, server } = world();
    const { store, journal, stop } = await leading(server);
    const silent = (): Promise<never> => new Promise(() => undefined);
    Object.assign(store, { renewLease: silent, acquireLease: silent });
    for (const ms of [3000, 3000, 3000, 3000]) await clock.pass(ms);
    expect(journal.fence).toBeUndefined();
    stop.abort();
  });

  test('a-store-that-is-away-is-logged-once-in-full-then-a-line-a-minute-and-once-when-it-is-back', async () => {
    const lines: string[] = [];
    const take = (level: string) => (facts: object, message: string) => {
      const { err, ...rest } = facts as { readonly err?: Error };
      lines.push(`${level} ${message}${err === undefined ? '' : ' (stack)'} ${JSON.stringify(rest)}`);
    };
    const { clock, server } = world(whenReady, new Map(), {
      info: take('info'),
      warn: take('warn'),
      error: take('error'),
    });
    const { store, stop } = await leading(server);
    const { renewLease, acquireLease } = store;
    const cut = (): Promise<never> => Promise.reject(new StoreUnavailable('cut', { outcome: 'failed' }));
    Object.assign(store, { renewLease: cut, acquireLease: cut });
    for (let round = 0; round < 50; round += 1) await clock.pass(3000);
    Object.assign(store, { renewLease, acquireLease });
    for (let round = 0; round < 5; round += 1) await clock.pass(3000);
    expect(lines).toMatchInlineSnapshot(`
      [
        "info this server decides {"epoch":1}",
        "warn the store does not answer for the lease (stack) {}",
        "warn the deciding lease ran out {"epoch":1}",
        "warn the store still does not answer for the lease {"awayMs":60000,"problem":"cut"}",
        "warn the store still does not answer for the lease {"awayMs":120000,"problem":"cut"}",
        "info the store answers for the lease again {"awayMs":150000}",
        "info this server decides {"epoch":2}",
      ]
    `);
    stop.abort();
  });
});

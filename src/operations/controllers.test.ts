// The engine as a shell: what wakes it, what it survives, what it never does.
import { describe, expect, test } from 'vitest';
import { idOf } from '../fleet/index.ts';
import { startLeading, makeReady, OP, flushMicrotasks, start, whenReady, world } from './controllers-fixture.ts';
import { cancelOperation, newOperation } from './decide.ts';
import { record, wait, type Driver, type OperationKind } from './kind.ts';
import { ITEM, OPERATION } from './model.ts';

describe('the engine', () => {
  test('a-change-of-the-target-wakes-its-item-without-waiting-for-the-scan', async () => {
    const { clock, server } = world();
    const { journal, engine, stop } = await startLeading(server);
    void engine.run(stop.signal);
    await start(journal, false);
    await flushMicrotasks();
    expect(journal.fleet.get(ITEM, idOf(ITEM, 'op-1.a'))?.doc.reason).toEqual({ code: 'not-ready' });
    await makeReady(journal);
    await flushMicrotasks();
    expect(clock.nowMs()).toBe(0);
    expect(journal.fleet.get(OPERATION, OP)?.doc.state).toBe('succeeded');
    stop.abort();
  });

  test('a-wait-that-is-ended-early is planned at once, and that is forgotten afterwards', async () => {
    const asked: number[] = [];
    const kind: OperationKind = {
      ...whenReady,
      plan: (_fleet, items, nowMs) =>
        items
          .filter(({ doc }) => doc.retryAtMs === undefined || nowMs >= doc.retryAtMs)
          .map((item) => {
            asked.push(nowMs);
            return wait(item, { code: 'not-ready' }, nowMs + 3_000_000);
          }),
    };
    const { clock, server } = world(kind);
    const { journal, engine, stop } = await startLeading(server);
    void engine.run(stop.signal);
    await start(journal, false);
    await flushMicrotasks();
    expect(asked).toEqual([0]);
    await clock.pass(20_000);
    expect(asked).toEqual([0]);
    const item = journal.fleet.get(ITEM, idOf(ITEM, 'op-1.a'));
    if (item === undefined) throw new Error('there is no item');
    const { revision } = journal.fleet;
    engine.lookEarly([item]);
    await flushMicrotasks();
    expect(asked).toEqual([0, 20_000]);
    await clock.pass(20_000);
    expect(asked).toEqual([0, 20_000]);
    // It waits for the same still: no news.
    expect(journal.fleet.revision).toBe(revision);
    stop.abort();
  });

  test('a-wait-that-is-ended-early-while-its-action-is-under-way is ended again after its answer', async () => {
    const answers: (() => void)[] = [];
    const driver: Driver = {
      carryOut: () => new Promise((resolve) => answers.push(() => resolve({ kind: 'applied' }))),
    };
    const kind: OperationKind = {
      ...whenReady,
      plan: (_fleet, items, nowMs) =>
        items
          .filter(({ doc }) => doc.retryAtMs === undefined || nowMs >= doc.retryAtMs)
          .map(({ id, revision, doc: { step, attempt } }) => ({
            ...{ kind: 'act', item: id, expected: revision },
            action: { driver: 'd', item: id, step, attempt, args: {} },
          })),
      observe: (item, _outcome, { nowMs }) => wait(item, { code: 'not-ready' }, nowMs + 3_000_000),
    };
    const { server } = world(kind, new Map([['d', driver]]));
    const { journal, engine, stop } = await startLeading(server);
    void engine.run(stop.signal);
    await start(journal, false);
    await flushMicrotasks();
    const item = journal.fleet.get(ITEM, idOf(ITEM, 'op-1.a'));
    if (item === undefined) throw new Error('there is no item');
    engine.lookEarly([item]);
    await flushMicrotasks();
    expect(answers).toHaveLength(1);
    answers[0]?.();
    await flushMicrotasks();
    expect(answers).toHaveLength(2);
    answers[1]?.();
    await flushMicrotasks();
    expect(answers).toHaveLength(2);
    stop.abort();
  });

  test('an-engine-that-saw-no-event-finds-the-work-by-its-scan', async () => {
    const { clock, server } = world();
    const { journal, engine, stop } = await startLeading(server);
    await start(journal, true);
    void engine.run(stop.signal);
    await clock.pass(5000);
    await clock.pass(5000);
    expect(journal.fleet.get(OPERATION, OP)?.doc.state).toBe('succeeded');
    stop.abort();
  });

  test('a-clock-that-is-set-ahead-makes-no-deadline-pass: what-is-unfinished-gets-the-difference, once', async () => {
    const { clock, server } = world();
    const { journal, engine, stop } = await startLeading(server);
    await start(journal, false, 60_000);
    void engine.run(stop.signal);
    await flushMicrotasks();
    const operation = () => journal.fleet.get(OPERATION, OP)?.doc;
    await clock.setAhead(3_600_000);
    await clock.pass(5000);
    expect(operation()).toMatchObject({ state: 'running', deadlineAtMs: 3_660_000 });
    await clock.pass(50_000);
    expect(operation()).toMatchObject({ state: 'running', deadlineAtMs: 3_660_000 });
    await clock.pass(10_000);
    expect(operation()).toMatchObject({ state: 'failed', reason: { failedFor: 'deadline-passed' } });
    stop.abort();
  });

  test('a-waiting-operation-at-rest-commits-nothing', async () => {
    const { clock, server } = world();
    const { journal, engine, stop } = await startLeading(server);
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
    const { journal, engine, stop } = await startLeading(server);
    void engine.run(stop.signal);
    await start(journal, true);
    await flushMicrotasks();
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
    plan: (_fleet, items) =>
      items.map((item) => {
        const action = { driver: 'slow', item: item.id, step: 'look', attempt: item.doc.attempt, args: {} };
        return { kind: 'act', item: item.id, expected: item.revision, action };
      }),
    observe: (item) => record(item, { state: 'done', step: 'look' }),
  };

  async function runActions(driver: Driver, kind = acting) {
    const { clock, server } = world(kind, new Map([['slow', driver]]));
    const { journal, engine, stop } = await startLeading(server);
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
    await flushMicrotasks();
    return { journal, clock, stop: () => stop.abort() };
  }

  test('more-than-the-limit-are-carried-out-as-capacity-is-freed-and-each-once', async () => {
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
      await flushMicrotasks();
    }
    expect({ most, calls }).toEqual({ most: 64, calls: ITEMS });
    expect(journal.fleet.get(OPERATION, OP)?.doc.state).toBe('succeeded');
    stop();
  });

  test('an-item-that-waits-for-capacity-is-planned-at-its-turn, not by scans, and one with an action under way is not', async () => {
    let planned = 0;
    const waiting: (() => void)[] = [];
    const counting: OperationKind = {
      ...acting,
      plan: (fleet, items, nowMs) => {
        planned += items.length;
        return acting.plan(fleet, items, nowMs);
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
      await flushMicrotasks();
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
    await flushMicrotasks();
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
    const { journal, engine, stop } = await startLeading(server);
    void engine.run(stop.signal);
    await start(journal, false);
    await flushMicrotasks();
    const kinds = new Map([[broken.name, broken]]);
    await journal.submit({ by: 'test', decide: (fleet) => cancelOperation(fleet, { id: OP, kinds, nowMs: 0 }) });
    await flushMicrotasks();
    const { revision } = journal.fleet;
    for (let round = 0; round < 5; round += 1) await clock.pass(5000);
    expect(journal.fleet.revision).toBe(revision);
    expect(journal.fleet.get(OPERATION, OP)?.doc).toMatchObject({ state: 'cancelling', stopped: true });
    stop.abort();
  });

  test('in-a-driver-that-never-answers-ends-at-the-deadline', async () => {
    const hanging: OperationKind = {
      ...whenReady,
      plan: (_fleet, items) =>
        items.map((item) => {
          const action = { driver: 'hangs', item: item.id, step: 'look', attempt: 1, args: {} };
          return { kind: 'act', item: item.id, expected: item.revision, action };
        }),
      observe: (item, outcome) => wait(item, outcome.kind === 'failed' ? outcome.reason : { code: 'odd' }),
    };
    const { clock, server } = world(hanging, new Map([['hangs', { carryOut: () => new Promise(() => undefined) }]]));
    const { journal, engine, stop } = await startLeading(server);
    void engine.run(stop.signal);
    await start(journal, false, 20_000);
    for (let round = 0; round < 8; round += 1) await clock.pass(5000);
    expect(journal.fleet.get(OPERATION, OP)?.doc).toMatchObject({ state: 'failed', counts: { failed: 1 } });
    stop.abort();
  });
});

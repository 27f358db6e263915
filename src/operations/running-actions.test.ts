// The signal of an action: what aborts it, that a driver which ignores it blocks nothing, and that nothing is left of it afterwards.
import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { idOf } from '../fleet/index.ts';
import { flushMicrotasks, OP, start, startLeading, whenReady, world } from './controllers-fixture.ts';
import { cancelOperation, newOperation } from './decide.ts';
import { record, wait, type ActionFence, type ActionOutcome, type OperationKind } from './kind.ts';
import { OPERATION } from './model.ts';
import type { ActionAborted } from './running-actions.ts';

const acting: OperationKind = {
  ...whenReady,
  cancel: { kind: 'does', what: 'stops' },
  plan: (_fleet, items) =>
    items.map((item) => {
      const action = { driver: 'slow', item: item.id, step: 'look', attempt: item.doc.attempt, args: {} };
      return { kind: 'act', item: item.id, expected: item.revision, action };
    }),
  observe: (item, outcome) =>
    outcome.kind === 'failed' ? wait(item, outcome.reason) : record(item, { state: 'done', step: 'look' }),
};

type CarryOut = (fence: ActionFence) => Promise<ActionOutcome>;

const never: CarryOut = () => new Promise(() => undefined);

/** Throws on what its signal was aborted with, as `fetch` does. */
const obedient: CarryOut = ({ signal }) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as ActionAborted), { once: true });
  });

async function begin(carryOut: CarryOut, deadlineMs = 1e9) {
  const calls: ActionFence[] = [];
  const errors: unknown[] = [];
  const log = {
    info: () => undefined,
    warn: () => undefined,
    error: (...said: readonly unknown[]) => errors.push(said),
  };
  const driver = {
    carryOut: (_action: unknown, fence: ActionFence) => {
      calls.push(fence);
      return carryOut(fence);
    },
  };
  const { clock, server } = world(acting, new Map([['slow', driver]]), log);
  const leading = await startLeading(server);
  const { journal, engine, stop } = leading;
  let listeners = 0;
  for (const subscribe of ['onCommit', 'onRebuilt', 'onStepDown'] as const) {
    const inner = journal[subscribe].bind(journal);
    journal[subscribe] = (listener: never) => {
      listeners += 1;
      const end = inner(listener);
      return () => {
        listeners -= 1;
        end();
      };
    };
  }
  void engine.run(stop.signal);
  await start(journal, true, deadlineMs);
  await flushMicrotasks();
  return {
    ...leading,
    time: clock,
    calls,
    errors,
    listeners: () => listeners,
    operation: () => journal.fleet.get(OPERATION, OP)?.doc,
    causes: () => calls.map(({ signal }) => (signal.reason as ActionAborted | undefined)?.code),
    cancel: async () => {
      const kinds = new Map([[acting.name, acting]]);
      await journal.submit({ by: 'test', decide: (fleet) => cancelOperation(fleet, { id: OP, kinds, nowMs: 0 }) });
      await flushMicrotasks();
    },
  };
}

/** The engine's own, for what wakes it. */
const OWN_LISTENERS = 1;

test('at-the-deadline-the-action-is-aborted, and its operation fails', async () => {
  const { time, causes, operation, errors, stop } = await begin(obedient, 20_000);
  await time.pass(19_000);
  expect(causes()).toEqual([undefined]);
  await time.pass(10_000);
  expect(causes()).toEqual(['deadline-passed']);
  expect(operation()).toMatchObject({ state: 'failed', reason: { failedFor: 'deadline-passed' } });
  expect(errors).toEqual([]);
  stop.abort();
});

test('a-cancel-aborts-the-action-and-is-done-as-soon-as-the-driver-has-stopped', async () => {
  const { causes, cancel, operation, errors, stop } = await begin(obedient);
  await cancel();
  expect(causes()).toEqual(['operation-cancelled']);
  expect(operation()).toMatchObject({ state: 'cancelled' });
  expect(errors).toEqual([]);
  stop.abort();
});

test('the-loss-of-the-lease-aborts-the-action, which the next holder carries out', async () => {
  const { journal, causes, operation, errors, time, calls, stop } = await begin(obedient);
  journal.stepDown();
  await flushMicrotasks();
  expect(causes()).toEqual(['lease-lost']);
  expect(operation()).toMatchObject({ state: 'running' });
  await time.pass(20_000);
  expect(calls).toHaveLength(2);
  expect(calls[1]?.leaseEpoch).toBeGreaterThan(calls[0]?.leaseEpoch ?? 0);
  expect(causes()).toEqual(['lease-lost', undefined]);
  expect(errors).toEqual([]);
  stop.abort();
});

test('what-other-operations-do-aborts-nothing', async () => {
  const { journal, causes, stop } = await begin(never);
  const items = [{ key: 'b', target: { kind: 'thing', id: 'b' }, step: 'look' }];
  const other = { kind: 'when-ready', title: 'look', by: 'test', nowMs: 0, deadlineMs: 1e9, items };
  const changes = newOperation({ id: idOf(OPERATION, 'op-2'), ...other });
  await journal.submit({ by: 'test', decide: () => ({ kind: 'accept', changes, answer: null }) });
  await flushMicrotasks();
  expect(causes()).toEqual([undefined, undefined]);
  stop.abort();
});

test('a-driver-that-ignores-a-cancel-holds-it-up-for-a-while, not for ever', async () => {
  const { time, cancel, operation, stop } = await begin(never);
  await cancel();
  await time.pass(60_000);
  expect(operation()).toMatchObject({ state: 'cancelling' });
  await time.pass(40_000);
  expect(operation()).toMatchObject({ state: 'cancelled' });
  stop.abort();
});

test('a-driver-that-ignores-the-loss-of-the-lease-is-called-anew-by-the-next-term', async () => {
  const { journal, time, calls, stop } = await begin(never);
  journal.stepDown();
  await time.pass(60_000);
  expect(calls).toHaveLength(1);
  await time.pass(50_000);
  expect(calls).toHaveLength(2);
  stop.abort();
});

test('what-a-driver-throws-that-is-no-abort-is-still-a-fault-of-the-program', async () => {
  const { cancel, operation, errors, stop } = await begin(
    ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('boom')), { once: true });
      }),
  );
  await cancel();
  expect(errors).toHaveLength(1);
  expect(operation()).toMatchObject({ stopped: true, reason: { detail: 'boom' } });
  stop.abort();
});

test('an-error-about-the-abort-counts-as-one: with the abort as its cause, or named as a library names it', async () => {
  for (const toError of [
    (cause: unknown) => new Error('request failed', { cause }),
    () => new DOMException('This operation was aborted', 'AbortError'),
  ]) {
    const { cancel, operation, errors, stop } = await begin(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(toError(signal.reason)), { once: true });
        }),
    );
    await cancel();
    expect(errors).toEqual([]);
    expect(operation()).toMatchObject({ state: 'cancelled' });
    stop.abort();
  }
});

test('nothing-is-left-of-an-action-that-has-ended: no listener on the journal, none of the engine on its signal', async () => {
  const waiting: ((outcome: ActionOutcome) => void)[] = [];
  const { calls, listeners, operation, stop } = await begin(() => new Promise((resolve) => waiting.push(resolve)));
  expect(listeners()).toBe(OWN_LISTENERS + 3);
  waiting[0]?.({ kind: 'applied' });
  await flushMicrotasks();
  expect(operation()).toMatchObject({ state: 'succeeded' });
  expect(listeners()).toBe(OWN_LISTENERS);
  expect(calls.map(({ signal }) => [signal.aborted, getEventListeners(signal, 'abort').length])).toEqual([[false, 0]]);
  stop.abort();
});

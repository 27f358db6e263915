import { describe, expect, test } from 'vitest';
import { Type } from 'typebox';
import { Fleet, idOf, put, Registry, schemaKind, type Change } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { cancelOperation, finishOperation, newOperation, recordStep, retryOperation, stopOperation } from './decide.ts';
import {
  itemOfTask,
  record,
  taskId,
  wait,
  type OperationKind,
  type PlannedStep,
  type Progress,
  type StoredItem,
} from './kind.ts';
import {
  countsOf,
  ITEM,
  ITEM_STATES,
  ITEMS_BY_OPERATION,
  OPEN_ITEMS_BY_ASSIGNEE,
  OPERATION,
  operationsModel,
  type Operation,
} from './model.ts';
import { planOperation, type Finish } from './plan.ts';

const THING = schemaKind('thing', Type.Object({ made: Type.Boolean() }, { additionalProperties: false }));
const OP = idOf(OPERATION, 'op-1');
const DEADLINE = 10_000;

const kind: OperationKind = {
  name: 'make',
  steps: ['make'],
  cancel: { kind: 'does', what: 'things not made are forgotten' },
  retry: { kind: 'does', what: 'tries again' },
  plan: (_fleet, items) => items.map((item) => wait(item, { code: 'no-clay', thing: item.doc.target.id })),
  undo: (_fleet, item) => ({ changes: [{ kind: 'thing', id: item.doc.target.id, doc: null }], expects: [] }),
};
const kinds = new Map([[kind.name, kind]]);

function fleetWith(names: readonly string[]): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, { kinds: [THING] }]));
  const items = names.map((name) => ({ key: name, target: { kind: 'thing', id: name }, step: 'make' }));
  const operation = newOperation({
    id: OP,
    kind: 'make',
    title: 'make',
    by: 'ann',
    nowMs: 0,
    deadlineMs: DEADLINE,
    items,
  });
  fleet.apply(1, [...names.map((name) => put(THING, idOf(THING, name), { made: false })), ...operation]);
  return fleet;
}

function apply(fleet: Fleet, decision: Decision<unknown>): readonly Change[] {
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  if (decision.changes.length > 0) fleet.apply(fleet.revision + 1, decision.changes);
  return decision.changes;
}

const operationOf = (fleet: Fleet): Operation => fleet.get(OPERATION, OP)?.doc as Operation;
const itemsOf = (fleet: Fleet): StoredItem[] => [...fleet.find(ITEMS_BY_OPERATION, OP)];

function step(fleet: Fleet, nowMs: number): readonly (PlannedStep | Finish)[] {
  const operation = fleet.get(OPERATION, OP);
  if (operation === undefined) throw new Error('no operation');
  const steps = planOperation(fleet, kind, { operation, items: 'all' }, nowMs);
  for (const next of steps) {
    if (next.kind === 'finish') apply(fleet, finishOperation(fleet, next));
    else if (next.kind === 'record') apply(fleet, recordStep(fleet, next, nowMs));
  }
  return steps;
}

/** A plan as prose: what a reader of a failing test needs to see. */
const describeSteps = (steps: readonly (PlannedStep | Finish)[]): string[] =>
  steps.map((next) =>
    next.kind === 'record'
      ? `${next.item} ${next.progress.state} ${next.progress.reason?.code ?? ''}`.trim()
      : next.kind,
  );

describe('planning an operation', () => {
  test('a-wait-is-recorded-once-and-said-again-only-when-it-changes', () => {
    const fleet = fleetWith(['a', 'b']);
    expect(describeSteps(step(fleet, 1))).toMatchInlineSnapshot(`
      [
        "op-1.a waiting no-clay",
        "op-1.b waiting no-clay",
      ]
    `);
    expect(describeSteps(step(fleet, 2))).toEqual([]);
  });

  test('after-the-deadline-items-fail-with-what-they-waited-for-and-the-operation-ends', () => {
    const fleet = fleetWith(['a']);
    step(fleet, 1);
    step(fleet, DEADLINE + 1);
    expect(itemsOf(fleet)[0]?.doc.reason).toEqual({
      code: 'deadline-passed',
      waitedFor: 'no-clay',
      thing: 'a',
    });
    step(fleet, DEADLINE + 2);
    expect(operationOf(fleet)).toMatchObject({
      state: 'failed',
      finishedAtMs: DEADLINE + 2,
      counts: { failed: 1 },
      reason: { code: 'items-failed', failed: 1, failedFor: 'deadline-passed', waitedFor: 'no-clay', thing: 'a' },
    });
  });

  test('a-step-planned-before-the-deadline-is-not-taken-after-it', () => {
    const fleet = fleetWith(['a']);
    const item = itemsOf(fleet)[0] as StoredItem;
    const late = recordStep(fleet, record(item, { state: 'done', step: 'make' }), DEADLINE + 1);
    expect(late).toMatchObject({ kind: 'accept', changes: [], answer: 'stale' });
  });

  test('cancel-undoes-open-items-and-keeps-done-ones', () => {
    const fleet = fleetWith(['a', 'b']);
    apply(fleet, recordStep(fleet, record(itemsOf(fleet)[0] as StoredItem, { state: 'done', step: 'make' }), 1));
    apply(fleet, cancelOperation(fleet, { id: OP, kinds, nowMs: 2 }));
    step(fleet, 3);
    step(fleet, 4);
    expect(operationOf(fleet)).toMatchObject({ state: 'cancelled', counts: { done: 1, cancelled: 1 } });
    expect([...fleet.all(THING)].map((thing) => thing.id)).toEqual(['a']);
  });

  test('a-stopped-operation-does-nothing-until-it-is-retried', () => {
    const fleet = fleetWith(['a']);
    apply(fleet, stopOperation(fleet, { id: OP, revision: 1, doc: operationOf(fleet) }, 'boom'));
    expect(describeSteps(step(fleet, 1))).toEqual([]);
    expect(operationOf(fleet).reason).toEqual({ code: 'internal-error', detail: 'boom' });
    apply(fleet, retryOperation(fleet, { id: OP, kinds, nowMs: 2 }));
    expect(describeSteps(step(fleet, 3))).toEqual(['op-1.a waiting no-clay']);
  });
});

describe('retry and cancel', () => {
  function failed(): Fleet {
    const fleet = fleetWith(['a', 'b']);
    apply(fleet, recordStep(fleet, record(itemsOf(fleet)[0] as StoredItem, { state: 'done', step: 'make' }), 1));
    step(fleet, DEADLINE + 1);
    step(fleet, DEADLINE + 2);
    return fleet;
  }

  test('retry-reopens-failed-items-only-with-a-new-deadline-and-attempt', () => {
    const fleet = failed();
    apply(fleet, retryOperation(fleet, { id: OP, kinds, nowMs: 50_000 }));
    expect(operationOf(fleet)).toMatchObject({ state: 'running', deadlineAtMs: 50_000 + DEADLINE });
    expect(itemsOf(fleet).map(({ doc }) => [doc.state, doc.attempt])).toEqual([
      ['done', 1],
      ['pending', 2],
    ]);
  });

  test('cancel-of-a-failed-operation-undoes-what-failed', () => {
    const fleet = failed();
    apply(fleet, cancelOperation(fleet, { id: OP, kinds, nowMs: 50_000 }));
    step(fleet, 50_001);
    step(fleet, 50_002);
    expect(operationOf(fleet).state).toBe('cancelled');
    expect([...fleet.all(THING)].map((thing) => thing.id)).toEqual(['a']);
  });

  test('cancel-of-a-failed-operation-opens-nothing-that-has-nothing-to-take-back', () => {
    const fleet = failed();
    const without = new Map([['make', { ...kind, needsUndo: () => false }]]);
    apply(fleet, cancelOperation(fleet, { id: OP, kinds: without, nowMs: 50_000 }));
    expect(itemsOf(fleet).map(({ doc }) => doc.state)).toEqual(['done', 'cancelled']);
    step(fleet, 50_001);
    expect(operationOf(fleet)).toMatchObject({ state: 'cancelled', counts: { done: 1, cancelled: 1 } });
  });

  test('both-are-idempotent', () => {
    const fleet = failed();
    apply(fleet, retryOperation(fleet, { id: OP, kinds, nowMs: 50_000 }));
    expect(retryOperation(fleet, { id: OP, kinds, nowMs: 50_001 })).toMatchObject({ kind: 'accept', changes: [] });
    apply(fleet, cancelOperation(fleet, { id: OP, kinds, nowMs: 50_002 }));
    expect(cancelOperation(fleet, { id: OP, kinds, nowMs: 50_003 })).toMatchObject({ kind: 'accept', changes: [] });
  });

  test.each([
    ['retry', retryOperation],
    ['cancel', cancelOperation],
  ])('%s-of-an-unknown-one-a-finished-one-or-one-without-meaning-is-refused-with-its-own-code', (name, decide) => {
    const fleet = fleetWith([]);
    expect(decide(fleet, { id: 'op-9', kinds, nowMs: 1 })).toMatchObject({ refusal: { code: 'unknown-operation' } });
    step(fleet, 1);
    expect(operationOf(fleet).state).toBe('succeeded');
    const advice =
      name === 'cancel' ? 'What it did stays.' : 'Only one that failed can be. Begin another for what is still wanted.';
    expect(decide(fleet, { id: OP, kinds, nowMs: 2 })).toMatchObject({
      refusal: { code: 'wrong-state', message: expect.stringContaining(`it is succeeded. ${advice}`) as string },
    });
    const none = { kind: 'none', because: 'it cannot be' } as const;
    const without = new Map([['make', { ...kind, cancel: none, retry: none }]]);
    const verb = name === 'cancel' ? 'cancelled' : 'retried';
    expect(decide(fleet, { id: OP, kinds: without, nowMs: 2 })).toMatchObject({
      refusal: { code: 'not-supported', message: `Operation ${OP} (make) cannot be ${verb}: it cannot be.` },
    });
    const unknown = `cannot be ${verb}: this server does not know its kind; send it to a server of the version that began it.`;
    expect(decide(fleet, { id: OP, kinds: new Map(), nowMs: 2 })).toMatchObject({
      refusal: { code: 'not-supported', message: expect.stringContaining(unknown) as string },
    });
  });
});

test('a-step-is-stale-when-a-document-it-was-planned-on-has-changed', () => {
  const fleet = fleetWith(['a']);
  const expects = [{ kind: 'thing', id: 'a', revision: 1 }];
  const next = record(itemsOf(fleet)[0] as StoredItem, { state: 'done', step: 'make' }, { expects });
  fleet.apply(2, [put(THING, idOf(THING, 'a'), { made: true })]);
  expect(recordStep(fleet, next, 1)).toMatchObject({ kind: 'accept', changes: [], answer: 'stale' });
});

describe('a wait that is recorded again', () => {
  const item = (fleet: Fleet): StoredItem => itemsOf(fleet)[0] as StoredItem;
  const waiting = (fleet: Fleet, nowMs: number, more: object = {}): readonly Change[] => {
    const progress = {
      state: 'waiting',
      step: 'make',
      reason: { code: 'no-clay', thing: 'a' },
      retryAtMs: nowMs + 100,
    };
    return apply(fleet, recordStep(fleet, record(item(fleet), { ...progress, ...more } as never), nowMs));
  };

  test('commits-nothing-before-its-time-has-come: only-with-a-later-time it would be recorded without end', () => {
    const fleet = fleetWith(['a']);
    expect(waiting(fleet, 1)).toHaveLength(1);
    expect(waiting(fleet, 2)).toEqual([]);
    expect(waiting(fleet, 100)).toEqual([]);
    expect(item(fleet).doc).toMatchObject({ state: 'waiting', sinceMs: 1, retryAtMs: 101 });
    expect(waiting(fleet, 101)).toHaveLength(1);
  });

  test('commits-nothing-where-it-has-no-time: decided in each pass it would be recorded without end', () => {
    const fleet = fleetWith(['a']);
    expect(waiting(fleet, 1, { retryAtMs: undefined })).toHaveLength(1);
    expect(waiting(fleet, 500, { retryAtMs: undefined })).toEqual([]);
    expect(waiting(fleet, 501)).toHaveLength(1);
    expect(waiting(fleet, 502, { retryAtMs: undefined })).toHaveLength(1);
  });

  test.each([
    ['for-something-else', { reason: { code: 'no-clay', thing: 'b' } }],
    ['in-another-attempt', { attempt: 2 }],
    ['with-a-task-for-another-host', { host: 'h2' }],
    ['with-another-assignee', { assignee: 'm2' }],
  ])('is-news-%s', (_name, more) => {
    const fleet = fleetWith(['a']);
    waiting(fleet, 1);
    expect(waiting(fleet, 2, more)).toHaveLength(1);
  });
});

test('the-assignee-of-an-open-item: kept until another or none is named, and found by its name', () => {
  const fleet = fleetWith(['a']);
  const take = (progress: Partial<Progress>): string[] => {
    const [item] = itemsOf(fleet) as [StoredItem];
    apply(fleet, recordStep(fleet, record(item, { state: 'running', step: 'make', ...progress }), 1));
    return ['m1', 'm2'].filter((one) => fleet.countOf(OPEN_ITEMS_BY_ASSIGNEE, one) > 0);
  };
  expect(take({})).toEqual([]);
  expect(take({ assignee: 'm1' })).toEqual(['m1']);
  expect(take({ attempt: 2 })).toEqual(['m1']);
  expect(take({ assignee: 'm2' })).toEqual(['m2']);
  expect(take({ assignee: null })).toEqual([]);
  expect(take({ assignee: 'm1', state: 'done' })).toEqual([]);
  expect(itemsOf(fleet)[0]?.doc).toMatchObject({ assignee: 'm1', state: 'done' });
});

test('a-task-id-leads-back-to-its-item', () => {
  const item = itemsOf(fleetWith(['a:b']))[0] as StoredItem;
  expect(taskId(item)).toBe('op-1.a:b:make:1');
  expect(itemOfTask(taskId(item))).toBe(item.id);
});

test('items-go-thirty-days-after-their-operation-has-ended-and-at-once-when-it-is-gone', () => {
  const fleet = fleetWith(['a']);
  const [item] = itemsOf(fleet) as [StoredItem];
  expect(ITEM.expiresAtMs?.(item.doc, fleet)).toBeUndefined();
  step(fleet, DEADLINE + 1);
  step(fleet, DEADLINE + 2);
  expect(ITEM.expiresAtMs?.(item.doc, fleet)).toBe(DEADLINE + 2 + 30 * 24 * 3600 * 1000);
  expect(ITEM.expiresAtMs?.({ ...item.doc, operation: 'op-gone' }, fleet)).toBe(0);
});

describe('the items of an operation are counted by their state', () => {
  test.each([1, 6, 8, 9, 30])('%i of them', (count) => {
    const fleet = fleetWith(Array.from({ length: count }, (_, nth) => `thing-${nth}`));
    const expected = { pending: 0, running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };
    for (const [nth, { id, doc }] of itemsOf(fleet).entries()) {
      const state = ITEM_STATES[nth % ITEM_STATES.length]!;
      fleet.apply(fleet.revision + 1, [put(ITEM, id, { ...doc, state })]);
      expected[state] += 1;
    }
    expect(countsOf(fleet, OP)).toEqual(expected);
  });
});

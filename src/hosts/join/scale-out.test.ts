import { describe, expect, test } from 'vitest';
import { accessModel } from '../../access/index.ts';
import { alarmsModel } from '../../alarms/index.ts';
import { Fleet, idOf, put, Registry, type Change, type FleetReader } from '../../fleet/index.ts';
import type { Journal } from '../../journal/index.ts';
import {
  explainer,
  ITEM,
  ITEMS_BY_OPERATION,
  OPERATION,
  operationsModel,
  recordStep,
  taskId,
} from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import type { TortureSubject } from '../../operations/torture-world.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import { findHost } from '../decide.ts';
import { recordTransitions } from '../liveness/plan.ts';
import { hostsModel } from '../fleet-model.ts';
import { HOST } from '../model.ts';
import { hostChange } from '../preview/preview-fixture.ts';
import { scaleOut, scaleOutKind, scaleOutSentences, type Rebalance } from './scale-out.ts';

const OP = idOf(OPERATION, 'op-torture');
const NAMES = ['c1', 'c2'];
const CENTRAL = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });
const REMOVED = hostChange({ name: 'c2', state: 'removed', switch: { systemId: 'sys-2' } });

/** The rebalance leaves its trace in one host's weight. */
const WEIGHED = hostChange({ name: 'old', baseWeight: 0 });
const rebalance: Rebalance = (fleet) => {
  const old = findHost(fleet, 'old');
  if (old === undefined) throw new Error('no old host');
  const changes: Change[] = [put(HOST, old.id, { ...old.doc, baseWeight: old.doc.baseWeight + 1 })];
  return { changes, more: old.doc.baseWeight < 1 };
};

async function agents(journal: Journal, nowMs: number): Promise<void> {
  for (const { id, doc } of journal.fleet.all(HOST)) {
    if (doc.state !== 'joining') continue;
    const decide = (fleet: FleetReader) => {
      const host = fleet.get(HOST, id);
      const changes = host === undefined ? [] : [put(HOST, id, { ...host.doc, credential: `t-${id}` })];
      return { kind: 'accept', changes, answer: null } as const;
    };
    if (doc.credential === undefined) await journal.submit({ by: 'agent', decide });
    else if (doc.connection.state === 'unknown') {
      const transitions = [{ host: id, from: 'unknown', to: 'up' } as const];
      await journal.submit({ by: 'liveness', decide: (fleet) => recordTransitions(fleet, transitions, nowMs) });
    }
  }
  for (const item of journal.fleet.find(ITEMS_BY_OPERATION, OP)) {
    const kind = scaleOutKind(rebalance);
    if (kind.task?.(item, { fleet: journal.fleet }) === undefined) continue;
    const next = kind.handleTaskAnswer?.(
      item,
      { task: taskId(item), outcome: 'done' },
      { fleet: journal.fleet, nowMs },
    );
    if (next !== undefined) await journal.submit({ by: 'agent', decide: (fleet) => recordStep(fleet, next, nowMs) });
  }
}

const subject: TortureSubject = {
  name: 'scale-out',
  models: [accessModel, sitesModel, alarmsModel, hostsModel],
  kind: scaleOutKind(rebalance),
  prepare: [CENTRAL, REMOVED, WEIGHED],
  start: (operation, nowMs) => ({
    by: 'test',
    decide: (fleet) => scaleOut(fleet, { ...commandOf(), operation, deadlineMs: 36_000_000, nowMs }),
  }),
  world: agents,
  wrongWhenDone: (fleet) => [
    ...NAMES.filter((name) => findHost(fleet, name)?.doc.state !== 'active').map((name) => `${name} is not in service`),
    ...(findHost(fleet, 'old')?.doc.baseWeight === 2 ? [] : ['services were not spread twice']),
  ],
  wrongWhenCancelled: (fleet) => [
    ...[...fleet.all(HOST)].filter(({ doc }) => doc.state === 'joining').map(({ id }) => `${id} is still joining`),
    ...(findHost(fleet, 'c2') === undefined ? ['the removed host is forgotten'] : []),
  ],
};

torture(subject);

function commandOf(more: Partial<Parameters<typeof scaleOut>[1]> = {}): Parameters<typeof scaleOut>[1] {
  const hosts = NAMES.map((name) => ({ name }));
  return { hosts, rebalance: true, operation: OP, by: 'ann', nowMs: 5, deadlineMs: 1000, ...more };
}

function fleetOf(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry([accessModel, operationsModel, alarmsModel, sitesModel, hostsModel]));
  fleet.apply(1, [CENTRAL, ...changes]);
  return fleet;
}

function startScaleOut(more: Parameters<typeof commandOf>[0] = {}): Fleet {
  const fleet = fleetOf(REMOVED, WEIGHED);
  const decision = scaleOut(fleet, commandOf(more));
  if (decision.kind !== 'accept') throw new Error(decision.refusal.message);
  fleet.apply(2, decision.changes);
  return fleet;
}

const AFTER = idOf(ITEM, 'op-torture..rebalance');

/** Ends the items of hosts as given, and plans for the remaining one. */
function planned(fleet: Fleet, ends: readonly ('done' | 'failed' | 'pending')[], kind = scaleOutKind(rebalance)) {
  const hosts = [...fleet.find(ITEMS_BY_OPERATION, OP)].filter(({ id }) => id !== AFTER);
  const ended = hosts.map(({ id, doc }, at) => put(ITEM, id, { ...doc, state: ends[at] ?? 'pending' }));
  fleet.apply(3, ended);
  const after = fleet.get(ITEM, AFTER);
  if (after === undefined) throw new Error('not there');
  const [next] = kind.plan(fleet, [after], 9);
  return next?.kind === 'decide' ? next.decide(fleet, 9)[0] : next;
}

describe('scale-out', () => {
  test('brings-in-new-hosts-and-removed-ones-in-one-operation', () => {
    const fleet = startScaleOut();
    expect(NAMES.map((name) => findHost(fleet, name)?.doc.state)).toEqual(['joining', 'joining']);
    expect([...fleet.find(ITEMS_BY_OPERATION, OP)].map(({ id }) => id)).toEqual([
      'op-torture..rebalance',
      'op-torture.c1',
      'op-torture.c2',
    ]);
    expect(fleet.get(OPERATION, OP)?.doc).toMatchObject({ kind: 'scale-out', title: 'scale out by 2 hosts' });
  });

  test('spreads-nothing-unless-asked', () => {
    expect(startScaleOut({ rebalance: false }).get(ITEM, AFTER)).toBeUndefined();
  });

  test('a-host-in-service-refuses-the-whole', () => {
    expect(scaleOut(fleetOf(WEIGHED), commandOf({ hosts: [{ name: 'c1' }, { name: 'old' }] }))).toMatchObject({
      refusal: { code: 'host-exists', facts: { hosts: ['old'] } },
    });
  });

  test.each([
    ['waits-while-a-host-is-still-coming', ['done', 'pending'], 'waiting', 0],
    ['spreads-when-all-are-in', ['done', 'done'], 'waiting', 1],
    ['spreads-over-those-that-came', ['failed', 'done'], 'waiting', 1],
    ['spreads-nothing-when-none-came', ['failed', 'failed'], 'done', 0],
  ] as const)('%s', (_name, ends, state, changes) => {
    const next = planned(startScaleOut(), ends);
    expect(next).toMatchObject({ kind: 'record', progress: { state } });
    expect(next?.kind === 'record' && next.changes.length).toBe(changes);
  });

  test('goes-on-as-long-as-there-is-more-to-spread', () => {
    const names: string[] = [];
    const twice = (more: boolean) =>
      scaleOutKind((_fleet, { operation }) => {
        names.push(operation);
        return { changes: [], more };
      });
    const first = planned(startScaleOut(), ['done', 'done'], twice(true));
    expect(first).toMatchObject({ progress: { state: 'waiting', attempt: 2, reason: { code: 'more-to-spread' } } });
    expect(planned(startScaleOut(), ['done', 'done'], twice(false))).toMatchObject({ progress: { state: 'done' } });
    expect(names).toEqual(['op-torture.rebalance-1', 'op-torture.rebalance-1']);
  });

  test('waits-with-the-reason-while-services-may-not-move', () => {
    const message = 'Elections are held.';
    const held = scaleOutKind(() => ({ kind: 'conflict', code: 'elections-held', message }));
    const next = planned(startScaleOut(), ['done', 'done'], held);
    const reason = { code: 'cannot-rebalance', because: 'elections-held', message };
    expect(next).toMatchObject({ progress: { state: 'waiting', reason, retryAtMs: 10_009 } });
    expect(explainer([scaleOutSentences])(reason)).toBe(
      'Services cannot be rebalanced now: Elections are held. It is tried again.',
    );
  });

  test('the-end-of-a-host-item-wakes-it', () => {
    const fleet = startScaleOut();
    const item = fleet.get(ITEM, idOf(ITEM, 'op-torture.c1'));
    if (item === undefined) throw new Error('no item');
    const kind = scaleOutKind(rebalance);
    const woken = (state: 'done' | 'running') => [
      ...(kind.itemsToWake?.(fleet, { kind: 'item', before: item, after: { ...item, doc: { ...item.doc, state } } }) ??
        []),
    ];
    expect(woken('done').map(({ id }) => id)).toEqual([AFTER]);
    expect(woken('running')).toEqual([]);
  });
});

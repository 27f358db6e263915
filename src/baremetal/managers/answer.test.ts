import { describe, expect, test } from 'vitest';
import { idOf, type Change } from '../../fleet/index.ts';
import { ITEM } from '../../operations/index.ts';
import { acquireNodes } from './acquire.ts';
import { decideAnswer, type ManagerAnswer } from './answer.ts';
import { anyKind, DRAINING, KINDS, newFleet, putManager, putOwned, putWork, withLater } from './managers-fixture.ts';
import { listTasks } from './task-list.ts';

const ANSWER: ManagerAnswer = {
  ...{ manager: 'm1', holder: 'm1-1', leaseEpoch: 3, isLeaseLive: () => true, nowMs: 200 },
  ...{ task: 'op.a:deploy:1', node: 'n1', nodeEpoch: 4, instance: 'of-n1', outcome: 'done' },
};
const WORLD = [putManager('m1'), putManager('m2'), putOwned('n1', 'm1'), putOwned('n2', 'm2'), putOwned('n3', 'm1')];
const ON_NODE = { target: { kind: 'node', id: 'n1' } };
const ON_INSTANCE = { target: { kind: 'instance', id: 'of-n1' } };

function outcomeOf(changes: readonly Change[], answer: Partial<ManagerAnswer> = {}): string {
  const fleet = newFleet(...WORLD, ...changes);
  const decision = decideAnswer(fleet, KINDS, { ...ANSWER, ...answer });
  if (decision.kind === 'refuse') return decision.refusal.code;
  expect(decision.changes.map(({ kind }) => kind)).toEqual(decision.answer.result === 'recorded' ? [ITEM.name] : []);
  return decision.answer.result;
}

describe('the answer to a task', () => {
  test.each<[string, readonly Change[], Partial<ManagerAnswer>, string]>([
    ['about-its-node', putWork('op', ON_NODE), {}, 'recorded'],
    ['about-the-instance-of-its-node', putWork('op', ON_INSTANCE), {}, 'recorded'],
    ['that-no-item-waits-for', [], {}, 'stale'],
    ['of-an-earlier-attempt', putWork('op', { ...ON_NODE, attempt: 2 }), {}, 'stale'],
    ['of-an-earlier-step', putWork('op', { ...ON_NODE, step: 'clean' }), {}, 'stale'],
    ['of-work-that-is-over', putWork('op', { ...ON_NODE, state: 'done' }), {}, 'stale'],
    ['under-an-older-node-epoch', putWork('op', ON_NODE), { nodeEpoch: 3 }, 'fenced'],
    ['for-another-instance', putWork('op', ON_NODE), { instance: 'of-n2' }, 'fenced'],
    ['after-its-lease', putWork('op', ON_NODE), { isLeaseLive: () => false }, 'fenced'],
    ['of-an-earlier-process', putWork('op', ON_NODE), { holder: 'm1-0' }, 'fenced'],
    ['under-an-earlier-lease', putWork('op', ON_NODE), { leaseEpoch: 2 }, 'fenced'],
    [
      'about-the-node-of-another',
      putWork('op', { target: { kind: 'node', id: 'n2' } }),
      { node: 'n2', instance: 'of-n2' },
      'fenced',
    ],
    ['about-another-node-of-its-own', putWork('op', ON_NODE), { node: 'n3', instance: 'of-n3' }, 'stale'],
    ['that-names-no-node', putWork('op', ON_NODE), { node: undefined, nodeEpoch: undefined }, 'fenced'],
    ['that-names-no-node-epoch', putWork('op', ON_NODE), { nodeEpoch: undefined }, 'fenced'],
  ])('%s', (_name, changes, answer, expected) => {
    expect(outcomeOf(changes, answer)).toBe(expected);
  });

  const RESERVE = { target: { kind: 'instance', id: 'of-new' }, step: 'reserve', assignee: 'm1' };
  const NO_NODE = { task: 'op.a:reserve:1', node: undefined, nodeEpoch: undefined, instance: undefined };
  test.each<[string, readonly Change[], Partial<ManagerAnswer>, string]>([
    ['from-its-assignee', putWork('op', RESERVE), NO_NODE, 'recorded'],
    ['from-another', putWork('op', { ...RESERVE, assignee: 'm2' }), NO_NODE, 'stale'],
    ['once-there-is-a-node', putWork('op', { ...RESERVE, ...ON_INSTANCE }), NO_NODE, 'recorded'],
    [
      'once-another-has-the-node',
      putWork('op', { ...RESERVE, target: { kind: 'instance', id: 'of-n2' } }),
      NO_NODE,
      'stale',
    ],
  ])('of finding a node, %s', (_name, changes, answer, expected) => {
    expect(outcomeOf(changes, answer)).toBe(expected);
  });
});

describe('the tasks of a manager', () => {
  const listed = (changes: readonly Change[], later: readonly Change[] = []): string[] =>
    listTasks(withLater(newFleet(...WORLD, ...changes), ...later), KINDS, 'm1').map(
      ({ id, node, nodeEpoch, instance }) => `${id} ${node ?? '-'} ${nodeEpoch ?? '-'} ${instance ?? '-'}`,
    );

  test.each<[string, readonly Change[], readonly string[]]>([
    ['about-a-node', putWork('op', ON_NODE), ['op.a:deploy:1 n1 4 of-n1']],
    ['about-an-instance', putWork('op', ON_INSTANCE), ['op.a:deploy:1 n1 4 of-n1']],
    [
      'before-there-is-a-node',
      putWork('op', { target: { kind: 'instance', id: 'x' }, assignee: 'm1' }),
      ['op.a:deploy:1 - - -'],
    ],
    [
      'found-through-the-node, not-the-assignee',
      putWork('op', { ...ON_INSTANCE, assignee: 'm2' }),
      ['op.a:deploy:1 n1 4 of-n1'],
    ],
    ['not-of-others', putWork('op', { target: { kind: 'node', id: 'n2' }, assignee: 'm1' }), []],
    ['not-without-a-task', putWork('op', { ...ON_NODE, step: 'none' }), []],
    ['not-of-an-agent', putWork('op', { ...ON_NODE, host: 'h1' }), []],
    [
      'not-of-a-node-that-it-has-to-acquire-anew',
      [putOwned('n1', 'm1', { managerEpoch: 2 }), ...putWork('op', ON_NODE)],
      [],
    ],
  ])('%s', (_name, changes, expected) => {
    expect(listed(changes)).toEqual(expected);
  });

  // The clocks of two servers, one of which decided before the other, say the opposite.
  const BEFORE = putWork('op', { ...ON_NODE, sinceMs: 101 });
  const AFTER = putWork('op', { ...ON_NODE, sinceMs: 99 });
  test.each<[string, readonly Change[], readonly Change[], number]>([
    ['what-it-may-have-begun', [putManager('m1', DRAINING), ...BEFORE], [], 1],
    ['nothing-new', [putManager('m1', DRAINING)], AFTER, 0],
    [
      'all-of-it, with-no-other-manager-there',
      [putManager('m1', DRAINING), putManager('m2', { state: 'lost' })],
      AFTER,
      1,
    ],
  ])('of one that drains: %s', (_name, changes, later, count) => {
    expect(listed(changes, later)).toHaveLength(count);
  });
});

describe('a batch of nodes', () => {
  const command = {
    manager: 'm1',
    holder: 'm1-1',
    leaseEpoch: 3,
    isLeaseLive: () => true,
    kinds: KINDS,
    ownOnly: false,
  };
  const orphans = Array.from({ length: 6 }, (_, nth) => putOwned(`o${nth}`, 'gone', { managerEpoch: 9 }));

  test('is one commit, in which each epoch grows by one and nothing else changes', () => {
    const fleet = newFleet(...WORLD, ...orphans);
    const decision = acquireNodes(fleet, { ...command, max: 2, by: 'm1', nowMs: 200 });
    if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
    expect(decision.answer).toEqual({ acquired: 2, left: 1 });
    expect(decision.changes).toEqual(
      ['o0', 'o1'].map((id) => {
        const facts = { managerEpoch: 3, epoch: 5, changedBy: 'm1', changedAtMs: 200 };
        return putOwned(id, 'm1', facts);
      }),
    );
  });

  test.each<[string, Partial<typeof command>]>([
    ['another-process', { holder: 'm1-2' }],
    ['an-earlier-lease', { leaseEpoch: 2 }],
    ['one-whose-lease-ran-out', { isLeaseLive: () => false }],
    ['one-that-is-not-registered', { manager: 'm9' }],
  ])('is refused to %s', (_name, more) => {
    const decision = acquireNodes(newFleet(...WORLD, ...orphans), { ...command, ...more, by: 'm1', nowMs: 200 });
    expect(decision).toMatchObject({ kind: 'refuse', refusal: { code: 'fenced' } });
  });
});

test('a fault in the code of a kind stops its operation', () => {
  const broken = {
    ...anyKind,
    handleTaskAnswer: () => {
      throw new Error('a bug');
    },
  };
  const fleet = newFleet(...WORLD, ...putWork('op', ON_NODE));
  const decision = decideAnswer(fleet, new Map([['any', broken]]), ANSWER);
  expect(decision).toMatchObject({ kind: 'accept', changes: [{ kind: 'operation', doc: { stopped: true } }] });
  expect(fleet.get(ITEM, idOf(ITEM, 'op.a'))?.doc.state).toBe('running');
});

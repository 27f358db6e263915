import { describe, expect, test } from 'vitest';
import type { Stored } from '../../fleet/index.ts';
import type { Operation } from '../../operations/index.ts';
import { MOVE_TIMES } from './move-times.ts';

const COUNTS = { pending: 0, running: 0, waiting: 0, done: 1, failed: 0, cancelled: 0 };

/** An operation that was begun at 1000 and took this long. */
function took(ms: number, more: Partial<Operation> = {}): Stored {
  const operation = { createdAtMs: 1000, deadlineMs: 50, deadlineAtMs: 1050, finishedAtMs: 1000 + ms, counts: COUNTS };
  return { id: 'op' as Stored['id'], revision: 1, doc: { kind: 'move', state: 'succeeded', ...operation, ...more } };
}

function timesOf(...operations: readonly Stored[]) {
  const times = MOVE_TIMES.create();
  for (const after of operations) times.apply({ kind: 'operation', before: undefined, after });
  return times;
}

/** The median in whole seconds, and the number of moves. */
function measured(operations: readonly Stored[], kinds = ['move']): unknown {
  const found = timesOf(...operations).median(kinds);
  return found && [Math.round(found.eachMs / 1000), found.sampleCount];
}

describe('how long moves took', () => {
  test.each<[string, readonly Stored[], unknown]>([
    ['nothing-was-measured', [], undefined],
    ['two-say-little', [took(9000), took(9000)], undefined],
    ['the-middle-one-counts', [took(9000), took(1000), took(100_000)], [9, 3]],
    ['each-of-an-operation-counts', [took(9000, { counts: { ...COUNTS, done: 4 } }), took(1000)], [9, 5]],
    ['what-failed-does-not', [took(9000, { state: 'failed' }), took(5000), took(5000), took(5000)], [5, 3]],
    ['what-is-under-way-does-not', [took(9000, { state: 'running' }), took(5000), took(5000), took(5000)], [5, 3]],
    [
      'a-retry-counts-from-when-it-was-asked-for',
      [took(60_000, { deadlineAtMs: 56_050 }), took(60_000, { deadlineAtMs: 56_050 }), took(1000)],
      [5, 3],
    ],
  ])('%s', (_name, operations, expected) => {
    expect(measured(operations)).toEqual(expected);
  });

  test('of-several-kinds-together, and of no other', () => {
    const all = [
      took(2000),
      took(9000, { kind: 'rebuild' }),
      took(9000, { kind: 'rebuild' }),
      took(1, { kind: 'build' }),
    ];
    expect([measured(all), measured(all, ['move', 'rebuild'])]).toEqual([undefined, [9, 3]]);
  });

  test('never: the median is off by more than a few percent', () => {
    for (const ms of [1, 7, 130, 2999, 20_000, 3_600_000]) {
      const { eachMs = 0 } = timesOf(took(ms), took(ms), took(ms)).median(['move']) ?? {};
      expect(Math.abs(eachMs - ms) / ms).toBeLessThan(0.03);
    }
  });

  test('never: a change that is undone leaves a trace', () => {
    const times = timesOf(took(1000), took(1000), took(1000));
    const [before, after] = [took(9000, { state: 'running' }), took(9000)];
    times.apply({ kind: 'operation', before, after });
    expect(times.median(['move'])?.sampleCount).toBe(4);
    times.apply({ kind: 'operation', before: after, after: before });
    for (let nth = 0; nth < 3; nth += 1) times.apply({ kind: 'operation', before: took(1000), after: undefined });
    expect(times.median(['move'])).toBeUndefined();
  });
});

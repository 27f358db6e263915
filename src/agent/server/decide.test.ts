import { expect, test } from 'vitest';
import { Fleet, idOf, Registry } from '../../fleet/index.ts';
import { newOperation, OPERATION, operationsModel, type OperationKind } from '../../operations/index.ts';
import { recordAnswer } from './decide.ts';

const OP = idOf(OPERATION, 'op-1');

const broken: OperationKind = {
  name: 'look',
  steps: ['look'],
  cancel: { kind: 'none', because: 'test' },
  retry: { kind: 'none', because: 'test' },
  plan: () => [],
  task: () => ({ kind: 'look', args: {} }),
  handleTaskAnswer: () => {
    throw new Error('boom');
  },
};

test('a-fault-in-the-reading-of-an-answer-stops-the-operation-and-says-so', () => {
  const fleet = new Fleet(new Registry([operationsModel]));
  const items = [{ key: 'a', target: { kind: 'host', id: 'c1' }, host: 'c1', step: 'look' }];
  fleet.apply(1, newOperation({ id: OP, kind: 'look', title: 'look', by: 'ann', nowMs: 0, deadlineMs: 1000, items }));
  const answer = { task: 'op-1.a:look:1', outcome: 'done' } as const;
  const decision = recordAnswer(fleet, new Map([['look', broken]]), { host: 'c1', answer, nowMs: 1 });
  expect(decision).toMatchObject({
    kind: 'accept',
    changes: [
      { kind: 'operation', id: 'op-1', doc: { stopped: true, reason: { code: 'internal-error', detail: 'boom' } } },
    ],
  });
});

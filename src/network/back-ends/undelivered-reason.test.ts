// Problems that a person has to solve are named in the wait; outcomes of a back end are not replaced.
import { expect, test } from 'vitest';
import { undeliveredReason } from './undelivered-reason.ts';

test('a server without credentials names those that it needs', () => {
  const reason = { code: 'network-credentials-missing', backEnds: ['simulated'] };
  expect(undeliveredReason({ kind: 'failed', reason })).toEqual({
    code: 'network-credentials-needed',
    backEnds: ['simulated'],
  });
});

test('a back end that is not configured is named', () => {
  const reason = { code: 'back-end-not-configured', backEnd: 'simulated' };
  expect(undeliveredReason({ kind: 'failed', reason })).toEqual(reason);
});

test('a back end that was called reports its own outcome', () => {
  const reason = { code: 'network-unavailable', backEnd: 'simulated', op: 'bind' };
  expect(undeliveredReason({ kind: 'failed', reason })).toBeUndefined();
  expect(undeliveredReason({ kind: 'applied', facts: { ports: [] } })).toBeUndefined();
  expect(undeliveredReason({ kind: 'stale' })).toBeUndefined();
});

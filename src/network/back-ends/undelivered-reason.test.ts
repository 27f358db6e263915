// What a person has to mend is told as what it is; what a back end did is not.
import { expect, test } from 'vitest';
import { undeliveredReason } from './undelivered-reason.ts';

test('a server without credentials says what it needs', () => {
  const reason = { code: 'network-credentials-missing', backEnds: ['simulated'] };
  expect(undeliveredReason({ kind: 'failed', reason })).toEqual({
    code: 'network-credentials-needed',
    backEnds: ['simulated'],
  });
});

test('a back end that is not configured is told by its name', () => {
  const reason = { code: 'back-end-not-configured', backEnd: 'simulated' };
  expect(undeliveredReason({ kind: 'failed', reason })).toEqual(reason);
});

test('a back end that was asked says for itself what became of it', () => {
  const reason = { code: 'network-unavailable', backEnd: 'simulated', op: 'bind' };
  expect(undeliveredReason({ kind: 'failed', reason })).toBeUndefined();
  expect(undeliveredReason({ kind: 'applied', facts: { ports: [] } })).toBeUndefined();
  expect(undeliveredReason({ kind: 'stale' })).toBeUndefined();
});

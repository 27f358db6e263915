// Refusals of modules as HTTP problems.
import { expect, test } from 'vitest';
import { refusalProblem } from './problem.ts';

test.each([
  [undefined, '1'],
  [1, '1'],
  [1000, '1'],
  [1001, '2'],
  [30_000, '30'],
])('what-is-unavailable-says-when-to-ask-again: %s ms', (retryAfterMs, header) => {
  const message = 'Nobody has time for it now. Try again in a moment.';
  const problem = refusalProblem({
    kind: 'unavailable',
    code: 'busy',
    message,
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
  expect(problem).toMatchObject({ status: 503, code: 'busy', message, headers: { 'retry-after': header } });
});

test('a-refusal-that-is-final-does-not-ask-to-try-again', () => {
  const problem = refusalProblem({ kind: 'conflict', code: 'taken', message: 'It is taken.', retryAfterMs: 5000 });
  expect(problem.status).toBe(409);
  expect(problem.headers).toEqual({});
});

// Sentences that count: one of a thing is not several.
import { expect, test } from 'vitest';
import { kubernetesSentences } from './sentences.ts';

const explain = (): string => '';

test.each([
  [{ code: 'pods-leaving', worker: 'e.a', left: 1, terminating: 1 }, '1 pod is to leave worker e.a; 1 is terminating.'],
  [
    { code: 'pods-leaving', worker: 'e.a', left: 3, terminating: 0 },
    '3 pods are to leave worker e.a; 0 are terminating.',
  ],
  [{ code: 'budget-blocks', worker: 'e.a', pod: 'd/p', left: 1, others: 1 }, '1 pod that is to leave'],
  [{ code: 'budget-blocks', worker: 'e.a', pod: 'd/p', left: 2, others: 1 }, '2 pods that are to leave'],
  [{ code: 'budget-blocks', worker: 'e.a', pod: 'd/p', left: 2, others: 1 }, '(and 1 other pod is blocked)'],
  [{ code: 'drain-blocked', worker: 'e.a', pod: 'd/p', why: 'bare', others: 2 }, '(and 2 other pods are blocked)'],
  [{ code: 'volumes-attached', worker: 'e.a', attached: 1 }, '1 volume is attached to it still'],
])('%#: %s', (reason, part) => {
  expect(kubernetesSentences[reason.code]?.(reason, explain)).toContain(part);
});

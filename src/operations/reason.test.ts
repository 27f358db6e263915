import { expect, test } from 'vitest';
import { explainer, operationSentences } from './reason.ts';

const explain = explainer([operationSentences, { 'pdb-blocks': ({ pod }) => `Pod ${String(pod)} is held.` }]);

test.each([
  [{ code: 'pdb-blocks', pod: 'web-3' }, 'Pod web-3 is held.'],
  [{ code: 'deadline-passed' }, 'The deadline has passed.'],
  [
    { code: 'deadline-passed', waitedFor: 'pdb-blocks', pod: 'web-3' },
    'The deadline has passed. Until then it waited: Pod web-3 is held.',
  ],
  [
    { code: 'deadline-passed', waitedFor: 'no-clay', thing: 'a' },
    'The deadline has passed. Until then it waited: no-clay: thing a.',
  ],
  [{ code: 'items-failed', failed: 2, done: 1 }, 'Its failed items say why.'],
  [{ code: 'items-failed', failed: 1, done: 0, failedFor: 'pdb-blocks', pod: 'web-3' }, 'Pod web-3 is held.'],
  [
    { code: 'items-failed', failed: 2, done: 0, failedFor: 'deadline-passed', waitedFor: 'pdb-blocks', pod: 'web-3' },
    'One of them: The deadline has passed. Until then it waited: Pod web-3 is held.',
  ],
  [{ code: 'items-failed', failed: 1, done: 4, failedFor: 'odd', host: 'c1' }, 'odd: host c1.'],
  [{ code: 'not-known-here', host: 'c1', problems: ['a', 'b'] }, 'not-known-here: host c1, problems a, b.'],
])('%j is printed as a sentence', (reason, sentence) => {
  expect(explain(reason)).toBe(sentence);
});

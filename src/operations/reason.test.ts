import { expect, test } from 'vitest';
import { explainer, operationSentences } from './reason.ts';

const explain = explainer([operationSentences, { 'pdb-blocks': ({ pod }) => `Pod ${String(pod)} is held.` }]);

test.each([
  [{ code: 'pdb-blocks', pod: 'web-3' }, 'Pod web-3 is held.'],
  [{ code: 'deadline-passed' }, 'The deadline has passed.'],
  [{ code: 'deadline-passed', waitedFor: 'no-clay' }, 'The deadline has passed; the last wait was for no-clay.'],
  [{ code: 'not-known-here', host: 'c1', problems: ['a', 'b'] }, 'not-known-here: host c1, problems a, b.'],
])('%j is told as a sentence', (reason, sentence) => {
  expect(explain(reason)).toBe(sentence);
});

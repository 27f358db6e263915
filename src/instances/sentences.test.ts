// Every fault that ends a build has a sentence: an operator must never read a bare code.
import { expect, test } from 'vitest';
import { explainer } from '../operations/index.ts';
import { FAULTS } from './faults.ts';
import { instanceSentences } from './sentences.ts';

const explain = explainer([instanceSentences]);

test.each(['addresses-exhausted', 'not-found', 'forbidden', 'quota', 'taken', 'bad-image', 'bad-flavor'] as const)(
  'a build that ended for %s says so in words',
  (code) => {
    const { sentence } = FAULTS[code];
    expect(explain({ code, instance: 'web-1', message: sentence })).toBe(sentence);
  },
);

test('the back end’s own text follows the meaning of the fault', () => {
  const reason = { code: 'quota', instance: 'web-1', message: 'the back end answered 409 OverQuota' };
  expect(explain(reason)).toBe('A quota of the network back end is used up: the back end answered 409 OverQuota.');
});

test('a back end whose order is repeated, and one whose is not', () => {
  const code = 'back-end-unavailable';
  expect(explain({ code, instance: 'web-1' })).toBe('The network back end does not answer. The order is repeated.');
  expect(explain({ code, instance: 'web-1', message: 'no route' })).toBe(
    'The network back end did not answer, also when the order was repeated: no route.',
  );
});

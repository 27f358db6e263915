// What a refused RPC says: a sentence for each host, and no path that is no node of the module.
import { expect, test } from 'vitest';
import { withSentences } from './rpc.ts';

test('a-field-of-the-native-request-is-no-path-here', () => {
  const hosts = [{ host: 'c1', result: 'unknown', reason: { code: 'unknown-host', host: 'c1' } }];
  const refusal = {
    kind: 'not-found',
    code: 'unknown-host',
    message: 'No.',
    field: '/hosts',
    facts: { hosts },
  } as const;
  const told = withSentences(refusal, () => 'There is no such host.');
  expect(told).not.toHaveProperty('field');
  expect(told.facts?.['hosts']).toMatchObject([{ sentence: 'There is no such host.' }]);
});

// What a refused RPC says: a sentence for each host, and the node of the module that named it.
import { expect, test } from 'vitest';
import { withSentences } from './rpc.ts';

test('a-field-of-the-native-request-is-a-node-of-the-module-here', () => {
  const hosts = [{ host: 'c1', result: 'unknown', reason: { code: 'unknown-host', host: 'c1' } }];
  const refusal = {
    kind: 'not-found',
    code: 'unknown-host',
    message: 'No.',
    field: '/hosts',
    facts: { hosts },
  } as const;
  const answer = withSentences(refusal, 'scalein-computes-recover', () => 'There is no such host.');
  expect(answer.field).toBe('/input/recover-node-ids');
  expect(answer.facts?.['hosts']).toMatchObject([{ sentence: 'There is no such host.' }]);
});

// Links without an HTTP edge refuse as that does: by the code of what is wrong with the secret, and with advice that leads to a new one.
import { describe, expect, test } from 'vitest';
import { accessModel, TOKEN, type Token } from '../../access/index.ts';
import { Fleet, idOf, put, Registry } from '../../fleet/index.ts';
import { authenticateAgent, notInFleet } from './admission.ts';

const HASH = 'a'.repeat(64);
const SECRET = `mst_tk-1_${'x'.repeat(24)}`;
const GOOD: Token = { name: 'agent/c1', role: 'agent', host: 'c1', hash: HASH, createdAtMs: 1, createdBy: 'x' };

function found(doc: Token | undefined, hash = HASH) {
  const fleet = new Fleet(new Registry([accessModel]));
  if (doc !== undefined) fleet.apply(1, [put(TOKEN, idOf(TOKEN, 'tk-1'), doc)]);
  return authenticateAgent(fleet, { secret: SECRET, role: 'agent', hash: () => hash });
}

describe('a-secret', () => {
  test('of-a-host', () => expect(found(GOOD)).toEqual({ host: 'c1', token: 'tk-1' }));

  test.each<[string, ReturnType<typeof found>, string, string]>([
    ['that-is-unknown', found(undefined), 'token-unknown', 'does not know this token'],
    ['that-is-wrong', found(GOOD, 'b'.repeat(64)), 'token-unknown', 'does not know this token'],
    ['that-was-revoked', found({ ...GOOD, revoked: { atMs: 2, by: 'x' } }), 'token-revoked', 'muster hosts join-token'],
    [
      'of-a-person',
      found({ ...GOOD, role: 'admin' }),
      'role-insufficient',
      'for the role "agent"; your token has the role "admin"',
    ],
  ])('%s', (_, refusal, code, words) => {
    expect(refusal).toMatchObject({ code, message: expect.stringContaining(words) as string });
  });
});

test('an-agent-of-an-unknown-host-is-refused-as-such', () => {
  const message = 'There is no host "c1". List them with "muster hosts list".';
  expect(notInFleet('c1', undefined)).toMatchObject({ kind: 'forbidden', code: 'unknown-host', message });
});

// The cache of callers: its bound, and its invalidation when tokens change.
import { expect, test } from 'vitest';
import { accessModel, TOKEN, type Token } from '../access/index.ts';
import { Fleet, idOf, put, Registry, type Change } from '../fleet/index.ts';
import { Authenticator, hashSecret, type CallerState } from './authenticate.ts';
import { RateLimit } from './limits/rate-limit.ts';

const NOW_MS = 1000;
const secretOf = (id: string): string => `mst_${id}_0123456789abcdef0123456789`;

function token(id: string, facts: Partial<Token> = {}): Change {
  const doc: Token = { name: id, role: 'agent', hash: hashSecret(secretOf(id)), createdBy: 'test', createdAtMs: 0 };
  return put(TOKEN, idOf(TOKEN, id), { ...doc, host: id, ...facts });
}

function knownTo(authenticator: Authenticator, id: string): CallerState {
  const found = authenticator.authenticate({ authorization: `Bearer ${secretOf(id)}` }, NOW_MS);
  if (found.kind !== 'caller') throw new Error(found.kind);
  return found.known;
}

function fleetOf(...changes: Change[]): Fleet {
  const fleet = new Fleet(new Registry([accessModel]));
  fleet.apply(1, changes);
  return fleet;
}

test('a-caller-beyond-its-limit-stays-so-however-many-others-come', () => {
  const others = Array.from({ length: 60_000 }, (_, nth) => `tk-${nth}`);
  const authenticator = new Authenticator(fleetOf(token('tk-busy'), ...others.map((id) => token(id))));
  const limit = new RateLimit(1);
  expect(limit.takeFrom(knownTo(authenticator, 'tk-busy').bucket, NOW_MS)).toBe(0);
  for (const [nth, id] of others.entries()) {
    knownTo(authenticator, id);
    if (nth % 5000 === 0) expect(limit.takeFrom(knownTo(authenticator, 'tk-busy').bucket, NOW_MS)).toBeGreaterThan(0);
  }
});

test('a-token-that-is-changed-is-known-anew, but counted on', () => {
  const fleet = fleetOf(token('tk-1'));
  const authenticator = new Authenticator(fleet);
  const before = knownTo(authenticator, 'tk-1');
  before.lastBody = { route: {} as never, text: '{}', body: {} };
  expect(knownTo(authenticator, 'tk-1')).toBe(before);
  fleet.apply(2, [token('tk-1', { host: 'another' })]);
  const after = knownTo(authenticator, 'tk-1');
  expect([after.caller.host, after.lastBody]).toEqual(['another', undefined]);
  expect(after.bucket).toBe(before.bucket);
});

test('one-token-is-one-caller-however-it-is-shown', () => {
  const authenticator = new Authenticator(fleetOf(token('tk-1')));
  const known = knownTo(authenticator, 'tk-1');
  const secret = secretOf('tk-1');
  for (const headers of [{ authorization: `bearer ${secret}` }, { 'x-auth-token': secret }]) {
    expect(authenticator.authenticate(headers, NOW_MS)).toEqual({ kind: 'caller', known });
  }
  for (const authorization of [
    `Bearer  ${secret}`,
    `Basic ${secret}`,
    `Bearer Bearer ${secret}`,
    `Bearer ${secret}x`,
  ]) {
    expect(authenticator.authenticate({ authorization }, NOW_MS)).toEqual({ kind: 'unknown' });
  }
});

// Tokens: creating, revoking, and the one use of a join token.
import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, type Change } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { createToken, hasAdmin, revokeToken } from './decide.ts';
import { consumeJoinToken } from './join-token.ts';
import { accessModel, TOKEN, type Token } from './model.ts';

const HOUR_MS = 3_600_000;
const NOW = 1_000_000;
const HASH = 'a'.repeat(64);
const id = (text: string) => idOf(TOKEN, text);

function token(extra: Partial<Token> = {}): Token {
  return { name: 'n', role: 'viewer', hash: HASH, createdAtMs: NOW, createdBy: 'test', ...extra };
}

function fleetWith(...tokens: readonly (readonly [string, Token])[]): Fleet {
  const fleet = new Fleet(new Registry([accessModel]));
  fleet.apply(
    1,
    tokens.map(([name, doc]) => put(TOKEN, id(name), doc)),
  );
  return fleet;
}

/** Applies what was decided; answers the refusal's code instead when there is one. */
function done(fleet: Fleet, decision: Decision<unknown>): string | readonly Change[] {
  if (decision.kind === 'refuse') return decision.refusal.code;
  if (decision.changes.length > 0) fleet.apply(fleet.revision + 1, decision.changes);
  return decision.changes;
}

describe('createToken', () => {
  test.each([
    ['viewer-is-fine', {}, undefined],
    ['viewer-of-a-site-is-fine', { site: 's' }, undefined],
    ['viewer-with-host', { host: 'h' }, 'host-not-allowed'],
    ['join-without-host', { role: 'join' }, 'host-required'],
    ['join-with-site', { role: 'join', host: 'h', site: 's' }, 'site-not-allowed'],
    ['agent-without-host', { role: 'agent' }, 'host-required'],
    ['manager-is-fine', { role: 'manager', manager: 'm1' }, undefined],
    ['manager-without-its-name', { role: 'manager' }, 'manager-required'],
    ['manager-of-a-site', { role: 'manager', manager: 'm1', site: 's' }, 'site-not-allowed'],
    ['manager-of-a-project', { role: 'manager', manager: 'm1', project: 'p' }, 'project-not-allowed'],
    ['operator-with-a-manager', { role: 'operator', manager: 'm1' }, 'manager-not-allowed'],
    ['manager-with-a-host', { role: 'manager', manager: 'm1', host: 'h' }, 'host-not-allowed'],
    ['expired-from-the-start', { expiresAtMs: NOW }, 'expires-in-the-past'],
  ] as const)('%s', (_, extra, code) => {
    const fleet = fleetWith();
    const result = done(fleet, createToken(fleet, { id: id('t'), ...token(extra) }));
    if (code === undefined) expect(fleet.get(TOKEN, id('t'))?.doc).toEqual(token(extra));
    else expect(result).toBe(code);
  });
});

describe('revokeToken', () => {
  const revoke = (fleet: Fleet, name: string, nowMs = NOW) =>
    done(fleet, revokeToken(fleet, { id: id(name), by: 'me', nowMs }));

  test('keeps the token for the record, once', () => {
    const fleet = fleetWith(['t', token()]);
    revoke(fleet, 't');
    expect(fleet.get(TOKEN, id('t'))?.doc.revoked).toEqual({ atMs: NOW, by: 'me' });
    expect(revoke(fleet, 't', NOW + 1)).toEqual([]);
  });

  test.each([
    ['the-only-admin', [], 'last-admin-token'],
    ['another-admin-remains', [['b', token({ role: 'admin' })]], undefined],
    ['the-other-is-bound-to-a-site', [['b', token({ role: 'admin', site: 's' })]], 'last-admin-token'],
    ['the-other-has-expired', [['b', token({ role: 'admin', expiresAtMs: NOW - 1 })]], 'last-admin-token'],
    ['the-other-is-revoked', [['b', token({ role: 'admin', revoked: { atMs: 1, by: 'x' } })]], 'last-admin-token'],
  ] as const)('%s', (_, others, code) => {
    const fleet = fleetWith(['a', token({ role: 'admin' })], ...others);
    const result = revoke(fleet, 'a');
    if (code === undefined) expect(hasAdmin(fleet, NOW)).toBe(true);
    else expect(result).toBe(code);
    expect(hasAdmin(fleet, NOW)).toBe(true);
  });

  test('an unknown one is refused', () => expect(revoke(fleetWith(), 'x')).toBe('token-not-found'));
});

describe('consumeJoinToken', () => {
  const join = token({ role: 'join', host: 'h1', name: 'join h1', expiresAtMs: NOW + 10 });
  const use = (fleet: Fleet, extra: { host?: string; hash?: string; nowMs?: number; as?: string } = {}) => {
    const { host = 'h1', hash = 'b'.repeat(64), nowMs = NOW, as = 'cred' } = extra;
    const agentToken = { id: id(as), hash };
    return done(
      fleet,
      consumeJoinToken(fleet, {
        joinToken: id('j'),
        subject: { kind: 'host', name: host },
        credential: agentToken,
        nowMs,
      }),
    );
  };

  test('makes the credential of its host, in one commit with its own end', () => {
    const fleet = fleetWith(['j', join]);
    use(fleet);
    expect(fleet.revision).toBe(2);
    expect(fleet.get(TOKEN, id('j'))?.doc.consumed).toEqual({ atMs: NOW, token: 'cred' });
    expect(fleet.get(TOKEN, id('cred'))?.doc).toMatchObject({ role: 'agent', host: 'h1', hash: 'b'.repeat(64) });
  });

  test('repeated with the same secret it is answered as before, with another it is used up', () => {
    const fleet = fleetWith(['j', join]);
    use(fleet);
    expect(use(fleet, { nowMs: NOW + 100 })).toEqual([]);
    expect(use(fleet, { hash: 'c'.repeat(64), as: 'other' })).toBe('join-token-used');
  });

  test('ends older credentials of the host and no others', () => {
    const old = token({ role: 'agent', host: 'h1' });
    const other = token({ role: 'agent', host: 'h2' });
    const fleet = fleetWith(['j', join], ['old', old], ['other', other]);
    use(fleet);
    expect(fleet.get(TOKEN, id('old'))?.doc.revoked).toBeDefined();
    expect(fleet.get(TOKEN, id('other'))?.doc.revoked).toBeUndefined();
    expect(fleet.get(TOKEN, id('cred'))?.doc.revoked).toBeUndefined();
  });

  test.each([
    ['expired', join, { nowMs: NOW + 10 }, 'join-token-expired'],
    [
      'made-by-a-clock-that-was-ahead',
      { ...join, createdAtMs: NOW + 5 * 60_000 + 1, expiresAtMs: NOW + HOUR_MS },
      {},
      'join-token-early',
    ],
    ['for-another-host', join, { host: 'h2' }, 'join-token-other-host'],
    ['revoked', { ...join, revoked: { atMs: 1, by: 'x' } }, {}, 'join-token-invalid'],
    ['no-join-token', token({ role: 'admin' }), {}, 'join-token-invalid'],
  ])('%s-is-refused', (_, doc, extra, code) => {
    expect(use(fleetWith(['j', doc]), extra)).toBe(code);
  });

  test('made by a clock that is ahead by less than the clocks of servers may differ it counts', () => {
    const fleet = fleetWith(['j', { ...join, createdAtMs: NOW + 5 * 60_000, expiresAtMs: NOW + HOUR_MS }]);
    use(fleet);
    expect(fleet.get(TOKEN, id('cred'))?.doc).toMatchObject({ role: 'agent', host: 'h1' });
  });
});

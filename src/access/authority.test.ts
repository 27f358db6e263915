// Who may do what on which fleet: what became of the token since it was seen decides, not what it was.
import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, type Change } from '../fleet/index.ts';
import { callerOfToken, denyUnlessAuthorized, type Authority, type StoredToken } from './authority.ts';
import { accessModel, TOKEN, type Token } from './model.ts';

const ID = idOf(TOKEN, 'tk-1');
const GOOD: Token = { name: 'ops', role: 'operator', hash: '0'.repeat(64), createdAtMs: 1, createdBy: 'test' };

function fleetWith(...docs: readonly Token[]): { fleet: Fleet; seen: StoredToken } {
  const fleet = new Fleet(new Registry([accessModel]));
  fleet.apply(1, [put(TOKEN, ID, docs[0] as Token)]);
  const seen = fleet.get(TOKEN, ID) as StoredToken;
  docs.slice(1).forEach((doc, at) => fleet.apply(at + 2, [put(TOKEN, ID, doc)]));
  return { fleet, seen };
}

function codeOf(fleet: Fleet, seen: StoredToken | undefined, more: Partial<Authority> = {}, nowMs = 100): string {
  const caller = seen === undefined ? ({ name: 'x', role: 'nobody' } as const) : callerOfToken(seen);
  const authority: Authority = { caller, token: seen, demand: { access: 'operator' }, ...more };
  return denyUnlessAuthorized(fleet, authority, nowMs)?.code ?? 'granted';
}

describe('a token', () => {
  const revoked: Token = { ...GOOD, revoked: { atMs: 5, by: 'test' } };
  test.each<[name: string, docs: readonly [Token, ...Token[]], code: string]>([
    ['is-as-it-was', [GOOD], 'granted'],
    ['was-written-again-as-it-is', [GOOD, { ...GOOD }], 'granted'],
    ['was-revoked-since', [GOOD, revoked], 'token-revoked'],
    ['was-revoked-already-when-it-was-seen', [revoked], 'token-revoked'],
    ['has-another-secret-now', [GOOD, { ...GOOD, hash: '1'.repeat(64) }], 'token-unknown'],
    ['has-another-role-now', [GOOD, { ...GOOD, role: 'viewer' }], 'token-changed'],
    ['is-of-another-manager-now', [GOOD, { ...GOOD, manager: 'm2' }], 'token-changed'],
    ['is-bound-to-a-site-now', [GOOD, { ...GOOD, site: 'north' }], 'token-changed'],
    ['has-expired', [{ ...GOOD, expiresAtMs: 100 }], 'token-expired'],
    [
      'expires-sooner-now',
      [
        { ...GOOD, expiresAtMs: 500 },
        { ...GOOD, expiresAtMs: 99 },
      ],
      'token-expired',
    ],
    ['is-still-good-for-a-moment', [{ ...GOOD, expiresAtMs: 101 }], 'granted'],
  ])('that %s', (_, docs, code) => {
    const { fleet, seen } = fleetWith(...docs);
    expect(codeOf(fleet, seen)).toBe(code);
  });

  test('that is gone grants nothing', () => {
    const { fleet, seen } = fleetWith(GOOD);
    const removed: Change = { kind: TOKEN.name, id: ID, doc: null };
    fleet.apply(2, [removed]);
    expect(codeOf(fleet, seen)).toBe('token-unknown');
  });
});

test('an-anonymous-caller-is-granted-what-is-public-and-nothing-else', () => {
  const { fleet } = fleetWith(GOOD);
  expect(codeOf(fleet, undefined)).toBe('token-missing');
  expect(codeOf(fleet, undefined, { demand: { access: 'public' } })).toBe('granted');
});

test('a-good-token-is-not-enough', () => {
  const { fleet, seen } = fleetWith(GOOD);
  expect(codeOf(fleet, seen, { demand: { access: 'admin' } })).toBe('role-insufficient');
  const bound = fleetWith({ ...GOOD, site: 'north' });
  expect(codeOf(bound.fleet, bound.seen)).toBe('site-bound');
  expect(codeOf(bound.fleet, bound.seen, { demand: { access: 'operator', scope: 'site' } })).toBe('granted');
  const agent = fleetWith({ ...GOOD, role: 'agent', host: 'c1' });
  const demand = { access: 'agent' } as const;
  expect(codeOf(agent.fleet, agent.seen, { demand, named: { host: 'c2' } })).toBe('other-host');
  expect(codeOf(agent.fleet, agent.seen, { demand, named: { host: 'c1' } })).toBe('granted');
  const manager = fleetWith({ ...GOOD, role: 'manager', manager: 'm1' });
  const managing = { access: 'manager' } as const;
  expect(codeOf(manager.fleet, manager.seen, { demand: managing, named: { manager: 'm2' } })).toBe('other-manager');
  for (const name of ['m1', 'M1'])
    expect(codeOf(manager.fleet, manager.seen, { demand: managing, named: { manager: name } })).toBe('granted');
});

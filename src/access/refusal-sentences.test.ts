// What this module's refusals say, case by case: each sentence is true of its case, and what it advises can be done by who reads it.
import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry } from '../fleet/index.ts';
import { noSuch } from './answer.ts';
import { denyUnlessSufficient, findTroubleOf, refuseToken } from './authority.ts';
import { createToken } from './decide.ts';
import { consumeJoinToken } from './join-token.ts';
import { accessModel, TOKEN, type Token } from './model.ts';
import type { Access, Caller } from './role.ts';

const NOW = Date.parse('2026-11-18T12:00:00Z');
const HASH = 'a'.repeat(64);
const id = (text: string) => idOf(TOKEN, text);

function token(extra: Partial<Token> = {}): Token {
  return { name: 'n', role: 'viewer', hash: HASH, createdAtMs: NOW, createdBy: 'test', ...extra };
}

function fleetWith(...tokens: readonly (readonly [string, Token])[]): Fleet {
  const fleet = new Fleet(new Registry([accessModel]));
  const changes = tokens.map(([name, doc]) => put(TOKEN, id(name), doc));
  if (changes.length > 0) fleet.apply(1, changes);
  return fleet;
}

const OPERATOR: Caller = { name: 'ann', role: 'operator' };

describe('the-role', () => {
  test.each<[string, Caller, Access, string]>([
    [
      'a-viewer-where-operators-are-wanted',
      { name: 'ann', role: 'viewer' },
      'operator',
      'This route is for the roles "operator", "admin"; your token has the role "viewer". Use a token with the right role.',
    ],
    [
      'an-agent-where-people-read',
      { name: 'agent/c1', role: 'agent', host: 'c1' },
      'viewer',
      'This route is for the roles "viewer", "operator", "admin"; your token has the role "agent". Use a token with the right role.',
    ],
    [
      'a-person-where-agents-join',
      { name: 'root', role: 'admin' },
      'join',
      'This route is for the role "join"; your token has the role "admin". Use a token with the right role.',
    ],
  ])('%s', (_, caller, access, message) => {
    expect(denyUnlessSufficient(caller, { access })).toMatchObject({ code: 'role-insufficient', message });
  });

  test.each<[string, Partial<Caller>, string | undefined, string]>([
    [
      'site-bound',
      { site: 'north' },
      undefined,
      'bound to site "north"; this route concerns the whole fleet. Use a token that is bound to no site.',
    ],
    [
      'project-bound',
      { project: 'shop' },
      undefined,
      'bound to project "shop"; this route is not for projects. Use a token that is bound to no project.',
    ],
    [
      'other-host',
      { host: 'c1' },
      'c2',
      'speaks for host "c1" and no other. Use the token of the host that the request names.',
    ],
  ])('%s', (code, bound, host, words) => {
    const denied = denyUnlessSufficient({ ...OPERATOR, ...bound }, { access: 'operator' }, { host });
    expect(denied).toMatchObject({ code, message: expect.stringContaining(words) as string });
  });
});

describe('a-token', () => {
  /** An agent's operator cannot use what an administrator makes for people, nor the other way round. */
  test.each(['expired', 'early', 'revoked'] as const)('%s: names both ways to a new one', (trouble) => {
    const { message } = refuseToken(trouble);
    expect(message).toContain('"muster token create"');
    expect(message).toContain('"muster hosts join-token"');
  });

  test.each<[string, readonly (readonly [string, Token])[], string | undefined]>([
    ['is-good', [['t', token()]], undefined],
    ['was-never-there', [], 'unknown'],
    ['was-revoked', [['t', token({ revoked: { atMs: 1, by: 'x' } })]], 'revoked'],
    ['has-expired', [['t', token({ expiresAtMs: NOW })]], 'expired'],
    ['was-made-ahead-of-time', [['t', token({ createdAtMs: NOW + 3_600_000, expiresAtMs: NOW + 7_200_000 })]], 'early'],
  ])('that %s', (_, tokens, trouble) => {
    expect(findTroubleOf(fleetWith(...tokens), id('t'), NOW)).toBe(trouble);
  });

  test('that would be expired: the sentence has both times, since seconds are taken for milliseconds', () => {
    const seconds = Math.floor(NOW / 1000) + 3600;
    const decision = createToken(fleetWith(), { id: id('t'), ...token({ expiresAtMs: seconds }) });
    expect(decision).toMatchObject({
      refusal: {
        code: 'expires-in-the-past',
        message: `The token would have expired at ${seconds}, and it is ${NOW} now, in milliseconds since 1970. Choose a time that lies ahead.`,
      },
    });
  });
});

describe('a-join-token', () => {
  const JOIN = token({ role: 'join', host: 'h1', expiresAtMs: NOW + 10 });
  const NEW = 'Make a new one with "muster hosts join-token h1".';
  const use = (doc: Token | undefined, { host = 'h1', nowMs = NOW } = {}) => {
    const fleet = doc === undefined ? fleetWith() : fleetWith(['j', doc]);
    const agentToken = { id: id('cred'), hash: HASH };
    return consumeJoinToken(fleet, {
      joinToken: id('j'),
      subject: { kind: 'host', name: host },
      credential: agentToken,
      nowMs,
    });
  };

  test.each<[string, Token | undefined, { readonly host?: string; readonly nowMs?: number }, string, string]>([
    ['is-gone', undefined, {}, 'join-token-invalid', `This is not a join token, or it was revoked. ${NEW}`],
    [
      'is-another-kind',
      token({ role: 'admin' }),
      {},
      'join-token-invalid',
      `This is not a join token, or it was revoked. ${NEW}`,
    ],
    [
      'is-for-another-host',
      JOIN,
      { host: 'h2' },
      'join-token-other-host',
      'This join token is for host "h1", and the agent says that it is host "h2". Start the agent with --host h1, or make a token for the other host with "muster hosts join-token h2".',
    ],
    [
      'was-used',
      { ...JOIN, consumed: { atMs: 1, token: 'x' } },
      {},
      'join-token-used',
      `This join token was used already, for host "h1". If its agent lost its credential: ${NEW}`,
    ],
    [
      'has-expired',
      JOIN,
      { nowMs: NOW + 10 },
      'join-token-expired',
      `This join token of host "h1" has expired. ${NEW}`,
    ],
    [
      'was-made-ahead-of-time',
      { ...JOIN, createdAtMs: NOW + 3_600_000, expiresAtMs: NOW + 7_200_000 },
      {},
      'join-token-early',
      `This join token of host "h1" was made by a server whose clock was ahead, and does not count before that time. ${NEW}`,
    ],
  ])('that %s', (...row) => {
    const [, doc, at, code, message] = row;
    expect(use(doc, at)).toMatchObject({ refusal: { code, message } });
  });
});

describe('what-is-not-there', () => {
  test.each<[string, Caller | undefined, string, string]>([
    ['who-sees-everything', OPERATOR, 'host', 'There is no host "x". List them with "muster hosts list".'],
    [
      'nobody-in-particular',
      undefined,
      'floating-address',
      'There is no floating address "x". List them with "muster floating-addresses list".',
    ],
    ['an-alarm', undefined, 'alarm', 'There is no alarm "x". List them with "muster alarms".'],
    // The same whether it does not exist or belongs to others.
    [
      'who-is-bound-to-a-site',
      { ...OPERATOR, site: 'north' },
      'host',
      'There is no host "x" that your token may see. "muster hosts list" lists those that it may.',
    ],
    [
      'who-is-bound-to-a-project',
      { ...OPERATOR, project: 'shop' },
      'instance',
      'There is no instance "x" that your token may see. "muster instances list" lists those that it may.',
    ],
  ])('to %s', (_, caller, kind, message) => {
    expect(noSuch(kind, 'x', caller)).toMatchObject({ kind: 'not-found', code: `${kind}-not-found`, message });
  });
});

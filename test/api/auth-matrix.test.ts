// Who may call what: every route against every kind of caller. The table is written by hand; a route that is not in it
// fails the suite.
import { describe, expect, test } from 'vitest';
import type { Route } from '../../src/access/index.ts';
import { compileChecker } from '../../src/fleet/index.ts';
import { idIn, keyOf, prepareServer, requestFor, TABLE } from './every-route.ts';
import { CALLERS, type CallerName } from './who-may-call.ts';
import { startApiTestServer } from './api-test-server.ts';

const OUTCOMES: Readonly<Record<string, (status: number) => boolean>> = {
  '+': (status) => status < 500 && ![401, 403, 404].includes(status),
  '-': (status) => status === 403,
  '0': (status) => status === 404,
  '?': (status) => status === 401,
};

const { world: first } = await prepareServer();
const { routes } = first.server;
await first.close();

test('every-route-is-in-the-table', () => {
  expect(routes.map(keyOf).sort()).toEqual(Object.keys(TABLE).sort());
});

describe.each(routes.map((route) => [keyOf(route), route] as const))('%s', (key, route) => {
  test('lets in exactly whom the table says, and answers as its schema says', async () => {
    const { world, secrets, token } = await prepareServer();
    const expected = (TABLE[key]?.who ?? '').split(/\s+/);
    const wrong: string[] = [];
    for (const [at, name] of CALLERS.entries()) {
      const answer = await world.call(secrets.get(name), requestFor(route, token));
      const status = answer.statusCode;
      const outcome = expected[at] ?? (name === 'manager' ? '-' : '');
      if (OUTCOMES[outcome]?.(status) !== true) wrong.push(`${name}: ${status} instead of ${outcome}`);
      if (route.kind === 'stream') answer.stream().destroy();
      else wrong.push(...answerProblems(route, status, answer.body).map((problem) => `${name}: ${problem}`));
    }
    expect(wrong).toEqual([]);
    await world.close();
  });
});

function answerProblems(route: Route, status: number, body: string): string[] {
  const face = route.answers[status];
  if (status >= 400 && face === undefined && route.dialect === 'restconf') {
    const { error } = (JSON.parse(body) as Record<string, { error: object[] }>)['ietf-restconf:errors'] ?? {};
    return error !== undefined && error.length > 0 ? [] : [`not a problem: ${body}`];
  }
  if (status >= 400 && face === undefined) {
    const { code, detail, requestId } = JSON.parse(body) as Record<string, unknown>;
    return [code, detail, requestId].every((one) => typeof one === 'string') ? [] : [`not a problem: ${body}`];
  }
  if (face === undefined) return [`status ${status} is not described`];
  if (face.schema === undefined) return [];
  return compileChecker(face.schema)(JSON.parse(body)).map((problem) => `answer ${problem.field} ${problem.message}`);
}

test('X-Auth-Token-is-as-good-as-a-bearer', async () => {
  const { world, secrets } = await prepareServer();
  const headers = { 'x-auth-token': secrets.get('viewer') ?? '' };
  expect((await world.server.app.inject({ url: '/api/v1/hosts', headers })).statusCode).toBe(200);
  const basic = { authorization: `Basic ${secrets.get('viewer')}` };
  expect((await world.server.app.inject({ url: '/api/v1/hosts', headers: basic })).statusCode).toBe(401);
  await world.close();
});

test('a-secret-with-one-character-changed-opens-nothing', async () => {
  const { world, secrets } = await prepareServer();
  const secret = secrets.get('admin') ?? '';
  for (const at of [4, 8, secret.length - 1, secret.length - 20]) {
    const changed = secret.slice(0, at) + (secret[at] === 'x' ? 'y' : 'x') + secret.slice(at + 1);
    expect((await world.call(changed, { url: '/api/v1/tokens' })).statusCode).toBe(401);
  }
  await world.close();
});

test('a-token-that-was-in-use-opens-nothing-once-it-is-revoked-or-expired', async () => {
  const world = await startApiTestServer();
  const admin = await world.token('admin');
  const revoked = await world.token('viewer');
  const expiring = await world.token('viewer', { expiresAtMs: world.clock.nowMs() + 5000 });
  const status = async (secret: string) => (await world.call(secret, { url: '/api/v1/hosts' })).statusCode;
  expect([await status(revoked), await status(expiring)]).toEqual([200, 200]);
  await world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${idIn(revoked)}` });
  world.clock.ahead(5000);
  expect([await status(revoked), await status(expiring)]).toEqual([401, 401]);
  await world.close();
});

test('the-last-admin-token-is-not-revoked', async () => {
  const world = await startApiTestServer();
  const [one, other] = [await world.token('admin'), await world.token('admin')];
  const revoke = (id: string) => world.call(one, { method: 'DELETE', url: `/api/v1/tokens/${id}` });
  expect((await revoke(idIn(other))).statusCode).toBe(200);
  expect((await revoke(idIn(one))).json()).toMatchObject({ status: 409, code: 'last-admin-token' });
  await world.close();
});

test('lists-show-a-site-bound-caller-its-own-site-only', async () => {
  const { world, secrets } = await prepareServer();
  const ids = async (name: CallerName, url: string): Promise<string[]> =>
    (await world.call(secrets.get(name), { url })).json<{ items: { id: string }[] }>().items.map((item) => item.id);
  expect(await ids('site viewer', '/api/v1/hosts')).toEqual(['central-0', 'central-1', 'central-2']);
  expect(await ids('site viewer', '/api/v1/hosts?site=north')).toEqual([]);
  expect(await ids('site viewer', '/api/v1/hosts?sort=-name')).toEqual(['central-2', 'central-1', 'central-0']);
  expect(await ids('site viewer', '/api/v1/sites')).toEqual(['central']);
  expect(await ids('other site admin', '/api/v1/alarms')).toEqual([]);
  expect(await ids('other site admin', '/api/v1/operations')).toEqual([]);
  expect(await ids('site viewer', '/api/v1/operation-items?target=host/central-0')).toEqual(['op-1.central-0']);
  expect(await ids('other site admin', '/api/v1/operation-items?target=host/central-0')).toEqual([]);
  expect(await ids('viewer', '/api/v1/sites')).toEqual(['central', 'north']);
  await world.close();
});

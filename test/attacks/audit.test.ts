// No caller is refused without a trace: each refusal names whose token it was, is counted, and can be exported; and no caller fills the disk
// by being refused.
import { lstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tokenIdIn } from '../../src/access/index.ts';
import { newFolder, startServer } from '../cli/muster.ts';
import { clockAhead, populate, startApiTestServer, type ApiTestServer } from '../api/api-test-server.ts';

interface Line {
  readonly type: 'commit' | 'refusal' | 'end';
  readonly atMs: number;
  readonly by?: string;
  readonly code?: string;
  readonly count?: number;
  readonly [more: string]: unknown;
}

let world: ApiTestServer;
let admin: string;
let folder: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'muster-audit-'));
  world = await startApiTestServer({
    auditFolder: join(folder, 'audit'),
    url: 'https://m1.example:7070',
    logLevel: 'info',
  });
  await populate(world);
  admin = await world.token('admin', { name: 'root-admin' });
});

afterEach(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

async function exported(query = ''): Promise<Line[]> {
  const { statusCode, body } = await world.call(admin, { method: 'GET', url: `/api/v1/audit${query}` });
  expect(statusCode).toBe(200);
  return linesIn(body);
}

function linesIn(text: string): Line[] {
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

const refusalsIn = (lines: readonly Line[]): Line[] => lines.filter(({ type }) => type === 'refusal');

describe('a refused request names its caller, never "anonymous" for a known token', () => {
  const post = (payload: object) => ({ method: 'POST', url: '/api/v1/sites', payload }) as const;
  const get = (url: string) => ({ method: 'GET', url }) as const;
  test.each([
    { why: 'role', role: 'viewer', request: post({ name: 'x' }), status: 403, code: 'role-insufficient' },
    { why: 'site', role: 'admin', site: 'north', request: get('/api/v1/networks'), status: 403, code: 'site-bound' },
    { why: 'no such path', role: 'viewer', request: get('/api/v1/nothing'), status: 404, code: 'route-not-found' },
    { why: 'RESTCONF', role: 'viewer', request: get('/restconf/data/x'), status: 404, code: 'route-not-found' },
    { why: 'a body', role: 'admin', request: post({ n: 1 }), status: 400, code: 'malformed-body' },
    { why: 'a conflict', role: 'admin', request: post({ name: 'north' }), status: 409, code: 'site-exists' },
  ] as const)('$why', async ({ role, request, status, code, ...more }) => {
    const extra = 'site' in more ? { site: more.site } : {};
    const secret = await world.token(role, { name: 'mallory', ...extra });
    await world.call(secret, request);
    const [line, ...others] = refusalsIn(await exported());
    expect(others).toEqual([]);
    expect(line).toMatchObject({
      by: 'mallory',
      token: tokenIdIn(secret),
      role,
      status,
      code,
      method: request.method,
      server: 'https://m1.example:7070',
      address: '127.0.0.1',
      count: 1,
    });
    expect(world.logged()).toContain(`"by":"${line?.by}"`);
  });

  test('an expired token', async () => {
    const secret = await world.token('admin', { name: 'mallory', expiresAtMs: world.clock.nowMs() + 1000 });
    world.clock.ahead(2000);
    await world.call(secret, { method: 'GET', url: '/api/v1/hosts' });
    expect(refusalsIn(await exported())).toMatchObject([{ by: 'mallory', code: 'token-expired', status: 401 }]);
  });

  test('a revoked token', async () => {
    const secret = await world.token('admin', { name: 'mallory' });
    await world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${tokenIdIn(secret)}` });
    await world.call(secret, { method: 'GET', url: '/api/v1/hosts' });
    expect(refusalsIn(await exported())).toMatchObject([{ by: 'mallory', code: 'token-revoked', role: 'admin' }]);
  });

  test('too many requests', async () => {
    const fast = await startApiTestServer({ limits: { perTokenPerSecond: 1 }, logLevel: 'info' });
    const secret = await fast.token('viewer', { name: 'mallory' });
    for (let count = 0; count < 3; count += 1) await fast.call(secret, { method: 'GET', url: '/api/v1/hosts' });
    const line = fast
      .logged()
      .split('\n')
      .find((text) => text.includes('too-many-requests'));
    expect(JSON.parse(line ?? '{}')).toMatchObject({ msg: 'refused', by: 'mallory' });
    await fast.close();
  });

  test('the id of another token with a wrong secret is anonymous', async () => {
    const secret = await world.token('admin', { name: 'victim' });
    await world.call(`${secret.slice(0, -2)}xx`, { method: 'GET', url: '/api/v1/hosts' });
    const [line] = refusalsIn(await exported());
    expect(line).toMatchObject({ code: 'token-unknown', address: '127.0.0.1' });
    expect(line).not.toHaveProperty('by');
  });

  test('never: a secret, a body or a query is in the record', async () => {
    const secret = await world.token('viewer');
    await world.call(secret, { method: 'POST', url: '/api/v1/sites?q=secret-query', payload: { name: 'secret-body' } });
    await world.call('mst_not-a-token', { method: 'GET', url: '/api/v1/hosts' });
    const text = JSON.stringify(refusalsIn(await exported()));
    for (const hidden of [secret, 'secret-query', 'secret-body', 'mst_not-a-token']) expect(text).not.toContain(hidden);
  });
});

test('refusals are counted by route and code', async () => {
  const viewer = await world.token('viewer');
  for (let count = 0; count < 3; count += 1) {
    await world.call(viewer, { method: 'POST', url: '/api/v1/sites', payload: { name: 'x' } });
  }
  const { body } = await world.call(admin, { method: 'GET', url: '/metrics' });
  expect(body).toContain(
    'muster_requests_refused_total{method="POST",route="/api/v1/sites",code="role-insufficient"} 3',
  );
});

test('a flood of refusals is a handful of lines, and nothing is left uncounted', async () => {
  const viewer = await world.token('viewer', { name: 'mallory' });
  for (let count = 0; count < 500; count += 1) {
    await world.call(`guess-${count}`, { method: 'GET', url: '/api/v1/hosts' });
    await world.call(viewer, { method: 'POST', url: '/api/v1/sites', payload: { name: `x${count}` } });
  }
  const during = refusalsIn(await exported());
  expect(during).toHaveLength(2);
  await world.close();
  const files = readdirSync(join(folder, 'audit'));
  const bytes = files.reduce((sum, name) => sum + statSync(join(folder, 'audit', name)).size, 0);
  expect(bytes).toBeLessThan(2000);
  world = await startApiTestServer({ auditFolder: join(folder, 'audit') });
  admin = await world.token('admin');
  const after = refusalsIn(await exported());
  expect(after.map(({ by, count }) => [by, count])).toEqual(
    expect.arrayContaining([
      [undefined, 1],
      [undefined, 499],
      ['mallory', 1],
      ['mallory', 499],
    ]),
  );
  for (const name of files) expect(lstatSync(join(folder, 'audit', name)).mode & 0o777).toBe(0o600);
});

describe('the export', () => {
  test('has every commit with who, when and why, in order with refusals, and an end', async () => {
    const operator = await world.token('operator', { name: 'ann' });
    await world.call(admin, { method: 'POST', url: '/api/v1/sites', payload: { name: 'south' } });
    await world.call(operator, { method: 'POST', url: '/api/v1/sites', payload: { name: 'x' } });
    await world.call(admin, { method: 'DELETE', url: '/api/v1/sites/south' });
    const lines = await exported();
    const audited = lines.filter(({ by }) => by === 'root-admin' || by === 'ann');
    expect(audited).toMatchObject([
      { type: 'commit', why: 'create site south', changes: [{ kind: 'site', id: 'south', change: 'put' }] },
      { type: 'refusal', by: 'ann', code: 'role-insufficient' },
      { type: 'commit', why: 'delete site south', changes: [{ kind: 'site', id: 'south', change: 'delete' }] },
    ]);
    expect(lines.map(({ atMs }) => atMs ?? Infinity)).toEqual(
      lines.map(({ atMs }) => atMs ?? Infinity).toSorted((one, other) => one - other),
    );
    const revisions = lines.filter(({ type }) => type === 'commit').map(({ revision }) => revision);
    expect(revisions).toEqual(Array.from({ length: world.journal.fleet.revision }, (_, at) => at + 1));
    expect(lines.at(-1)).toMatchObject({
      type: 'end',
      commits: revisions.length,
      refusals: 1,
      server: 'https://m1.example:7070',
    });
  });

  test('keeps the order of what happened within one millisecond', async () => {
    await world.close();
    world = await startApiTestServer({
      auditFolder: join(folder, 'audit-of-one-moment'),
      clock: { ...clockAhead(), nowMs: () => 1_794_867_507_900 },
    });
    admin = await world.token('admin', { name: 'root-admin' });
    const operator = await world.token('operator', { name: 'ann' });
    for (const name of ['a', 'b', 'c']) {
      await world.call(admin, { method: 'POST', url: '/api/v1/sites', payload: { name } });
      await world.call(operator, { method: 'DELETE', url: `/api/v1/sites/${name}` });
      await world.call(`stranger-${name}`, { method: 'GET', url: `/api/v1/sites/${name}` });
    }
    const lines = (await exported()).filter(({ type, by }) => type === 'refusal' || by === 'root-admin');
    // A second refusal of the same kind within a minute is only counted.
    expect(lines.map(({ type, why, by }) => why ?? `${type} of ${by ?? 'a stranger'}`)).toEqual([
      'create site a',
      'refusal of ann',
      'refusal of a stranger',
      'create site b',
      'create site c',
    ]);
  });

  test('takes since and until', async () => {
    const hour = 3_600_000;
    for (let at = 0; at < 150; at += 1) {
      await world.commit();
      await world.call(admin, { method: 'POST', url: '/api/v1/sites', payload: { name: `s-${at}` } });
      world.clock.ahead(hour);
    }
    const all = (await exported()).filter(({ by }) => by === 'root-admin');
    expect(all).toHaveLength(150);
    const [first, last] = [all[40]!.atMs, all[59]!.atMs];
    const some = (await exported(`?sinceMs=${first}&untilMs=${last + 1}`)).filter(({ by }) => by === 'root-admin');
    expect(some).toEqual(all.slice(40, 60));
    expect(await exported(`?sinceMs=${last + 1000 * hour}`)).toMatchObject([{ type: 'end', commits: 0, refusals: 0 }]);
  });

  test('is for administrators of the whole fleet, and requests of others for it are in it', async () => {
    const bound = await world.token('admin', { site: 'north', name: 'bound' });
    const { statusCode } = await world.call(bound, { method: 'GET', url: '/api/v1/audit' });
    expect(statusCode).toBe(403);
    expect(refusalsIn(await exported())).toMatchObject([{ by: 'bound', route: '/api/v1/audit' }]);
  });
});

test('muster audit export writes it, from a server that was restarted meanwhile', async () => {
  const data = newFolder();
  let server = await startServer(data);
  await server.muster('sites', 'create', 'south');
  await server.with({}, 'sites', 'create', 'north', '--token', 'mst_guess');
  await server.stop();
  server = await startServer(data);
  const { code, out, err } = await server.muster('audit', 'export', '--since', '1h');
  expect(code).toBe(0);
  expect(err).toMatch(/commits and 1 lines of refusals, from http/);
  const lines = linesIn(out);
  expect(lines.find(({ why }) => why === 'create site south')).toMatchObject({ type: 'commit', by: 'admin' });
  expect(refusalsIn(lines)).toMatchObject([{ code: 'token-unknown', route: '/api/v1/sites', count: 1 }]);
  expect(lines.at(-1)?.type).toBe('end');
  expect((await server.muster('audit', 'export', '--since', 'yesterday')).code).toBe(2);
  await server.stop();
});

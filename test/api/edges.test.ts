// The edges of the server: what is refused before any module gets it, probes, figures, TLS, the first token.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request as secureRequest } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IDEMPOTENCY, TOKEN } from '../../src/access/index.ts';
import { createServer, ensureAdminToken, InsecureListen } from '../../src/api/runtime.ts';
import { compose } from '../../src/composition/index.ts';
import { NO_SECRETS } from '../../src/keys/index.ts';
import { selfSigned } from '../self-signed.ts';
import { populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

let world: ApiTestServer;
let admin: string;
let url: string;

beforeAll(async () => {
  world = await startApiTestServer();
  await populate(world);
  admin = await world.token('admin');
  url = await world.server.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(() => world.close());

describe('a problem', () => {
  test('names the field, says what to do and suggests what was meant', async () => {
    const payload = { hosts: [{ name: 'Not Good', capacity: { vcpu: 3 } }], reson: 'x' };
    const answer = await world.call(admin, { method: 'POST', url: '/api/v1/hosts', payload });
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
    expect(answer.json()).toMatchObject({
      type: 'urn:muster:problem:malformed-body',
      title: 'Bad Request',
      status: 400,
      code: 'malformed-body',
      problems: expect.arrayContaining([
        { field: '/reson', message: 'is not a known field (did you mean "reason"?)' },
        { field: '/hosts/0/capacity/vcpu', message: 'is not a known field (did you mean "vcpus"?)' },
      ]) as object,
      requestId: answer.headers['x-request-id'],
    });
    expect(answer.json<{ problems: { field: string }[] }>().problems.map((one) => one.field)).toContain(
      '/hosts/0/name',
    );
  });

  test.each([
    ['GET', '/api/v1/hots', 404, 'route-not-found', '"/api/v1/hosts"'],
    [
      'GET',
      '/api/v1/hosts/nope',
      404,
      'host-not-found',
      'There is no host "nope". List them with "muster hosts list".',
    ],
    ['GET', '/api/v1/settings/liveliness', 404, 'unknown-setting', 'List them with "muster settings list".'],
    ['GET', '/api/v1/history?id=c1', 422, 'kind-required', 'with `kind`'],
    ['PUT', '/api/v1/hosts/central-0', 405, 'method-not-allowed', 'GET, PATCH'],
    ['OPTIONS', '/api/v1/hosts', 405, 'method-not-allowed', 'GET, POST'],
  ] as const)('%s %s is %i %s', async (...row) => {
    const [method, path, status, code, hint] = row;
    const answer = await world.call(admin, { method, url: path });
    expect(answer.json()).toMatchObject({ status, code });
    expect(answer.json<{ detail: string }>().detail).toContain(hint);
    if (status === 405) expect(answer.headers['allow']).toBe(hint);
  });

  test('a malformed address is refused by its field', async () => {
    const payload = { tunnelAddress: '10.0.0' };
    const answer = await world.call(admin, { method: 'PATCH', url: '/api/v1/hosts/central-0', payload });
    const message = 'must be an IPv4 or IPv6 address, such as 192.0.2.7 or 2001:db8::7';
    expect(answer.json()).toMatchObject({
      status: 400,
      detail: `The body is not as this route wants it: /tunnelAddress ${message}.`,
      problems: [{ field: '/tunnelAddress', message }],
    });
  });

  test('a HEAD is a GET without its body', async () => {
    const answer = await world.call(admin, { method: 'HEAD', url: '/api/v1/hosts/central-0' });
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
    expect(answer.headers['etag']).toMatch(/^"\d+-[0-9a-f]{8}"$/);
  });

  test.each([
    ['too large', 'application/json', `{"name":"${'x'.repeat(1024 * 1024)}"}`, 413, 'body-too-large', '1048576 bytes'],
    ['not JSON', 'application/json', '{', 400, 'malformed-json', 'Check quotes'],
    ['of another type', 'text/yaml', 'name: x', 415, 'unsupported-media-type', 'application/json'],
    ['too deep', 'application/json', `{"a":${'['.repeat(40)}${']'.repeat(40)}}`, 400, 'malformed-json', '32 levels'],
  ] as const)('a body that is %s', async (...row) => {
    const [, type, payload, status, code, words] = row;
    const headers = { 'content-type': type };
    const answer = await world.call(admin, { method: 'POST', url: '/api/v1/sites', payload, headers });
    expect(answer.json()).toMatchObject({ status, code, detail: expect.stringContaining(words) as string });
  });

  test('of our own making shows nothing of the inside', async () => {
    const broken = await startApiTestServer();
    const secret = await broken.token('admin');
    broken.journal.submit = () => Promise.reject(new TypeError('the inside of it'));
    const answer = await broken.call(secret, { method: 'POST', url: '/api/v1/sites', payload: { name: 'x' } });
    expect(answer.json()).toMatchObject({ status: 500, code: 'internal-error' });
    expect(answer.body).not.toContain('inside of it');
    expect(broken.logged()).toContain('the inside of it');
    await broken.close();
  });

  test.each([
    ['nonsense', 'NONSENSE\r\n\r\n', '400', 'malformed-request', 'is no HTTP/1.1 request'],
    [
      'headers without end',
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      '431',
      'headers-too-large',
      'larger than 16 KiB',
    ],
    [
      'a smuggled length',
      'POST /api/v1/sites HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      '400',
      'malformed-request',
      'is no HTTP/1.1 request',
    ],
  ])('to %s on the wire is one too', async (...row) => {
    const [, bytes, status, code, words] = row;
    const answer = await overSocket(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain('application/problem+json');
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({
      code,
      detail: expect.stringContaining(words) as string,
    });
  });
});

function overSocket(bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.on('close', () => resolve(text));
    socket.on('error', reject);
  });
}

describe('a path with dots in it', () => {
  test.each(['/api/v1/hosts/%2e%2e/segments', '/api/v1/hosts/../segments', '/api/v1/hosts/./segments'])(
    '%s leads nowhere else',
    async (path) => {
      const head = `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${admin}\r\nconnection: close\r\n\r\n`;
      const answer = await overSocket(head);
      expect(answer).toMatch(/^HTTP\/1.1 400 /);
      expect(answer).toContain('malformed-path');
    },
  );
});

describe('a caller that comes too fast', () => {
  test('is answered with Retry-After, and others are not held up', async () => {
    const slow = await startApiTestServer({ limits: { perTokenPerSecond: 10, perAddressPerSecond: 3 } });
    const [wild, calm] = [await slow.token('viewer'), await slow.token('viewer')];
    const frozen = slow.clock.nowMs();
    slow.clock.nowMs = () => frozen;
    const many = async (secret: string | undefined, count: number): Promise<number[]> => {
      const answers = [];
      for (let at = 0; at < count; at += 1) answers.push(await slow.call(secret, { url: '/api/v1/whoami' }));
      expect(
        answers.filter((one) => one.statusCode === 429).every((one) => Number(one.headers['retry-after']) >= 1),
      ).toBe(true);
      return answers.map((one) => one.statusCode);
    };
    expect((await many(wild, 12)).filter((status) => status === 429)).toHaveLength(2);
    expect(await many(calm, 1)).toEqual([200]);
    expect((await many(undefined, 5)).filter((status) => status === 429)).toHaveLength(2);
    // Guessing tokens is counted against the address, whatever the token.
    expect(await many('mst_tk-9_0123456789abcdefghij', 1)).toEqual([429]);
    slow.clock.nowMs = () => frozen + 1000;
    expect(await many(wild, 1)).toEqual([200]);
    await slow.close();
  });

  test.each([
    ['in one /64', (nth: number) => `2001:db8::${nth}`],
    ['as IPv4 and mapped into IPv6', (nth: number) => (nth % 2 === 0 ? '192.0.2.1' : '::ffff:192.0.2.1')],
  ])('a stranger with many addresses is one stranger: %s', async (_, addressOf) => {
    const slow = await startApiTestServer({ limits: { perAddressPerSecond: 3 } });
    const frozen = slow.clock.nowMs();
    slow.clock.nowMs = () => frozen;
    const from = async (remoteAddress: string): Promise<number> =>
      (await slow.server.app.inject({ url: '/api/v1/whoami', remoteAddress })).statusCode;
    const answers: number[] = [];
    for (let nth = 1; nth <= 5; nth += 1) answers.push(await from(addressOf(nth)));
    expect(answers).toEqual([401, 401, 401, 429, 429]);
    expect(await from('2001:db8:0:1::1')).toBe(401);
    await slow.close();
  });
});

describe('probes', () => {
  test('say what is missing', async () => {
    const probe = (from: ApiTestServer, path: string) => from.server.app.inject({ url: path });
    expect((await probe(world, '/livez')).json()).toEqual({ status: 'ok' });
    expect((await probe(world, '/readyz')).json()).toEqual({
      status: 'ok',
      fleet: true,
      store: true,
      lease: true,
      admin: true,
    });
    const alone = await startApiTestServer({ leads: false });
    const answer = await probe(alone, '/readyz');
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      { status: 'not-ready', fleet: true, store: true, lease: false, admin: false },
    ]);
    await alone.close();
  });

  test('a-server-is-ready-once-the-first-admin-token-is-there, and stays so', async () => {
    const fresh = await startApiTestServer();
    const ready = async () => (await fresh.server.app.inject({ url: '/readyz' })).statusCode;
    expect(await ready()).toBe(503);
    await fresh.token('operator');
    await fresh.token('admin', { site: 'central' });
    expect(await ready()).toBe(503);
    await fresh.token('admin', { expiresAtMs: fresh.clock.nowMs() + 60_000 });
    expect(await ready()).toBe(200);
    fresh.clock.ahead(120_000);
    expect(await ready()).toBe(200);
    // One that is started by then is ready as well: the fleet has had its first token.
    const later = await startApiTestServer({ disk: fresh.disk, clock: fresh.clock, leads: false });
    expect((await later.server.app.inject({ url: '/readyz' })).json()).toMatchObject({ status: 'ok', admin: true });
    await later.close();
    await fresh.close();
  });

  test('figures follow the journal', async () => {
    await world.call(admin, { method: 'POST', url: '/api/v1/hosts', payload: { hosts: [{ name: 'counted' }] } });
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { body } = await world.call(admin, { url: '/metrics' });
    expect(body).toContain(`muster_journal_revision ${world.journal.fleet.revision}`);
    expect(body).toContain('muster_hosts{state="joining",connection="unknown"} 1');
    expect(body).toContain('muster_hosts{state="active",connection="up"} 6');
    expect(body).toContain('muster_operations{kind="host-join",state="running"} 1');
    expect(body).toContain('muster_lease_held 1');
    expect(body).toMatch(
      /muster_http_request_seconds_count\{method="POST",route="\/api\/v1\/hosts",status="\d+"\} \d+/,
    );
    expect(body).toMatch(/muster_journal_group_commits_count \d+/);
    expect(body).toMatch(/muster_journal_commit_seconds_count \d+/);
    expect(body).toContain('nodejs_eventloop_lag_seconds');
  });
});

describe('secrets', () => {
  test('are in the one answer that makes them, and nowhere else', async () => {
    const quiet = await startApiTestServer();
    await populate(quiet);
    const root = await quiet.token('admin');
    const make = (path: string, payload: object) =>
      quiet.call(root, { method: 'POST', url: path, payload, headers: { 'idempotency-key': path } });
    const made = [
      await make('/api/v1/tokens', { name: 'n', role: 'operator' }),
      await make('/api/v1/hosts/central-0/join-token', {}),
    ].map((answer) => answer.json<{ secret: string }>().secret);
    const everything: string[] = [quiet.logged(), JSON.stringify([...quiet.journal.fleet.all(IDEMPOTENCY)])];
    for (const route of quiet.server.routes) {
      if (route.method !== 'GET' || route.kind === 'stream') continue;
      for (const id of ['central-0', ...[...quiet.journal.fleet.all(TOKEN)].map((token) => token.id)]) {
        const answer = await quiet.call(root, { url: route.path.replaceAll(/:[a-z]+/g, id) });
        everything.push(answer.body, JSON.stringify(answer.headers));
      }
    }
    everything.push((await quiet.call(root, { url: '/api/v1/history?kind=token&limit=500' })).body);
    everything.push((await make('/api/v1/tokens', { name: 'n', role: 'operator' })).body);
    for await (const event of quiet.journal.watch({ revision: 0 }, AbortSignal.timeout(200)))
      everything.push(JSON.stringify(event));
    const hashes = [...quiet.journal.fleet.all(TOKEN)].map((token) => token.doc.hash);
    const shown = everything.join('\n');
    expect(made).toHaveLength(2);
    expect([...made, root].filter((secret) => shown.includes(secret))).toEqual([]);
    // The journal itself holds the hashes; nothing that leaves the server does.
    const outside = everything
      .slice(0, -1)
      .filter((text) => !text.includes('"kind":"commits"'))
      .join('\n');
    expect(hashes.filter((hash) => outside.includes(hash))).toEqual([]);
    await quiet.close();
  });
});

describe('listening', () => {
  test('anywhere but on loopback needs TLS, or an explicit option', async () => {
    const shy = await startApiTestServer();
    await expect(shy.server.listen({ host: '0.0.0.0', port: 0 })).rejects.toThrow(InsecureListen);
    await expect(shy.server.listen({ host: '::', port: 0 })).rejects.toThrow('--tls-cert');
    await shy.close();
  });

  test('with TLS answers over TLS', async () => {
    const tls = await selfSigned();
    const { journal, clock, ids } = world;
    const server = createServer({
      journal,
      clock,
      ids,
      routes: [],
      representations: [],
      scopes: compose([]),
      settings: [],
      seal: NO_SECRETS.seal,
      log: pino({ level: 'silent' }),
      tls,
    });
    const at = await server.listen({ host: '0.0.0.0', port: 0 });
    expect(at).toMatch(/^https:/);
    const status = await new Promise((resolve, reject) => {
      const port = new URL(at).port;
      secureRequest({ host: '127.0.0.1', port, path: '/livez', ca: tls.cert }, (answer) => resolve(answer.statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(200);
    await server.close();
  });
});

describe('the first admin token', () => {
  test('is made once, in a file that only its owner reads', async () => {
    const fresh = await startApiTestServer();
    const dataFolder = mkdtempSync(join(tmpdir(), 'muster-first-'));
    const path = await ensureAdminToken({ ...fresh, dataFolder });
    expect(path).toBe(join(dataFolder, 'admin-token'));
    expect(statSync(path ?? '').mode & 0o777).toBe(0o600);
    const secret = readFileSync(path ?? '', 'utf8').trim();
    expect((await fresh.call(secret, { url: '/api/v1/tokens' })).statusCode).toBe(200);
    expect(await ensureAdminToken({ ...fresh, dataFolder })).toBeUndefined();
    expect(readFileSync(path ?? '', 'utf8').trim()).toBe(secret);
    rmSync(dataFolder, { recursive: true });
    await fresh.close();
  });
});

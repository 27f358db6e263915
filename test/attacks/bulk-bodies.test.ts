// Bodies in lines that do harm: cut, endless, slow, too long, not text; at the server that decides and at one that forwards. Whatever comes, nothing
// changes, the caller is answered, and the server continues.
import { afterEach, describe, expect, test } from 'vitest';
import { NODE } from '../../src/baremetal/index.ts';
import { idIn } from '../api/every-route.ts';
import { clockAhead, populate, startApiTestServer, takeLease, type ApiTestServer } from '../api/api-test-server.ts';
import { hangUp, RawBody } from '../api/raw-body.ts';

const BULK = '/api/v1/nodes/bulk';
const open: ApiTestServer[] = [];

afterEach(async () => {
  hangUp();
  for (const world of open.splice(0)) await world.close();
});

interface Target {
  /** The one that decides. */
  readonly holder: ApiTestServer;
  /** Where the body goes. */
  readonly world: ApiTestServer;
  readonly url: string;
  readonly operator: string;
}

type Way = 'the holder' | 'a follower';
const WAYS: readonly Way[] = ['the holder', 'a follower'];

async function target(way: Way, options: Parameters<typeof startApiTestServer>[0] = {}): Promise<Target> {
  const clock = clockAhead();
  const holder = await startApiTestServer({ leads: false, clock, ...options });
  open.push(holder);
  const url = await holder.server.listen({ host: '127.0.0.1', port: 0 });
  await takeLease(holder, url);
  await populate(holder);
  const operator = await holder.token('operator');
  if (way === 'the holder') return { holder, world: holder, url, operator };
  const follower = await startApiTestServer({ leads: false, clock, disk: holder.disk, ...options });
  open.push(follower);
  const followerUrl = await follower.server.listen({ host: '127.0.0.1', port: 0 });
  await follower.journal.waitForRevision(holder.journal.fleet.revision, 2000);
  return { holder, world: follower, url: followerUrl, operator };
}

const linesOf = (count: number): string => Array.from({ length: count }, (_, at) => `{"name":"node-${at}"}\n`).join('');

const begin = ({ url, operator: secret }: Target, length?: number): Promise<RawBody> =>
  RawBody.begin(url, { path: BULK, secret, ...(length !== undefined && { length }) });

/** Nothing came of it, and the next call is served. */
async function expectUnharmed(at: Target): Promise<void> {
  const { holder, world, operator } = at;
  expect(holder.journal.fleet.count(NODE)).toBe(0);
  const headers = { 'content-type': 'application/x-ndjson' };
  const next = { method: 'POST', url: BULK, payload: '{"name":"next"}', headers } as const;
  await expect.poll(async () => (await world.call(operator, next)).statusCode, { timeout: 10_000 }).toBe(200);
  expect(holder.journal.fleet.count(NODE)).toBe(1);
}

describe.each(WAYS)('at %s', (way) => {
  test.each([
    ['announced-as-longer', linesOf(500).length + 1],
    ['in-chunks', undefined],
  ])('never: lines of a body that was cut are taken: %s', async (_, length) => {
    const at = await target(way);
    const body = await begin(at, length);
    body.send(linesOf(500));
    await new Promise((resolve) => setTimeout(resolve, 50));
    body.socket.destroy();
    await expect.poll(() => at.world.logged()).toContain('"code":"body-incomplete"');
    await expectUnharmed(at);
  });

  test('never: lines are taken of a sender that ends its side in the middle of one', async () => {
    const at = await target(way);
    const body = await begin(at);
    body.send(`${linesOf(500)}{"name":`);
    body.socket.end();
    await body.closed();
    await expectUnharmed(at);
  });

  const BAD: readonly [string, string | Uint8Array, string, object][] = [
    ['a-line-that-never-ends', `{"name":"${'x'.repeat(20 * 1024)}`, 'malformed-line', { line: 1 }],
    ['bytes-that-are-no-text', Uint8Array.of(0x22, 0xc3, 0x28, 0x22, 0x0a), 'malformed-line', { line: 1 }],
    ['a-field-twice', `${linesOf(3)}{"name":"a","cpus":1,"cpus":2}\n`, 'malformed-line', { field: '/lines/4/cpus' }],
    ['a-million-brackets', `${'['.repeat(10_000)}\n`, 'malformed-line', { line: 1 }],
    ['more-lines-than-a-call-has', '\n'.repeat(100_001), 'too-many-lines', {}],
  ];

  test.each(BAD)('is-refused-as-soon-as-it-is-seen: %s', async (_, bytes, code, expected) => {
    const at = await target(way);
    const body = await begin(at);
    // And says no more: what is wrong is known already, but for the last line.
    body.send(bytes);
    if (code === 'malformed-line' && !String(bytes).includes('xxx')) body.end();
    expect(await body.answered()).toMatchObject({ body: { code, ...expected } });
    await expectUnharmed(at);
  });

  test('a-body-that-is-announced-as-too-large-is-not-read', async () => {
    const at = await target(way);
    const body = await begin(at, 64 * 1024 * 1024 + 1);
    expect(await body.answered()).toMatchObject({ status: 413, body: { code: 'body-too-large' } });
    await expectUnharmed(at);
  });

  test('a-body-without-an-end-is-cut-at-the-limit, and-its-connection-closed', { timeout: 60_000 }, async () => {
    const at = await target(way);
    const body = await begin(at);
    // Empty lines would be counted; these are one long line each time, all within the limits of a line.
    const part = `${' '.repeat(16_000)}\n`.repeat(64);
    let sent = 0;
    while (body.answer === '' && sent < 200 * 1024 * 1024) {
      sent += part.length;
      if (!body.send(part)) await new Promise((resolve) => body.socket.once('drain', resolve));
    }
    expect(await body.answered()).toMatchObject({ status: 413, body: { code: 'body-too-large' } });
    // Who reads its answer last may send on for a while; then the connection is closed.
    await expect.poll(() => body.socket.writableLength).toBe(0);
    const going = setInterval(() => body.socket.writable && body.send('\n'), 20);
    await body.closed(20_000).finally(() => clearInterval(going));
    await expectUnharmed(at);
  });

  test('never: a token that ends while its lines come enrols anything', async () => {
    const at = await target(way);
    const body = await begin(at);
    body.send(linesOf(500));
    const admin = await at.holder.token('admin');
    const revoking = { method: 'DELETE', url: `/api/v1/tokens/${idIn(at.operator)}` } as const;
    expect((await at.holder.call(admin, revoking)).statusCode).toBe(200);
    // Nor does the answer name sites.
    body.send('{"name":"x","site":"nowhere"}\n');
    body.end();
    expect(await body.answered()).toMatchObject({ status: 401, body: { code: 'token-revoked' } });
    expect(at.holder.journal.fleet.count(NODE)).toBe(0);
  });

  test('never: a made-up token has its lines read', async () => {
    const at = await target(way);
    const secret = 'mst_tk-made-up_0123456789abcdef0123456789abcdef';
    const body = await RawBody.begin(at.url, { path: BULK, secret });
    body.send(linesOf(10));
    expect(await body.answered()).toMatchObject({ status: 401, body: { code: 'token-unknown' } });
    await expectUnharmed(at);
  });
});

describe('at the server that decides', () => {
  test('one-token-has-one-call-at-a-time, and-others-go-on', async () => {
    const at = await target('the holder');
    const held = await begin(at);
    held.send(linesOf(1));
    const headers = { 'content-type': 'application/x-ndjson' };
    const next = { method: 'POST', url: BULK, payload: '{"name":"next"}', headers } as const;
    const refused = await at.world.call(at.operator, next);
    expect(refused.json()).toMatchObject({ status: 429, code: 'too-many-bulk-calls' });
    expect(refused.headers['retry-after']).toBe('5');
    expect((await at.world.call(await at.world.token('operator'), next)).statusCode).toBe(200);
    held.end();
    expect(await held.answered()).toMatchObject({ status: 200, body: { created: 1 } });
    expect((await at.world.call(at.operator, next)).statusCode).toBe(200);
  });

  test('all-tokens-together-have-a-few', async () => {
    const at = await target('the holder');
    for (let count = 0; count < 4; count += 1)
      (await RawBody.begin(at.url, { path: BULK, secret: await at.world.token('operator') })).send(linesOf(1));
    const headers = { 'content-type': 'application/x-ndjson' };
    const next = { method: 'POST', url: BULK, payload: '{"name":"next"}', headers } as const;
    expect((await at.world.call(at.operator, next)).json()).toMatchObject({ status: 503, code: 'too-many-bulk-calls' });
    hangUp();
    await expectUnharmed(at);
  });
});

describe('a slow sender', () => {
  test('of-lines-is-refused-after-ten-silent-seconds', { timeout: 30_000 }, async () => {
    const at = await target('the holder');
    const body = await begin(at);
    body.send(linesOf(10));
    expect(await body.answered(20_000)).toMatchObject({ status: 408, body: { code: 'request-too-slow' } });
    await body.closed();
    await expectUnharmed(at);
  });

  test('of-any-other-body-is-cut-off-when-its-time-is-over', async () => {
    const at = await target('the holder', { limits: { bodyMs: 300, perTokenPerSecond: Infinity } });
    const admin = await at.world.token('admin');
    const request = { path: '/api/v1/sites', secret: admin, type: 'application/json', length: 15 };
    const body = await RawBody.begin(at.url, request);
    body.send('{"name":');
    expect(await body.answered()).toMatchObject({ status: 408, body: { code: 'request-too-slow' } });
    await body.closed();
    // Lines have a time of their own.
    const lines = await begin(at);
    lines.send(linesOf(1));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    lines.end();
    expect(await lines.answered()).toMatchObject({ status: 200 });
  });
});

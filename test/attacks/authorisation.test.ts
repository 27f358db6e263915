// Who may do something is decided in the commit. Each attack lets something change between the look at the headers and the
// commit: the lease, the token, its expiry.
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { TOKEN, type Token } from '../../src/access/index.ts';
import { idOf } from '../../src/fleet/index.ts';
import { accept } from '../../src/journal/index.ts';
import { idIn, keyOf, prepareServer, requestFor, sufficientCaller } from '../api/every-route.ts';
import {
  clockAhead,
  takeLease,
  populate,
  startApiTestServer,
  type ApiTestServer,
  type ApiTestServerOptions,
} from '../api/api-test-server.ts';
import { managerChange } from '../api/sample-nodes.ts';
import { holdWrites } from './hold-writes.ts';

const open: ApiTestServer[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const world of open.splice(0)) await world.close();
});

const MADE_UP = 'mst_tk-made-up_0123456789abcdef0123456789abcdef';
const NEW_ADMIN = JSON.stringify({ name: 'mine', role: 'admin' });

async function started(options: ApiTestServerOptions = {}): Promise<{ world: ApiTestServer; url: string }> {
  const world = await startApiTestServer({ leads: false, ...options });
  open.push(world);
  return { world, url: await world.server.listen({ host: '127.0.0.1', port: 0 }) };
}

interface Held {
  /** Sends the rest; answers the response as text. */
  finish(): Promise<string>;
}

/** A request whose last byte is kept back. Answers when the server has looked at its headers. */
async function hold(
  url: string,
  secret: string,
  { method = 'POST', path, body }: { method?: string; path: string; body: string },
): Promise<Held> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  sockets.push(socket);
  let text = '';
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  const headers = [
    `${method} ${path} HTTP/1.1`,
    'host: x',
    `authorization: Bearer ${secret}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'expect: 100-continue',
    'connection: close',
  ];
  socket.write(`${headers.join('\r\n')}\r\n\r\n`);
  await expect.poll(() => text).toContain('100 Continue');
  socket.write(body.slice(0, -1));
  // The headers are looked at in the turn in which they arrive; a whole request after it shows that this turn is over.
  await fetch(`${url}/livez`);
  return {
    finish: async () => {
      const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()));
      socket.write(body.slice(-1));
      await ended;
      return text.slice(text.indexOf('HTTP/1.1', 1));
    },
  };
}

const tokensIn = ({ journal }: ApiTestServer): number => [...journal.fleet.all(TOKEN)].length;

describe('a body that is kept back', () => {
  test('never: a made-up token becomes admin because its server begins to decide', async () => {
    const clock = clockAhead();
    const { world: holder, url: holderUrl } = await started({ clock });
    await takeLease(holder, holderUrl);
    await populate(holder);
    const { world: follower, url } = await started({ clock, disk: holder.disk });
    await follower.journal.waitForRevision(holder.journal.fleet.revision, 2000);
    const held = await hold(url, MADE_UP, { path: '/api/v1/tokens', body: NEW_ADMIN });
    clock.ahead(2 * 10 ** 9);
    holder.journal.stepDown();
    await takeLease(follower, url);
    const { revision } = follower.journal.fleet;
    expect(await held.finish()).toMatch(/^HTTP\/1.1 401 [^]*"code":"token-unknown"/);
    expect([tokensIn(follower), follower.journal.fleet.revision]).toEqual([0, revision]);
  });

  test('never: a made-up token is let in by one server whose lease lapsed and came back', async () => {
    const { world, url } = await started();
    await takeLease(world, url);
    await populate(world);
    const { fence } = world.journal;
    world.journal.stepDown();
    const held = await hold(url, MADE_UP, { path: '/api/v1/tokens', body: NEW_ADMIN });
    await world.journal.lead(fence as NonNullable<typeof fence>);
    expect(await held.finish()).toMatch(/^HTTP\/1.1 401 /);
    expect(tokensIn(world)).toBe(0);
  });

  test.each(['revoked', 'expired'] as const)('never: a token that is %s meanwhile writes', async (end) => {
    const { world, url } = await started();
    await takeLease(world, url);
    const admin = await world.token('admin');
    const ending = await world.token('admin', end === 'expired' ? { expiresAtMs: world.clock.nowMs() + 60_000 } : {});
    const held = await hold(url, ending, { path: '/api/v1/tokens', body: NEW_ADMIN });
    const before = tokensIn(world);
    if (end === 'expired') world.clock.ahead(60_000);
    else await world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${idIn(ending)}` });
    expect(await held.finish()).toMatch(new RegExp(`^HTTP/1.1 401 [^]*"code":"token-${end}"`));
    expect(tokensIn(world)).toBe(before);
  });
});

const { world: first } = await prepareServer();
const writes = first.server.routes.filter(
  ({ kind, submitsCommits }) => kind === 'write' || kind === 'bulk' || submitsCommits === true,
);
// Nothing that they do is decided in a commit, or not all of it: the look at the whole request is what they have.
const readsWithBody = first.server.routes.filter(
  ({ kind, body, access }) => kind === 'read' && body !== undefined && access !== 'public',
);
await first.close();

describe('a read whose body is kept back', () => {
  async function heldBy(secret: string | undefined, route: (typeof readsWithBody)[number]) {
    const { world, secrets, token } = await prepareServer();
    open.push(world);
    const url = await world.server.listen({ host: '127.0.0.1', port: 0 });
    const caller = secret ?? secrets.get(sufficientCaller(route)) ?? '';
    const { method, url: path, payload } = requestFor(route, token);
    const request = { method: String(method), path: path as string, body: JSON.stringify(payload) };
    return { world, caller, held: () => hold(url, caller, request) };
  }

  test.each(readsWithBody.map((route) => [keyOf(route), route] as const))(
    'never: a token that is revoked meanwhile is answered: %s',
    async (_, route) => {
      const { world, caller, held } = await heldBy(undefined, route);
      const { finish } = await held();
      const revoking = { method: 'DELETE', url: `/api/v1/tokens/${idIn(caller)}` } as const;
      expect((await world.call(await world.token('admin'), revoking)).statusCode).toBe(200);
      expect(await finish()).toMatch(/^HTTP\/1.1 40[13] [^]*"code":"token-revoked"/);
    },
  );

  const forwarded = readsWithBody.filter(({ onFollower }) => onFollower === 'forward');
  test.each(forwarded.map((route) => [keyOf(route), route] as const))(
    'never: a made-up token is let in because its server begins to decide: %s',
    async (_, route) => {
      const { world, held } = await heldBy(MADE_UP, route);
      const { fence } = world.journal;
      world.journal.stepDown();
      const { finish } = await held();
      await world.journal.lead(fence as NonNullable<typeof fence>);
      expect(await finish()).toMatch(/^HTTP\/1.1 401 [^]*"code":"token-unknown"/);
    },
  );
});

/** Also in a dialect of its own. */
const codeIn = (body: string): string | undefined => /(token-\w+|role-insufficient|site-bound)"/.exec(body)?.[1];

/** What it would release: without one, its commit would change nothing. */
const RELEASE = 'POST /api/v1/managers/:manager/release';
const REGISTERED = { state: 'live', holder: 'p-1', leaseEpoch: 1, site: 'central' } as const;

/** What becomes of a token between the door and the commit, and what its request is then refused with. */
const CHANGES_OF_TOKEN: readonly (readonly [what: string, code: string, change: (nowMs: number) => Partial<Token>])[] =
  [
    ['revoked', 'token-revoked', (nowMs) => ({ revoked: { atMs: nowMs, by: 'test' } })],
    ['expired', 'token-expired', (nowMs) => ({ expiresAtMs: nowMs })],
    ['lowered to a viewer', 'token-changed', () => ({ role: 'viewer' })],
    ['bound to another site', 'token-changed', () => ({ site: 'north' })],
  ];

describe.each(CHANGES_OF_TOKEN)('a token that is %s before the commit', (_what, code, change) => {
  // The door looks at what is durable. What changes the token is decided already, or happens while the store is slow.
  test.each(writes.map((route) => [keyOf(route), route] as const))('never commits: %s', async (_, route) => {
    const { world, secrets, token } = await prepareServer();
    open.push(world);
    if (keyOf(route) === RELEASE) await world.commit(managerChange('m1', REGISTERED));
    const secret = secrets.get(sufficientCaller(route)) ?? '';
    const id = idOf(TOKEN, idIn(secret));
    const stored = world.journal.fleet.get(TOKEN, id);
    if (stored === undefined) throw new Error('there is no such token');
    const changed = { ...stored.doc, ...change(world.clock.nowMs()) };
    const { revision } = world.journal.fleet;
    const changing = world.journal.submit({
      by: 'test',
      decide: () => accept([{ kind: TOKEN.name, id, doc: changed }], null),
    });
    const { submitted, release } = holdWrites(world);
    const request = requestFor(route, token);
    const headers = { ...request.headers, 'idempotency-key': 'k' };
    const answering = world.call(secret, { ...request, headers });
    await Promise.race([submitted, answering]);
    release();
    const answer = await answering;
    await changing;
    expect(world.journal.fleet.revision).toBe(revision + 1);
    // The caller of a read is looked at once more before the answer, as who it is by then.
    const isReadOfAnother = route.kind === 'read' && code === 'token-changed';
    const codes = isReadOfAnother ? [code, 'role-insufficient', 'site-bound'] : [code];
    expect(codes).toContain(codeIn(answer.body));
    expect(isReadOfAnother ? [401, 403] : [401]).toContain(answer.statusCode);
  });
});

test('a kept answer is not shown to a token that has ended', async () => {
  const world = await startApiTestServer();
  open.push(world);
  const [admin, other] = [await world.token('admin'), await world.token('admin')];
  const request = { method: 'POST', url: '/api/v1/sites', payload: { name: 'east' } } as const;
  const headers = { 'idempotency-key': 'k' };
  expect((await world.call(other, { ...request, headers })).statusCode).toBe(201);
  const revoking = world.call(admin, { method: 'DELETE', url: `/api/v1/tokens/${idIn(other)}` });
  const replay = await world.call(other, { ...request, headers });
  expect((await revoking).statusCode).toBe(200);
  expect(replay.statusCode).toBe(401);
});

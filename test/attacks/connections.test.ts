// Connections: half-sent requests go, strangers are limited by address and known callers by credential, and descriptors are left
// for administrators.
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { startApiTestServer, type ApiTestServer, type ApiTestServerOptions } from '../api/api-test-server.ts';
import { selfSigned } from '../self-signed.ts';

const open: ApiTestServer[] = [];
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const world of open.splice(0)) await world.close();
});

async function started(options: ApiTestServerOptions = {}): Promise<{ world: ApiTestServer; port: number }> {
  const world = await startApiTestServer({ logLevel: 'warn', ...options });
  open.push(world);
  return { world, port: Number(new URL(await world.server.listen({ host: '127.0.0.1', port: 0 })).port) };
}

interface Peer {
  readonly socket: Socket;
  readonly text: () => string;
  /** Whether the server has ended the connection. */
  readonly isCut: () => boolean;
}

/** A peer that keeps its own end open whatever the server does with the other one. */
async function peer(port: number, first?: string): Promise<Peer> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  let [text, isCut] = ['', false];
  socket.on('data', (chunk) => {
    text += String(chunk);
  });
  socket.on('error', () => {
    isCut = true;
  });
  for (const event of ['end', 'close'] as const)
    socket.on(event, () => {
      isCut = true;
    });
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  if (first !== undefined) socket.write(first);
  return { socket, text: () => text, isCut: () => isCut };
}

const HALF = 'GET /livez HTTP/1.1\r\nhost: x\r\nx-half';

const requestOf = (secret: string, path = '/api/v1/hosts'): string =>
  `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${secret}\r\n\r\n`;

/** How many connections the server has. */
const connectionsOf = ({ server }: ApiTestServer): Promise<number> =>
  new Promise((resolve, reject) => {
    server.app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });

/** How many connections a limit has closed, as the metrics say. */
async function closedBy({ server }: ApiTestServer, reason: string): Promise<number> {
  const [, count] =
    new RegExp(`^muster_connections_closed_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(
      await server.metrics.text(),
    ) ?? [];
  return Number(count);
}

test('half-sent headers are cut off though the peer ignores that the server ends', { timeout: 30_000 }, async () => {
  const { world, port } = await started({ limits: { headersMs: 300 } });
  const peers = await Promise.all(Array.from({ length: 20 }, () => peer(port, HALF)));
  await peer(port);
  await expect.poll(() => connectionsOf(world), { timeout: 10_000 }).toBe(0);
  expect(peers[0]?.text()).toContain('408');
  expect(peers[0]?.text()).toContain('"code":"request-too-slow"');
  expect(await closedBy(world, 'request-too-slow')).toBeGreaterThanOrEqual(peers.length);
});

test('a stranger that is over the limit is cut off though its peer ignores that the server ends', async () => {
  const { world, port } = await started({ limits: { anonymousPerAddress: 2, headersMs: 30_000 } });
  const peers: Peer[] = [];
  for (let n = 0; n < 8; n += 1) peers.push(await peer(port, HALF));
  await expect.poll(() => connectionsOf(world), { timeout: 10_000 }).toBe(2);
  // Nothing was answered: there is no connection any more on which to answer.
  expect(peers.map((one) => one.text())).toEqual(peers.map(() => ''));
  expect(await closedBy(world, 'address-limit')).toBe(6);
});

test('a TLS handshake that never comes is cut off', { timeout: 30_000 }, async () => {
  const tls = await selfSigned();
  const { world, port } = await started({ tls, limits: { headersMs: 300 } });
  await Promise.all(Array.from({ length: 5 }, () => peer(port)));
  await Promise.all(Array.from({ length: 5 }, () => peer(port, '\u0016\u0003\u0001')));
  await expect.poll(() => connectionsOf(world), { timeout: 10_000 }).toBe(0);
  expect(await closedBy(world, 'handshake-too-slow')).toBe(10);
});

test('strangers are limited by address, and callers behind the same address are not', async () => {
  const { world, port } = await started({ limits: { anonymousPerAddress: 5, perAddressPerSecond: Infinity } });
  const known = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const one = await peer(port, requestOf(await world.token('viewer')));
      await expect.poll(one.text).toContain('200 OK');
      return one;
    }),
  );
  for (let n = 0; n < 30; n += 1) await peer(port, HALF);
  await expect.poll(() => connectionsOf(world)).toBe(12 + 5);
  expect(known.map((one) => one.isCut())).toEqual(known.map(() => false));
  // A newcomer with a token gets in while strangers hold all that they may.
  const late = await peer(port, requestOf(await world.token('viewer')));
  await expect.poll(late.text).toContain('200 OK');
  const probe = await peer(port, 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n');
  await expect.poll(probe.text).toContain('200 OK');
});

test('one credential has so many connections and no more, wherever it comes from', async () => {
  const { world, port } = await started({ limits: { connectionsPerToken: 3 } });
  const [greedy, other] = [await world.token('viewer'), await world.token('viewer')];
  const kept: Peer[] = [];
  for (let n = 0; n < 3; n += 1) {
    const one = await peer(port, requestOf(greedy));
    await expect.poll(one.text).toContain('200 OK');
    kept.push(one);
  }
  const beyond = await peer(port, requestOf(greedy));
  await expect.poll(beyond.text).toContain('too-many-connections');
  expect(beyond.text()).toContain('429');
  expect(beyond.text().toLowerCase()).toContain('connection: close');
  const others = await peer(port, requestOf(other));
  await expect.poll(others.text).toContain('200 OK');
  kept[0]?.socket.destroy();
  await expect
    .poll(async () => {
      const again = await peer(port, requestOf(greedy));
      await expect.poll(again.text).toContain('HTTP/1.1');
      return again.text();
    })
    .toContain('200 OK');
});

test('when all connections are taken an administrator still gets one', async () => {
  const limits = {
    ...{ connections: 6, connectionsReservedForAdmins: 2 },
    ...{ connectionsPerToken: 100, anonymousPerAddress: 100 },
  } satisfies ApiTestServerOptions['limits'];
  const { world, port } = await started({ limits });
  const viewer = await world.token('viewer');
  for (let n = 0; n < 6; n += 1) {
    const one = await peer(port, requestOf(viewer));
    await expect.poll(one.text).toContain('200 OK');
  }
  const refused = await peer(port, requestOf(viewer));
  await expect.poll(refused.text).toContain('too-many-connections');
  const admin = await peer(port, requestOf(await world.token('admin')));
  await expect.poll(admin.text).toContain('200 OK');
});

test('when strangers have all connections the oldest of them make place', async () => {
  const limits = {
    ...{ connections: 6, connectionsReservedForAdmins: 1 },
    ...{ connectionsPerToken: 100, anonymousPerAddress: 100 },
  } satisfies ApiTestServerOptions['limits'];
  const { world, port } = await started({ limits });
  const first = await peer(port, HALF);
  for (let n = 0; n < 8; n += 1) await peer(port, HALF);
  await expect.poll(first.isCut).toBe(true);
  const known = await peer(port, requestOf(await world.token('viewer')));
  await expect.poll(known.text).toContain('200 OK');
});

test('over TLS callers are limited by credential too', async () => {
  const tls = await selfSigned();
  const { world, port } = await started({ tls, limits: { connectionsPerToken: 2, anonymousPerAddress: 3 } });
  const viewer = await world.token('viewer');
  const texts: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    sockets.push(socket);
    socket.on('error', () => undefined);
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += String(chunk);
    });
    socket.write(requestOf(viewer));
    await expect.poll(() => text).toContain('HTTP/1.1');
    texts.push(text.slice(0, 'HTTP/1.1 200'.length));
  }
  expect(texts).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 429']);
});

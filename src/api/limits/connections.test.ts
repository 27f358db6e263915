import { once } from 'node:events';
import { connect, createServer, Socket, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { CallerState } from '../authenticate.ts';
import type { CloseReason } from './close-reasons.ts';
import { connectionLimits, type ConnectionLimits } from './connection-limits.ts';
import { Connections } from './connections.ts';
import { newUsage } from './usage.ts';

async function serverWithClients(count: number, limits: ConnectionLimits = connectionLimits(1024)) {
  const closed: CloseReason[] = [];
  const connections = new Connections(limits, (reason) => closed.push(reason));
  const accepted: Socket[] = [];
  const server = createServer((socket) => {
    accepted.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write('x'));
  });
  connections.track(server, { isTls: false });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = await Promise.all(
    Array.from({ length: count }, async () => {
      const client = connect(port, '127.0.0.1');
      await once(client, 'connect');
      return client;
    }),
  );
  onTestFinished(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  return { connections, clients, accepted, closed };
}

const viewer = (): CallerState =>
  ({ caller: { name: 'somebody', role: 'viewer' }, usage: newUsage() }) as unknown as CallerState;

async function exchange(client: Socket | undefined): Promise<void> {
  client?.write('x');
  if (client !== undefined) await once(client, 'data');
}

test('a-sweep-cuts-connections-on-which-nothing-moved-since-the-last-one, and-no-other', async () => {
  const { connections, clients, closed } = await serverWithClients(2);
  const [quiet, busy] = clients;
  await Promise.all([exchange(quiet), exchange(busy)]);
  connections.sweep();
  await exchange(busy);
  const cut = once(quiet!, 'close');
  connections.sweep();
  await cut;
  await exchange(busy);
  expect(busy?.destroyed).toBe(false);
  expect(closed).toEqual(['inactive']);
});

test('a-new-connection-has-an-interval-to-say-something', async () => {
  const { connections, clients } = await serverWithClients(1);
  await exchange(clients[0]);
  connections.sweep();
  await exchange(clients[0]);
  expect(clients[0]?.destroyed).toBe(false);
});

/** A server that is not reachable, and connections to it that come from wherever they say. */
function arrivals(limits: Partial<ReturnType<typeof connectionLimits>>) {
  const server = createServer();
  const closed: CloseReason[] = [];
  const connections = new Connections({ ...connectionLimits(1024), ...limits }, (reason) => closed.push(reason));
  connections.track(server, { isTls: false });
  onTestFinished(() => void server.emit('close'));
  const arrive = (remoteAddress: string): Socket => {
    const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });
    server.emit('connection', socket);
    return socket;
  };
  return { arrive, closed };
}

test.each([
  ['ipv6', (nth: number) => `2001:db8:1:2::${nth.toString(16)}`, '2001:db8:1:3::1'],
  ['ipv4-mapped', (nth: number) => (nth % 2 === 0 ? '192.0.2.7' : '::ffff:192.0.2.7'), '::ffff:192.0.2.8'],
] as const)('a-stranger-with-many-addresses-counts-as-one: %s', (_, addressOf, another) => {
  const { arrive, closed } = arrivals({ anonymousPerAddress: 5 });
  const beside = arrive(another);
  const sockets = Array.from({ length: 8 }, (__, nth) => arrive(addressOf(nth + 1)));
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true, true, false, false, false, false, false]);
  expect(beside.destroyed).toBe(false);
  expect(closed).toEqual(['address-limit', 'address-limit', 'address-limit']);
});

test('strangers-of-many-addresses-make-place-one-by-one, and-each-is-counted', () => {
  const { arrive, closed } = arrivals({ connections: 3, anonymousPerAddress: 2 });
  const sockets = Array.from({ length: 5 }, (_, nth) => arrive(`192.0.2.${nth + 1}`));
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false, false]);
  expect(closed).toEqual(['connection-limit', 'connection-limit']);
});

test('idle-connections-are-found-by-a-sweep-every-two-minutes-only', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { clients } = await serverWithClients(1);
  await exchange(clients[0]);
  const cut = once(clients[0]!, 'close');
  vi.advanceTimersByTime(240_000);
  await cut;
});

test('beyond-what-is-kept-for-administrators-no-connection-is-taken, though-none-of-those-there-is-a-stranger', async () => {
  const limits = { connections: 2, connectionsReservedForAdmins: 1, connectionsPerToken: 10, anonymousPerAddress: 10 };
  const { connections, clients, accepted, closed } = await serverWithClients(2, limits);
  await Promise.all(clients.map(exchange));
  for (const socket of accepted) connections.attribute(socket, viewer());
  const { remotePort = 0 } = clients[0]!;
  const reserved = connect(remotePort, '127.0.0.1');
  await exchange(reserved);
  expect(() => connections.attribute(accepted.at(-1)!, viewer())).toThrow(/as many connections open/);
  const admin = { ...viewer(), caller: { name: 'root', role: 'admin' } } as unknown as CallerState;
  connections.attribute(accepted.at(-1)!, admin);
  const beyond = connect(remotePort, '127.0.0.1');
  beyond.on('error', () => undefined);
  await once(beyond, 'close');
  await Promise.all([exchange(clients[0]), exchange(clients[1]), exchange(reserved)]);
  expect(closed).toEqual(['reserved-for-admins', 'none-left']);
  reserved.destroy();
});

test('a-connection-that-another-credential-uses-counts-for-that-one, and-no-more-for-the-first', async () => {
  const limits = { ...connectionLimits(1024), connectionsPerToken: 1 };
  const { connections, clients, accepted, closed: counted } = await serverWithClients(2, limits);
  await Promise.all(clients.map(exchange));
  const [one, other] = [viewer(), viewer()];
  connections.attribute(accepted[0]!, one);
  expect(() => connections.attribute(accepted[1]!, one)).toThrow(/connections open/);
  expect(counted).toEqual(['token-limit']);
  connections.attribute(accepted[0]!, other);
  connections.attribute(accepted[1]!, one);
  expect([one.usage.connections, other.usage.connections]).toEqual([1, 1]);
  const closed = accepted.map((socket) => once(socket, 'close'));
  for (const client of clients) client.destroy();
  await Promise.all(closed);
  expect([one.usage.connections, other.usage.connections]).toEqual([0, 0]);
});

import { once } from 'node:events';
import { connect, createServer, Socket, type AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { connectionLimits } from './connection-limits.ts';
import { Connections } from './connections.ts';

async function serverWithClients(count: number) {
  const connections = new Connections(connectionLimits(1024));
  const server = createServer((socket) => socket.on('data', () => socket.write('x')));
  connections.follow(server, { isTls: false });
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
  return { connections, clients };
}

async function exchange(client: Socket | undefined): Promise<void> {
  client?.write('x');
  if (client !== undefined) await once(client, 'data');
}

test('a-sweep-cuts-connections-on-which-nothing-moved-since-the-last-one, and-no-other', async () => {
  const { connections, clients } = await serverWithClients(2);
  const [quiet, busy] = clients;
  await Promise.all([exchange(quiet), exchange(busy)]);
  connections.sweep();
  await exchange(busy);
  const cut = once(quiet!, 'close');
  connections.sweep();
  await cut;
  await exchange(busy);
  expect(busy?.destroyed).toBe(false);
});

test('a-new-connection-has-an-interval-to-say-something', async () => {
  const { connections, clients } = await serverWithClients(1);
  await exchange(clients[0]);
  connections.sweep();
  await exchange(clients[0]);
  expect(clients[0]?.destroyed).toBe(false);
});

/** A server that nobody can reach, and connections to it that come from wherever they say. */
function arrivals(limits: Partial<ReturnType<typeof connectionLimits>>) {
  const server = createServer();
  new Connections({ ...connectionLimits(1024), ...limits }).follow(server, { isTls: false });
  onTestFinished(() => void server.emit('close'));
  return (remoteAddress: string): Socket => {
    const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: remoteAddress });
    server.emit('connection', socket);
    return socket;
  };
}

test.each([
  ['ipv6', (nth: number) => `2001:db8:1:2::${nth.toString(16)}`, '2001:db8:1:3::1'],
  ['ipv4-mapped', (nth: number) => (nth % 2 === 0 ? '192.0.2.7' : '::ffff:192.0.2.7'), '::ffff:192.0.2.8'],
] as const)('a-stranger-with-many-addresses-counts-as-one: %s', (_, addressOf, another) => {
  const arrive = arrivals({ strangersPerAddress: 5 });
  const beside = arrive(another);
  const sockets = Array.from({ length: 8 }, (__, nth) => arrive(addressOf(nth + 1)));
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true, true, false, false, false, false, false]);
  expect(beside.destroyed).toBe(false);
});

import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
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

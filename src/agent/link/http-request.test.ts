// Where a name leads is asked again when a connection is made: `localhost` is a name as well.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { HttpConnections } from './http-request.ts';

type Looked = (error: Error | null, address: unknown, family?: number) => void;
const resolver = vi.hoisted(() => ({ addresses: ['127.0.0.1'] }));

vi.mock('node:dns', async (original) => ({
  ...(await original<object>()),
  lookup: (_: string, options: { readonly all?: boolean }, done: Looked) => {
    const { addresses } = resolver;
    if (options.all === true)
      done(
        null,
        addresses.map((address) => ({ address, family: 4 })),
      );
    else done(null, addresses[0], 4);
  },
}));

afterEach(() => {
  resolver.addresses = ['127.0.0.1'];
});

async function ask(): Promise<{ readonly requests: number; readonly error: unknown }> {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end('{}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const connections = new HttpConnections({ loopbackOnly: true });
  onTestFinished(() => {
    connections.close();
    server.closeAllConnections();
    server.close();
  });
  const origin = { isSecure: false, hostname: 'localhost', port: String((server.address() as AddressInfo).port) };
  const asked = { origin, path: '/', method: 'GET' as const, secret: 's', timeoutMs: 5000 };
  const error: unknown = await connections.send(asked).then(
    () => undefined,
    (found: unknown) => found,
  );
  return { requests, error };
}

describe('plain HTTP that is for this machine only', () => {
  test('goes-where-localhost-is-this-machine', async () => {
    expect(await ask()).toEqual({ requests: 1, error: undefined });
  });

  test.each([[['192.0.2.1']], [['127.0.0.1', '192.0.2.1']], [['192.0.2.1', '127.0.0.1']]])(
    'never: a secret is sent when localhost resolves to %j',
    async (addresses) => {
      resolver.addresses = addresses;
      const { requests, error } = await ask();
      expect(requests).toBe(0);
      expect(String(error)).toMatch(/resolves to 192\.0\.2\.1, which is another machine/);
    },
  );
});

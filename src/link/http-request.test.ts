// A name is resolved again when a connection is made: `localhost` is a name as well.
import { createServer } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HttpConnections } from './http-request.ts';

/** A resolver that knows these addresses of every name. */
const resolvingTo =
  (addresses: readonly string[]): LookupFunction =>
  (_, { all }, done) => {
    const found = addresses.map((address) => ({ address, family: 4 }));
    if (all === true) done(null, found);
    else done(null, found[0]!.address, 4);
  };

async function ask(addresses: readonly string[]): Promise<{ readonly requests: number; readonly error: unknown }> {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end('{}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const connections = new HttpConnections({ loopbackOnly: true, lookup: resolvingTo(addresses) });
  onTestFinished(() => {
    connections.close();
    server.closeAllConnections();
    server.close();
  });
  const origin = { isSecure: false, hostname: 'localhost', port: String((server.address() as AddressInfo).port) };
  const request = { origin, path: '/', method: 'GET' as const, secret: 's', timeoutMs: 5000 };
  const error: unknown = await connections.send(request).then(
    () => undefined,
    (found: unknown) => found,
  );
  return { requests, error };
}

describe('plain HTTP that is for this machine only', () => {
  test('goes-where-localhost-is-this-machine', async () => {
    expect(await ask(['127.0.0.1'])).toEqual({ requests: 1, error: undefined });
  });

  test.each([[['192.0.2.1']], [['127.0.0.1', '192.0.2.1']], [['192.0.2.1', '127.0.0.1']]])(
    'never: a secret is sent when localhost resolves to %j',
    async (addresses) => {
      const { requests, error } = await ask(addresses);
      expect(requests).toBe(0);
      expect(String(error)).toMatch(/resolves to 192\.0\.2\.1, which is another machine/);
    },
  );
});

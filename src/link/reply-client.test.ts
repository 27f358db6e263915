// What a call over HTTP sends, and what each kind of answer means to whoever dials.
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { compileChecker } from '../fleet/index.ts';
import { LinkDown, type Reply } from './call.ts';
import { ReplyClient } from './reply-client.ts';

const check = compileChecker(Type.Object({ n: Type.Integer() }));

interface Received {
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Response {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Bench {
  readonly server: string;
  readonly client: ReplyClient;
  readonly received: Received[];
}

async function serve(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function newClient(options: Partial<ConstructorParameters<typeof ReplyClient>[0]> = {}): ReplyClient {
  const client = new ReplyClient({ timeoutMs: 5000, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** A server that gives this answer to everything. */
async function benchWith({ status = 200, headers = {}, body = '{"n":1}' }: Response = {}): Promise<Bench> {
  const received: Received[] = [];
  const server = await serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const line = `${request.method} ${request.url}`;
      received.push({ line, headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(status, headers).end(body);
    });
  });
  return { server, client: newClient(), received };
}

async function get(answer: Response): Promise<Reply<unknown>> {
  const { server, client } = await benchWith(answer);
  return client.get({ server, secret: 's' }, '/x', { check });
}

const problem = (status: number, facts: object, headers: Record<string, string> = {}): Response => ({
  status,
  headers,
  body: JSON.stringify(facts),
});

const STATEMENT = { text: 't', signatures: [{ key: 'k', signature: 's' }] };

describe('a call', () => {
  test('carries-the-secret-and-what-is-posted-as-json', async () => {
    const { server, client, received } = await benchWith();
    await client.post({ server, secret: 'tk.' }, '/api/v1/x', { body: { name: 'ü' }, check });
    await client.get({ server, secret: 'other' }, '/api/v1/y?a=b', { check });
    expect(received.map(({ line, body }) => [line, body])).toEqual([
      ['POST /api/v1/x', '{"name":"ü"}'],
      ['GET /api/v1/y?a=b', ''],
    ]);
    expect(received.map(({ headers }) => [headers.authorization, headers['content-type']])).toEqual([
      ['Bearer tk.', 'application/json'],
      ['Bearer other', undefined],
    ]);
    expect(received[0]?.headers['content-length']).toBe('13');
  });

  test.each(['http://192.0.2.1:7070', 'http://localhost.evil.example', 'ftp://127.0.0.1', 'm1'])(
    'never: a secret goes to %s',
    async (server) => {
      await expect(newClient().get({ server, secret: 's' }, '/x', { check })).rejects.toThrow(LinkDown);
    },
  );

  test('goes-to-another-machine-in-clear-text-only-when-that-is-said', async () => {
    // Refused before a connection is tried, and tried where it is allowed: no server answers there.
    const to = { server: 'http://[::ffff:127.0.0.1]:1', secret: 's' };
    const away = { server: 'http://192.0.2.1:1', secret: 's' };
    await expect(newClient().get(away, '/x', { check })).rejects.toThrow(/plain HTTP shows secrets/);
    await expect(newClient({ insecure: true }).get(to, '/x', { check })).rejects.toThrow(/ECONNREFUSED/);
  });

  test('ends-when-the-server-does-not-answer-in-time, by the caller’s limit or its own', async () => {
    const server = await serve(() => undefined);
    const to = { server, secret: 's' };
    await expect(newClient({ timeoutMs: 30 }).get(to, '/x', { check })).rejects.toThrow(/in time/);
    await expect(newClient().get(to, '/x', { check, timeoutMs: 30 })).rejects.toThrow(/in time/);
  });

  test('ends-when-it-is-aborted', async () => {
    const stop = new AbortController();
    const server = await serve(() => stop.abort());
    const reply = newClient().get({ server, secret: 's' }, '/x', { check, signal: stop.signal });
    await expect(reply).rejects.toThrow(LinkDown);
  });
});

describe('an answer', () => {
  test('is-what-the-check-lets-pass', async () => {
    expect(await get({})).toEqual({ kind: 'answer', answer: { n: 1 } });
  });

  test.each<[string, Response]>([
    ['of-another-form', { body: '{"n":"one"}' }],
    ['that-is-no-json', { body: '<html>' }],
    ['that-is-empty', { body: '' }],
    ['of-another-success', { status: 204, body: '' }],
    ['that-leads-elsewhere-as-a-proxy-does', { status: 302, headers: { location: 'https://m2' } }],
    ['of-a-server-that-fails', problem(500, { code: 'internal-error', detail: 'boom' })],
    ['of-a-server-that-cannot-answer-now', problem(503, { code: 'no-holder', detail: 'later' })],
    ['of-a-server-that-is-overloaded', problem(429, { code: 'too-many-requests', detail: 'later' })],
    ['of-a-request-that-came-too-late', problem(408, { code: 'too-late', detail: 'later' })],
    ['of-something-else-on-the-port', { status: 404, body: '<html>not found</html>' }],
    ['with-a-code-that-is-none', problem(403, { code: 7 })],
  ])('is-none-%s', async (_name, answer) => {
    await expect(get(answer)).rejects.toThrow(LinkDown);
  });

  test.each<[string, Response, object]>([
    ['its-problem', problem(421, { holder: 'https://m2:7070' }), { holder: 'https://m2:7070' }],
    ['its-location', problem(421, {}, { location: 'https://m3/api/v1/x' }), { holder: 'https://m3' }],
    [
      'both, of which the problem counts',
      problem(421, { holder: 'https://m2' }, { location: 'https://m3/' }),
      { holder: 'https://m2' },
    ],
    ['neither', problem(421, {}, { location: '/here' }), {}],
    ['no json at all', { status: 421, body: 'elsewhere' }, {}],
    [
      'its-problem-with-a-statement',
      problem(421, { holder: 'm2', statement: STATEMENT }),
      { holder: 'm2', statement: STATEMENT },
    ],
    ['a-statement-of-no-form', problem(421, { holder: 'm2', statement: { text: 1 } }), { holder: 'm2' }],
  ])('names-the-holder-by-%s', async (_name, answer, expected) => {
    expect(await get(answer)).toEqual({ kind: 'elsewhere', ...expected });
  });

  test.each<[string, Response, object]>([
    ['a-sentence', problem(403, { code: 'host-removed', detail: 'Gone.' }), { code: 'host-removed', message: 'Gone.' }],
    ['none', problem(401, { code: 'unknown-token' }), { code: 'unknown-token', message: 'The server answered 401.' }],
    [
      'a-statement',
      problem(403, { code: 'host-removed', detail: 'Gone.', statement: STATEMENT }),
      { code: 'host-removed', message: 'Gone.', statement: STATEMENT },
    ],
  ])('refuses-with-its-code-and-%s', async (_name, answer, expected) => {
    expect(await get(answer)).toEqual({ kind: 'refused', ...expected });
  });
});

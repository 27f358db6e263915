import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Client } from './client.ts';
import { unreachableFailure } from './problem.ts';

type Answer = (request: IncomingMessage, response: ServerResponse, nth: number) => void;

/** A server with scripted answers that records its requests. */
async function startServer(answer: Answer, timeoutMs = 5000) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume().on('end', () => answer(request, response, requests.length));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { client: new Client({ server: url, token: 'secret', timeoutMs, userAgent: 'test' }), requests };
}

function json(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const keys = (requests: readonly IncomingMessage[]) => requests.map(({ headers }) => headers['idempotency-key']);

describe('the client', () => {
  test('a-write-whose-answer-was-lost-is-asked-for-again with the same key', async () => {
    const { client, requests } = await startServer((_, response, nth) => {
      if (nth < 3) response.destroy();
      else json(response, 200, { nth });
    });
    expect(await client.write('POST', '/x', { body: { a: 1 } })).toEqual({ nth: 3 });
    expect(new Set(keys(requests)).size).toBe(1);
    expect(keys(requests)[0]).toMatch(/^[0-9a-f-]{36}$/);
    await client.write('POST', '/x');
    expect(keys(requests)[3]).not.toBe(keys(requests)[0]);
  });

  test('a-server-without-a-holder-is-given-the-time-it-asks-for', async () => {
    const { client, requests } = await startServer((_, response, nth) => {
      if (nth === 1)
        json(response, 503, { code: 'no-holder', detail: 'No server holds the lease.' }, { 'retry-after': '0' });
      else json(response, 200, {});
    });
    await client.write('PUT', '/x');
    expect(new Set(keys(requests)).size).toBe(1);
    expect(requests).toHaveLength(2);
  });

  test('retries-end-when-the-time-is-over, with what the server said last', async () => {
    const refuse: Answer = (_, response) =>
      json(response, 503, { code: 'no-holder', detail: 'No server holds the lease.' }, { 'retry-after': '1' });
    const { client } = await startServer(refuse, 500);
    await expect(client.get('/x')).rejects.toMatchObject({ exitCode: 1, message: 'No server holds the lease.' });
  });

  test('lost-answers-without-end-are-a-server-that-cannot-be-reached', async () => {
    const { client, requests } = await startServer((_, response) => response.destroy());
    await expect(client.get('/x')).rejects.toMatchObject({ exitCode: 3 });
    expect(requests).toHaveLength(4);
  });

  test('a-refusal-is-not-repeated', async () => {
    const { client, requests } = await startServer((_, response) => json(response, 409, { code: 'x', detail: 'No.' }));
    await expect(client.write('POST', '/x')).rejects.toMatchObject({ exitCode: 1, message: 'No.', status: 409 });
    expect(requests).toHaveLength(1);
  });

  test('never: the token follows a redirect', async () => {
    const { client, requests } = await startServer((_, response) => response.writeHead(302, { location: '/y' }).end());
    await expect(client.get('/x')).rejects.toMatchObject({ exitCode: 1 });
    expect(requests.map(({ url }) => url)).toEqual(['/x']);
  });

  test('lists-are-read-page-by-page, and no further than wanted', async () => {
    const { client, requests } = await startServer((_, response, nth) =>
      json(response, 200, { items: [{ id: nth * 2 - 1 }, { id: nth * 2 }], ...(nth < 3 && { next: `n${nth}` }) }),
    );
    expect(await client.list('/x', { site: 'a', state: undefined })).toEqual([1, 2, 3, 4, 5, 6].map((id) => ({ id })));
    expect(requests.map(({ url }) => url)).toEqual([
      '/x?site=a&limit=1000',
      '/x?site=a&after=n1&limit=1000',
      '/x?site=a&after=n2&limit=1000',
    ]);
    const short = await startServer((_, response) => json(response, 200, { items: [{ id: 1 }, { id: 2 }], next: 'n' }));
    expect(await short.client.list('/x', {}, 4)).toEqual([1, 2, 1, 2].map((id) => ({ id })));
    expect(short.requests.map(({ url }) => url)).toEqual(['/x?limit=4', '/x?after=n&limit=2']);
  });
});

describe('a server that does not answer in time', () => {
  const silent: Answer = () => undefined;

  test('a read is asked for again with more time', async () => {
    const { client } = await startServer(silent, 50);
    const message = /did not answer within 0\.05 s\. Give it longer with --request-timeout\.$/;
    await expect(client.get('/x')).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(message) as string,
    });
  });

  test('a write may have been done', async () => {
    const { client } = await startServer(silent, 50);
    const message = /It may have been carried out all the same: look before you repeat it\.$/;
    await expect(client.write('POST', '/x')).rejects.toMatchObject({
      exitCode: 3,
      message: expect.stringMatching(message) as string,
    });
  });
});

describe('a server that cannot be reached', () => {
  const failed = (code: string): string =>
    unreachableFailure(
      'https://m1:7070',
      new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) }),
    ).message;

  test.each<[string, string]>([
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'its certificate is self-signed; name its file in the variable NODE_EXTRA_CA_CERTS',
    ],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'name a file with that authority in the variable NODE_EXTRA_CA_CERTS'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'name a file with that authority in the variable NODE_EXTRA_CA_CERTS'],
    ['CERT_HAS_EXPIRED', 'it has to be renewed'],
    ['CERT_NOT_YET_VALID', 'compare the clocks'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'name the server as its certificate does, with --server'],
  ])('a certificate is there, so none is to be started: %s', (code, words) => {
    const message = failed(code);
    expect(message).toMatch(/^The server at https:\/\/m1:7070 cannot be trusted: .*\. Nothing was sent to it\.$/);
    expect(message).toContain(words);
    expect(message).not.toContain('muster serve');
  });

  test.each<[string, string]>([
    ['ECONNREFUSED', 'nothing listens there. Start one with "muster demo" or "muster serve"'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'what listens there does not speak TLS; with http:// it may answer.'],
  ])('no server answers: %s', (code, words) => {
    expect(failed(code)).toContain(`No Muster server answers at https://m1:7070: ${words}`);
  });
});

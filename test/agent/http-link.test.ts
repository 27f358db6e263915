// What of the link over HTTP only real sockets show: which servers it trusts, and what it takes for an answer.
import { createServer as createPlain } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { HttpLink } from '../../src/agent/node/http-link.ts';
import { LinkDown } from '../../src/link/call.ts';
import { selfSigned } from '../self-signed.ts';

test('a-server-is-trusted-by-the-given-certificates-only', async () => {
  const { key, cert } = await selfSigned();
  const secrets: (string | undefined)[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    secrets.push(request.headers.authorization);
    request.resume().once('end', () => response.end('{"report":"known"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const to = { server: `https://127.0.0.1:${port}`, secret: 'mst_tk-1_secret' };
  const [trusting, wary] = [new HttpLink({ ca: cert }), new HttpLink()];
  onTestFinished(async () => {
    trusting.close();
    wary.close();
    await new Promise((resolve) => server.close(resolve));
  });
  await expect(wary.heartbeat(to, { serviceVersion: 1 })).rejects.toThrow(LinkDown);
  expect(secrets).toEqual([]);
  expect(await trusting.heartbeat(to, { serviceVersion: 1 })).toEqual({ kind: 'answer', answer: { report: 'known' } });
  expect(secrets).toEqual(['Bearer mst_tk-1_secret']);
});

test.each<[string, number, string]>([
  ['a-page-of-a-proxy', 502, '<html>bad gateway</html>'],
  ['another-program-on-the-port', 404, 'not found'],
  ['an-answer-that-is-not-ours', 200, '{"hello":"world"}'],
  ['an-answer-that-is-no-json', 200, 'hello'],
  ['too-many-requests', 429, '{"code":"too-many-requests","detail":"Slow down."}'],
])('%s-is-a-link-that-is-down', async (_name, status, body) => {
  const server = createPlain((request, response) => {
    request.resume().once('end', () => response.writeHead(status).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const link = new HttpLink();
  onTestFinished(async () => {
    link.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const to = { server: `http://127.0.0.1:${port}`, secret: 'mst_tk-1_secret' };
  await expect(link.heartbeat(to, { serviceVersion: 1 })).rejects.toThrow(LinkDown);
});

test.each(['127.0.0.1', '[::1]'])('requests-to-a-server-at-%s-carry-just-what-the-agent-has', async (host) => {
  const secrets: (string | undefined)[] = [];
  const server = createPlain((request, response) => {
    secrets.push(`${request.headers.host} ${request.url}`);
    request.resume().once('end', () => response.end('{"kind":"unchanged"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, host === '[::1]' ? '::1' : host, resolve));
  const { port } = server.address() as AddressInfo;
  const link = new HttpLink();
  onTestFinished(async () => {
    link.close();
    await new Promise((resolve) => server.close(resolve));
  });
  const to = { server: `http://${host}:${port}/`, secret: 'mst_tk-1_secret' };
  const { signal } = new AbortController();
  const unchanged = { kind: 'answer', answer: { kind: 'unchanged' } };
  expect(await link.view(to, { digest: 'a+b/c=', leaseEpoch: 7 }, signal)).toEqual(unchanged);
  expect(secrets).toEqual([`${host}:${port} /api/v1/agent/view?digest=a%2Bb%2Fc%3D&leaseEpoch=7`]);
});

test('what-is-no-address-of-a-server-is-a-link-that-is-down', async () => {
  const link = new HttpLink();
  onTestFinished(() => link.close());
  for (const server of ['server', 'ftp://127.0.0.1', ''])
    await expect(link.heartbeat({ server, secret: 's' }, { serviceVersion: 1 })).rejects.toThrow(LinkDown);
});

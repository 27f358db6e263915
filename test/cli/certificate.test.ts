// The certificate of a running server is replaced on SIGHUP: connections that are open stay, new ones see the new
// certificate, and one that cannot be used never takes the place of the old one.
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request, type RequestOptions } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { selfSigned, type SelfSigned } from '../self-signed.ts';
import { newFolder, startServer, type ServerProcess } from './muster.ts';

let first: SelfSigned;
let second: SelfSigned;
let expired: SelfSigned;
beforeAll(async () => {
  [first, second, expired] = await Promise.all([selfSigned(), selfSigned(), selfSigned({ days: -1 })]);
});

function put(folder: string, { cert, key }: SelfSigned): void {
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key);
}

async function startWithTls(): Promise<{ server: ServerProcess; folder: string; token: string; port: number }> {
  const folder = newFolder();
  put(folder, first);
  const tls = ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')];
  const server = await startServer(newFolder(), ...tls);
  const token = readFileSync(join(server.data, 'admin-token'), 'utf8').trim();
  return { server, folder, token, port: Number(new URL(server.url).port) };
}

/** The certificate that a new connection gets. */
async function shownNow(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const pem = socket.getPeerX509Certificate()?.toString() ?? '';
  socket.destroy();
  return pem.trim();
}

const JSON_BODY = { 'content-type': 'application/json' };
const NORTH = JSON.stringify({ name: 'north' });

async function ask(options: RequestOptions, body = ''): Promise<IncomingMessage> {
  const requested = request({ host: '127.0.0.1', rejectUnauthorized: false, ...options });
  requested.end(body);
  const [answer] = (await once(requested, 'response')) as [IncomingMessage];
  return answer;
}

async function text(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

async function metric(port: number, token: string, name: string): Promise<number> {
  const body = await text(await ask({ port, path: '/metrics', headers: { authorization: `Bearer ${token}` } }));
  const line = body.split('\n').find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
}

describe('SIGHUP', () => {
  test('new connections see the new certificate; a kept connection and a stream stay on theirs', async () => {
    const { server, folder, token, port } = await startWithTls();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const headers = { authorization: `Bearer ${token}` };
    const kept = (): Promise<IncomingMessage> => ask({ port, agent, path: '/api/v1/sites', headers });
    const before = await kept();
    const socket = before.socket as TLSSocket;
    await text(before);
    const stream = await ask({ port, path: '/api/v1/watch', headers });
    onTestFinished(() => void stream.destroy());
    stream.setEncoding('utf8');
    let streamed = '';
    stream.on('data', (chunk: string) => (streamed += chunk));
    expect(await shownNow(port)).toBe(first.cert.trim());

    put(folder, second);
    server.child.kill('SIGHUP');
    await server.said(/new connections get the reloaded certificate/);

    expect(await shownNow(port)).toBe(second.cert.trim());
    const after = await kept();
    expect(after.socket).toBe(socket);
    expect(await text(after)).toContain('items');
    const made = await ask(
      { port, method: 'POST', path: '/api/v1/sites', headers: { ...headers, ...JSON_BODY } },
      NORTH,
    );
    expect(made.statusCode).toBe(201);
    await expect.poll(() => streamed, { timeout: 20_000 }).toContain('north');
    expect(socket.destroyed).toBe(false);
    await server.stop();
  });

  test.each([
    ['is no certificate', () => ({ cert: 'nothing', key: second.key }), /are not a certificate and its key/],
    [
      'belongs to another key',
      () => ({ cert: second.cert, key: first.key }),
      /not a certificate and its key|is not the key/,
    ],
    ['has expired', () => expired, /has expired at/],
  ])('one that %s is refused aloud, and the old one is still shown', async (_why, files, reason) => {
    const { server, folder, token, port } = await startWithTls();
    put(folder, files());
    server.child.kill('SIGHUP');
    await server.said(/the new certificate cannot be used, the old one stays in use/);
    expect(server.err()).toMatch(reason);
    expect(await shownNow(port)).toBe(first.cert.trim());
    expect(await metric(port, token, 'muster_tls_certificate_refused')).toBe(1);
    const expiry = await metric(port, token, 'muster_tls_certificate_expires_seconds');
    expect(expiry).toBe(Date.parse(new X509Certificate(first.cert).validTo) / 1000);

    put(folder, second);
    server.child.kill('SIGHUP');
    await server.said(/new connections get the reloaded certificate/);
    expect(await shownNow(port)).toBe(second.cert.trim());
    expect(await metric(port, token, 'muster_tls_certificate_refused')).toBe(0);
    await server.stop();
  });

  test('without TLS it changes nothing', async () => {
    const server = await startServer(newFolder());
    server.child.kill('SIGHUP');
    await server.said(/there is no certificate to reload/);
    expect(await server.muster('sites', 'create', 'north')).toMatchObject({ code: 0 });
    expect(await server.stop()).toMatchObject({ code: 0 });
  });
});

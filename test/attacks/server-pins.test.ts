// Servers that agents know by a fingerprint alone: one that shows another certificate gets nothing, and the agent says what it saw.
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { HttpLink } from '../../src/agent/node/http-link.ts';
import { fingerprintsOf, parseFingerprint, PinMismatch, type Fingerprint } from '../../src/link/server-pin.ts';
import { newFolder, run, start } from '../cli/muster.ts';
import { selfSigned, type SelfSigned } from '../self-signed.ts';
import { TlsPlane } from './tls-plane.ts';

let tls: SelfSigned;
let other: SelfSigned;
beforeAll(async () => {
  [tls, other] = await Promise.all([selfSigned(), selfSigned()]);
});

const prints = ({ cert }: SelfSigned) => fingerprintsOf(new X509Certificate(cert));

/** A server with a certificate, which records every request. */
async function listener({ cert, key }: SelfSigned): Promise<{ url: string; received: string[] }> {
  const received: string[] = [];
  const server = createServer({ cert, key }, (request, response) => {
    received.push(`${request.url} ${request.headers.authorization}`);
    request.resume().once('end', () => response.end('{"report":"known"}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

function linkWith(options: { ca?: string; pins: readonly Fingerprint[] }): HttpLink {
  const link = new HttpLink(options);
  onTestFinished(() => link.close());
  return link;
}

const BEAT = { serviceVersion: 1 };
const SECRET = 'mst_tk-1_secret';

describe('a pinned server', () => {
  test.each(['publicKey', 'certificate'] as const)('is-known-by-its-%s-without-an-authority', async (which) => {
    const { url, received } = await listener(tls);
    const link = linkWith({ pins: [prints(other).publicKey, prints(tls)[which]] });
    const answered = { kind: 'answer', answer: { report: 'known' } };
    expect(await link.heartbeat({ server: url, secret: SECRET }, BEAT)).toEqual(answered);
    // Over the kept connection, and over another one.
    expect(await link.heartbeat({ server: url, secret: SECRET }, BEAT)).toEqual(answered);
    link.certificates.present(undefined);
    expect(await link.heartbeat({ server: url, secret: SECRET }, BEAT)).toEqual(answered);
    expect(received).toHaveLength(3);
    expect(link.isAuthenticated(url)).toBe(true);
  });

  test('that-shows-another-certificate-gets-nothing-at-all', async () => {
    const { url, received } = await listener(other);
    const link = linkWith({ pins: [prints(tls).publicKey, prints(tls).certificate] });
    const refused = link.heartbeat({ server: url, secret: SECRET }, BEAT);
    await expect(refused).rejects.toThrow(PinMismatch);
    await expect(refused).rejects.toThrow(prints(other).publicKey);
    expect(received).toEqual([]);
  });

  test('needs-its-authority-as-well-where-one-is-named', async () => {
    const { url, received } = await listener(tls);
    const pins = [prints(tls).publicKey];
    const to = { server: url, secret: SECRET };
    await expect(linkWith({ ca: other.cert, pins }).heartbeat(to, BEAT)).rejects.toThrow(
      /self-signed|unable to verify/i,
    );
    expect(received).toEqual([]);
    expect(await linkWith({ ca: tls.cert, pins }).heartbeat(to, BEAT)).toMatchObject({ kind: 'answer' });
  });
});

test('a-renewed-certificate-of-the-same-key-has-the-same-fingerprint-of-its-key-as-openssl-computes-it', async () => {
  const folder = newFolder();
  const [key, cert, next] = ['key.pem', 'cert.pem', 'next.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(key, tls.key);
  writeFileSync(cert, tls.cert);
  const openssl = promisify(execFile);
  await openssl('openssl', ['x509', '-in', cert, '-signkey', key, '-days', '9', '-out', next]);
  const renewed = prints({ key: tls.key, cert: readFileSync(next, 'utf8') });
  expect(renewed.publicKey).toBe(prints(tls).publicKey);
  expect(renewed.certificate).not.toBe(prints(tls).certificate);
  const { stdout } = await openssl('openssl', ['x509', '-in', cert, '-noout', '-fingerprint', '-sha256']);
  expect(parseFingerprint(`sha256:${stdout.split('=')[1]!}`)).toBe(prints(tls).certificate);
  const piped = await openssl('sh', [
    '-c',
    `openssl x509 -in ${cert} -pubkey -noout | openssl pkey -pubin -outform der | sha256sum`,
  ]);
  expect(`sha256:${piped.stdout.split(' ')[0]}`).toBe(prints(tls).publicKey);
});

test('an-agent-without-an-authority-joins-a-server-by-the-fingerprint-that-its-log-and-its-command-print', async () => {
  const plane = await TlsPlane.start(tls);
  const { server } = plane;
  expect(server.err()).toContain(prints(tls).publicKey);
  const tlsCert = join(newFolder(), 'cert.pem');
  writeFileSync(tlsCert, tls.cert);
  const shown = await run(['keys', 'show', '--data', server.data, '--tls-cert', tlsCert]);
  expect(shown.out).toContain(`public key   ${prints(tls).publicKey}`);
  expect(shown.out).toContain(`certificate  ${prints(tls).certificate}`);

  const [state, token] = [newFolder(), join(newFolder(), 'token')];
  mkdirSync(join(state, 'agent'), { mode: 0o700 });
  writeFileSync(token, await plane.joinToken('c1'));
  const agent = (...more: string[]) =>
    start([
      'agent',
      '--server',
      server.url,
      '--state',
      join(state, 'agent'),
      '--join-token-file',
      token,
      '--simulate',
      ...more,
    ]);
  // First with another fingerprint: the server never sees the token.
  const wary = agent('--server-fingerprint', prints(other).publicKey);
  const [said] = await wary.said(/shows another certificate[^\n]*/);
  expect(said).toContain(`--server-fingerprint ${prints(tls).publicKey}`);
  wary.child.kill('SIGTERM');
  expect(await wary.ended).toMatchObject({ code: 0 });
  expect((await plane.admin('GET', '/api/v1/hosts/c1')).body).not.toHaveProperty('credential');

  const trusting = agent(
    '--server-fingerprint',
    prints(other).publicKey,
    '--server-fingerprint',
    prints(tls).publicKey,
  );
  await trusting.said(/this agent has a new certificate/);
  await trusting.said(/joined the fleet/);
  const isUp = async (): Promise<void> =>
    expect((await plane.admin('GET', '/api/v1/hosts/c1')).body).toMatchObject({ connection: { state: 'up' } });
  await vi.waitFor(isUp, { timeout: 30_000, interval: 200 });
  trusting.child.kill('SIGTERM');
  expect(await trusting.ended).toMatchObject({ code: 0 });
  await server.stop();
});

test.each([
  [
    'with-plain-http',
    ['--server', 'http://127.0.0.1:1', '--server-fingerprint', `sha256:${'a'.repeat(64)}`],
    'use https',
  ],
  ['that-is-none', ['--server', 'https://127.0.0.1:1', '--server-fingerprint', 'sha256:abc'], 'is not a fingerprint'],
  [
    'of-another-digest',
    ['--server', 'https://127.0.0.1:1', '--server-fingerprint', `md5:${'a'.repeat(64)}`],
    'is not a fingerprint',
  ],
])('a-fingerprint-%s-is-refused-before-anything-is-sent', async (_name, options, why) => {
  const started = await run(['agent', '--state', newFolder(), '--simulate', ...options]);
  expect(started).toMatchObject({ code: 1 });
  expect(started.err).toContain(why);
});

// Certificates and credentials of agents on connections that are kept, and on TLS sessions that are resumed: what was right when the
// connection or the session began says nothing of the next request.
import { once } from 'node:events';
import { Agent } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { KeyPair } from '../../src/link/call.ts';
import { selfSigned, type SelfSigned } from '../self-signed.ts';
import { forgeCertificate, TlsPlane } from './tls-plane.ts';

let tls: SelfSigned;
let plane: TlsPlane;

beforeAll(async () => {
  tls = await selfSigned();
  plane = await TlsPlane.start(tls, '--agent-certificates', 'required');
});

const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const;

function keptConnection(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

/** A session that began with this certificate, to be resumed without showing any. */
async function sessionOf(pair: KeyPair, version: (typeof VERSIONS)[number]) {
  const options = { minVersion: version, maxVersion: version };
  const shown = { cert: pair.certificate, key: pair.key };
  const socket: TLSSocket = connect({ port: plane.port, host: '127.0.0.1', ca: tls.cert, ...options, ...shown });
  const [session] = (await once(socket, 'session')) as [Buffer];
  socket.destroy();
  return { ...options, session };
}

test.each(VERSIONS)('a resumed session opens nothing once its certificate has expired: %s', async (version) => {
  const { credential } = await plane.join(`expires-${version.slice(-1)}`);
  const host = `expires-${version.slice(-1)}`;
  let session: Awaited<ReturnType<typeof sessionOf>>;
  // As short as this machine allows: the first request has to come in time.
  for (let ms = 2000; ; ms *= 3) {
    session = await sessionOf(forgeCertificate(plane.authority(), host, { toMs: Date.now() + ms }), version);
    if ((await plane.heartbeat(credential, undefined, { tls: session })).status === 200) break;
  }
  await expect
    .poll(async () => (await plane.heartbeat(credential, undefined, { tls: session })).body.code, { timeout: 90_000 })
    .toBe('certificate-expired');
});

test('a kept connection opens nothing once its credential was replaced, and the newest credential goes on it', async () => {
  const agent = keptConnection();
  const first = await plane.join('rejoins');
  const before = await plane.heartbeat(first.credential, first.pair, { agent });
  expect(before.status).toBe(200);
  const second = await plane.join('rejoins');
  const after = await plane.heartbeat(first.credential, first.pair, { agent });
  expect([after.status, after.socket === before.socket]).toEqual([401, true]);
  // The certificate is of the same host, so it still fits; only the credential differs.
  expect(await plane.heartbeat(second.credential, first.pair, { agent })).toMatchObject({ status: 200 });
});

test.each(VERSIONS)('a resumed session opens nothing once its credential was replaced: %s', async (version) => {
  const host = `resumes-${version.slice(-1)}`;
  const first = await plane.join(host);
  const session = await sessionOf(first.pair!, version);
  expect((await plane.heartbeat(first.credential, undefined, { tls: session })).status).toBe(200);
  await plane.join(host);
  expect((await plane.heartbeat(first.credential, undefined, { tls: session })).status).toBe(401);
});

test('neither does the one of a host that was removed', async () => {
  const agent = keptConnection();
  const { credential, pair } = await plane.join('leaves');
  expect((await plane.heartbeat(credential, pair, { agent })).status).toBe(200);
  const session = await sessionOf(pair!, 'TLSv1.3');
  // It was never in service: nothing is there that would have to be brought away first.
  const body = { hosts: ['leaves'], disconnect: true, force: { reason: 'compromised' } };
  await plane.admin('POST', '/api/v1/scale-in/start', { hosts: ['leaves'] });
  expect(await plane.admin('POST', '/api/v1/scale-in/end', body)).toMatchObject({ status: 200 });
  await expect
    .poll(async () => (await plane.heartbeat(credential, pair, { agent })).status, { timeout: 60_000 })
    .toBeGreaterThanOrEqual(401);
  expect((await plane.heartbeat(credential, undefined, { tls: session })).status).toBeGreaterThanOrEqual(401);
  expect((await plane.renew(credential, pair)).status).toBeGreaterThanOrEqual(401);
});

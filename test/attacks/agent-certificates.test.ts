// Certificates of agents, attacked: a certificate counts beside the credential and never instead of it, it counts for its own host and
// its own time, and no request gets one for another host.
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { newCertificateKey, createCertificateRequest } from '../../src/link/certificates/client-certificate.ts';
import { selfSigned, type SelfSigned } from '../self-signed.ts';
import { forgeCertificate, selfMadeAuthority, TlsPlane, type JoinedHost } from './tls-plane.ts';

let tls: SelfSigned;
let optional: TlsPlane;
let required: TlsPlane;
let c1: JoinedHost;
let c2: JoinedHost;

beforeAll(async () => {
  tls = await selfSigned();
  [optional, required] = await Promise.all([
    TlsPlane.start(tls),
    TlsPlane.start(tls, '--agent-certificates', 'required'),
  ]);
  [c1, c2] = [await optional.join('c1'), await optional.join('c2')];
});

const DAY_MS = 24 * 3600 * 1000;

describe('a join with a certificate request', () => {
  test('gets-a-certificate-of-its-own-host-whatever-the-request-says', async () => {
    const { joined } = await optional.join('c3', { name: 'c1' });
    expect(optional.hostIn(joined.certificate)).toBe('c3');
    const renewed = await optional.renew(c1.credential, c2.pair);
    expect(optional.hostIn(renewed.body as never)).toBe('c1');
  });

  const good = (): string => createCertificateRequest(newCertificateKey().privateKey, 'c4');
  const damaged = (text: string): string => {
    const lines = text.split('\n');
    const body = Buffer.from(lines.slice(1, -2).join(''), 'base64');
    body[body.length - 3]! ^= 0xff;
    return [lines[0], body.toString('base64'), lines.at(-2), ''].join('\n');
  };
  const rsa = (): string =>
    createCertificateRequest(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'c4');
  const otherCurve = (): string =>
    createCertificateRequest(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey, 'c4');

  test.each<[string, () => string, number, string]>([
    ['no-pem', () => 'nothing', 422, 'malformed-certificate-request'],
    ['empty', () => '', 422, 'malformed-certificate-request'],
    ['no-der', () => good().replace(/\nMI/, '\nAA'), 422, 'malformed-certificate-request'],
    ['cut-off', () => good().replace(/\n.{64}\n/, '\n'), 422, 'malformed-certificate-request'],
    ['signed-by-another-key', () => damaged(good()), 422, 'malformed-certificate-request'],
    ['a-key-of-another-kind', rsa, 422, 'malformed-certificate-request'],
    ['a-key-on-another-curve', otherCurve, 422, 'malformed-certificate-request'],
    ['too-large', () => good() + ' '.repeat(4096), 400, 'malformed-body'],
  ])('that-is-%s-is-refused-and-uses-up-nothing', async (_name, request, status, code) => {
    const token = await optional.joinToken('c4');
    const secret = 's'.repeat(43);
    const before = await optional.admin('GET', '/api/v1/hosts/c4');
    const body = { secret, certificateRequest: request() };
    const refused = await optional.ask('POST', '/api/v1/agent/join', { secret: token, body });
    expect(refused).toMatchObject({ status, body: { code } });
    expect((await optional.admin('GET', '/api/v1/hosts/c4')).body).toEqual(before.body);
    expect((await optional.join('c4', { token })).pair).toBeDefined();
    const renewal = { certificateRequest: request() };
    const again = await optional.ask('POST', '/api/v1/agent/certificate', { secret: c1.credential, body: renewal });
    expect(again).toMatchObject({ status, body: { code } });
  });
});

describe('a certificate that is shown', () => {
  test('fits-its-own-credential-and-need-not-be-there', async () => {
    expect(await optional.heartbeat(c1.credential, c1.pair)).toMatchObject({ status: 200 });
    expect(await optional.heartbeat(c1.credential, undefined)).toMatchObject({ status: 200 });
  });

  test('of-another-host-is-refused', async () => {
    expect(await optional.heartbeat(c1.credential, c2.pair)).toMatchObject({
      status: 403,
      body: { code: 'certificate-of-other-host' },
    });
  });

  test('of-a-self-made-authority-is-refused', async () => {
    const pair = forgeCertificate(selfMadeAuthority(), 'c1');
    expect(await optional.heartbeat(c1.credential, pair)).toMatchObject({
      status: 403,
      body: { code: 'certificate-unknown' },
    });
  });

  test('of-the-authority-itself-or-of-the-server-is-refused', async () => {
    const [authority] = optional.readKeys().authorities;
    for (const pair of [
      { key: authority!.privateKey, certificate: authority!.certificate },
      { key: tls.key, certificate: tls.cert },
    ])
      expect(await optional.heartbeat(c1.credential, pair)).toMatchObject({
        status: 403,
        body: { code: 'certificate-unknown' },
      });
  });

  test.each([
    ['that-has-expired', { nowMs: Date.now() - 40 * DAY_MS, toMs: Date.now() - DAY_MS }],
    ['that-is-not-valid-yet', { nowMs: Date.now() + 2 * DAY_MS, toMs: Date.now() + 3 * DAY_MS }],
  ])('%s-is-refused', async (_name, times) => {
    const pair = forgeCertificate(optional.authority(), 'c1', times);
    expect(await optional.heartbeat(c1.credential, pair)).toMatchObject({
      status: 403,
      body: { code: 'certificate-expired' },
    });
    // It gets a new one with its credential.
    expect(await optional.renew(c1.credential, pair)).toMatchObject({ status: 200 });
  });

  test('opens-nothing-without-the-secret', async () => {
    for (const secret of [undefined, 'mst_tk-none_secret', `${c1.credential}x`, c2.credential]) {
      const { status } = await optional.ask('POST', '/api/v1/agent/heartbeat', {
        pair: c1.pair,
        ...(secret !== undefined && { secret }),
        body: { serviceVersion: 1 },
      });
      expect(status).toBe(secret === c2.credential ? 403 : 401);
    }
  });

  test('of-an-earlier-incarnation-opens-nothing-without-the-newest-credential', async () => {
    const first = await required.join('c6');
    const second = await required.join('c6');
    // The host is the same, so its certificate still fits; only the credential differs.
    expect((await required.heartbeat(first.credential, first.pair)).status).toBe(401);
    expect(await required.heartbeat(second.credential, second.pair)).toMatchObject({ status: 200 });
  });

  test('is-looked-at-with-every-request-of-a-connection-that-outlives-it', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    // As short as this machine allows: the first request has to come in time.
    const pairFor = (ms: number) => forgeCertificate(optional.authority(), 'c1', { toMs: Date.now() + ms });
    let pair = pairFor(0);
    let first = await optional.heartbeat(c1.credential, pair, { agent });
    for (let ms = 2000; first.status !== 200; ms *= 3) {
      pair = pairFor(ms);
      first = await optional.heartbeat(c1.credential, pair, { agent });
    }
    await expect
      .poll(async () => (await optional.heartbeat(c1.credential, pair, { agent })).body.code, { timeout: 90_000 })
      .toBe('certificate-expired');
    const last = await optional.heartbeat(c1.credential, pair, { agent });
    expect(last).toMatchObject({ status: 403, socket: first.socket });
  });
});

describe('a server that requires certificates', () => {
  const CALLS: readonly [string, string, object | undefined][] = [
    ['POST', '/api/v1/agent/heartbeat', { serviceVersion: 1 }],
    ['GET', '/api/v1/agent/view?waitMs=0', undefined],
    ['POST', '/api/v1/agent/observations', { answers: [{ task: 'x', outcome: 'done' }] }],
    [
      'POST',
      '/api/v1/agent/connections/deposit',
      { service: 'nat:x', operation: 'op', phase: 'syncing', connections: [], inAll: 0 },
    ],
    ['POST', '/api/v1/agent/connections/collect', { service: 'nat:x', operation: 'op', phase: 'syncing', waitMs: 0 }],
  ];

  test('refuses-agents-without-on-every-route-of-theirs', async () => {
    const { credential, pair } = await required.join('c1');
    for (const [method, path, body] of CALLS) {
      const shown = { secret: credential, ...(body !== undefined && { body }) };
      expect(await required.ask(method, path, shown)).toMatchObject({
        status: 403,
        body: { code: 'certificate-required' },
      });
      expect((await required.ask(method, path, { ...shown, pair })).body.code).not.toBe('certificate-required');
    }
    expect(await required.heartbeat(credential, pair)).toMatchObject({ status: 200 });
  });

  test('issues-no-certificate-to-whoever-has-only-the-secret', async () => {
    const { credential, pair } = await required.join('c5');
    expect(await required.renew(credential, undefined)).toMatchObject({ body: { code: 'certificate-required' } });
    expect(await required.renew(credential, forgeCertificate(selfMadeAuthority(), 'c5'))).toMatchObject({
      body: { code: 'certificate-unknown' },
    });
    const other = await required.join('c7');
    expect(await required.renew(credential, other.pair)).toMatchObject({
      body: { code: 'certificate-of-other-host' },
    });
    expect(await required.renew(credential, pair)).toMatchObject({ status: 200 });
    // A host that was off for too long proves that it has the key of the certificate that it had.
    const old = forgeCertificate(required.authority(), 'c5', {
      nowMs: Date.now() - 40 * DAY_MS,
      toMs: Date.now() - DAY_MS,
    });
    expect(await required.renew(credential, old)).toMatchObject({ status: 200 });
  });

  test('requests-it-from-no-other-server', async () => {
    expect(await required.admin('GET', '/api/v1/hosts')).toMatchObject({ status: 200 });
    const { pair } = await required.join('c8');
    // Neither does a certificate help where a token is requested.
    expect(await required.ask('GET', '/api/v1/hosts', { pair })).toMatchObject({ status: 401 });
  });

  test('knows-the-certificate-of-a-connection-that-resumes-a-session', async () => {
    const { credential, pair } = await required.join('c9');
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const options = { minVersion: version, maxVersion: version };
      const session = await sessionWith(required, { ...options, cert: pair!.certificate, key: pair!.key });
      // Resumed without showing anything: what was proven when the session began still holds, and nothing more.
      const resumed = await required.heartbeat(credential, undefined, { tls: { ...options, session } });
      expect(resumed).toMatchObject({ status: 200 });
      const other = await required.join('c10');
      const stolen = await required.heartbeat(other.credential, undefined, { tls: { ...options, session } });
      expect(stolen).toMatchObject({ status: 403 });
    }
  });

  test('still-requests-certificates-when-its-own-was-replaced', async () => {
    const plane = await TlsPlane.start(tls, '--agent-certificates', 'required');
    const { credential, pair } = await plane.join('c1');
    const folder = /--tls-cert (\S+)cert\.pem/.exec(plane.server.child.spawnargs.join(' '))![1]!;
    const next = await selfSigned();
    writeFileSync(join(folder, 'cert.pem'), next.cert);
    writeFileSync(join(folder, 'key.pem'), next.key);
    plane.server.child.kill('SIGHUP');
    await plane.server.said(/new connections get the reloaded certificate/);
    expect(await plane.heartbeat(credential, pair, { tls: { ca: next.cert } })).toMatchObject({ status: 200 });
    expect(await plane.heartbeat(credential, undefined, { tls: { ca: next.cert } })).toMatchObject({ status: 403 });
    await plane.server.stop();
  });
});

async function sessionWith(plane: TlsPlane, options: object): Promise<Buffer> {
  const socket: TLSSocket = connect({ port: plane.port, host: '127.0.0.1', ca: tls.cert, ...options });
  const [session] = (await once(socket, 'session')) as [Buffer];
  socket.destroy();
  return session;
}

// Certificates of agents that run: a rotation of the authority runs beside them, kill -9 at any moment leaves a pair that fits, and no
// private key is anywhere but in its own file.
import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { isKeyOf } from '../../src/link/certificates/client-certificate.ts';
import { SimulatedNodeDriver, startAgent } from '../../src/agent/runtime.ts';
import type { StoredCertificate } from '../../src/link/index.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import { newFolder, run, start, type Started } from '../cli/muster.ts';
import { freshDatabase, postgresSuite } from '../postgres/suite.ts';
import { selfSigned, type SelfSigned } from '../self-signed.ts';
import { TlsPlane } from './tls-plane.ts';

let tls: SelfSigned;
beforeAll(async () => {
  tls = await selfSigned();
});

const WAIT = { timeout: 60_000, interval: 100 };
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** What an agent has on disk; it always belongs together. */
function readStoredCertificate(state: string): StoredCertificate & { readonly issuer: string } {
  const held = JSON.parse(readFileSync(join(state, 'agent-certificate.json'), 'utf8')) as StoredCertificate;
  const certificate = new X509Certificate(held.certificate);
  expect(isKeyOf(certificate, held.key)).toBe(true);
  return { ...held, issuer: certificate.issuer };
}

/** An agent in this process, which renews as soon as it may: chance is what spreads renewals. */
function runAgent(servers: readonly string[], token: string) {
  const state = newFolder();
  const agent = startAgent({
    servers,
    joinToken: () => Promise.resolve(token),
    folder: state,
    driver: new SimulatedNodeDriver({ clock: realClock }),
    clock: realClock,
    ids: realIds(),
    random: () => 0,
    log: QUIET,
    ca: tls.cert,
    heartbeatMs: 500,
  });
  onTestFinished(() => agent.stop());
  return { agent, state };
}

test('a-rotation-of-the-authority-interrupts-no-agent-and-all-have-a-new-certificate', async () => {
  const plane = await TlsPlane.start(tls, '--agent-certificates', 'required');
  const { server } = plane;
  const names = ['c1', 'c2', 'c3'];
  const agents = await Promise.all(names.map(async (name) => runAgent([server.url], await plane.joinToken(name))));
  const connections = async (): Promise<unknown[]> =>
    Promise.all(
      names.map(async (name) => {
        const { body } = await plane.admin('GET', `/api/v1/hosts/${name}`);
        return (body['connection'] as { state: string }).state;
      }),
    );
  await vi.waitFor(async () => expect(await connections()).toEqual(['up', 'up', 'up']), WAIT);
  const before = agents.map(({ state }) => readStoredCertificate(state).certificate);

  const rotated = await run(['keys', 'rotate', '--data', server.data]);
  expect(rotated).toMatchObject({ code: 0 });
  server.child.kill('SIGHUP');
  await vi.waitFor(() => {
    for (const { agent } of agents) {
      const { refusal, isServerUnreachable, certificate } = agent.status();
      // At no moment is any of them refused.
      if (refusal !== undefined || isServerUnreachable) throw new Error(`interrupted: ${refusal?.code}`);
      expect(certificate?.serial).toBe(2);
    }
  }, WAIT);
  const refused = (await plane.admin('GET', '/metrics')).text;
  expect(refused).toMatch(/muster_heartbeats_total [1-9]/);
  expect(refused).toContain('muster_agent_certificates{state="valid"} 3\n');
  expect(refused).not.toMatch(/muster_requests_refused_total\{[^}]*code="certificate-/);
  expect(await connections()).toEqual(['up', 'up', 'up']);
  agents.forEach(({ state }, at) => expect(readStoredCertificate(state).certificate).not.toBe(before[at]));
  // The new one is shown with the next request.
  const shown = async (): Promise<void> => {
    for (const [at, { state }] of agents.entries()) {
      const { body } = await plane.admin('GET', `/api/v1/hosts/${names[at]}/agent-certificate`);
      const expiresAtMs = Date.parse(new X509Certificate(readStoredCertificate(state).certificate).validTo);
      expect(body).toEqual({ host: names[at], state: 'valid', expiresAtMs });
    }
  };
  await vi.waitFor(shown, WAIT);

  await server.stop();
});

test('kill-9-at-any-moment-leaves-a-key-and-a-certificate-that-belong-together-and-secrets-in-their-file-only', async () => {
  const plane = await TlsPlane.start(tls);
  const { server } = plane;
  const [state, token] = [newFolder(), join(newFolder(), 'token')];
  const ca = join(newFolder(), 'ca.pem');
  writeFileSync(ca, tls.cert);
  writeFileSync(token, await plane.joinToken('c1'));
  const agent = (): Started =>
    start(['agent', '--server', server.url, '--state', state, '--join-token-file', token, '--ca', ca, '--simulate']);
  const first = agent();
  await first.said(/joined the fleet/);
  first.child.kill('SIGKILL');
  await first.ended;
  const file = join(state, 'agent-certificate.json');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const keys = [readStoredCertificate(state).key];
  for (let round = 0; round < 4; round += 1) {
    // As if its time had come: it renews as soon as it is started, and dies somewhere on the way.
    writeFileSync(file, JSON.stringify({ ...readStoredCertificate(state), receivedAtMs: 0 }));
    const next = agent();
    if (round % 2 === 0) await next.said(/this agent has a new certificate/);
    else
      await vi.waitFor(
        () => expect(existsSync(`${file}.new`) || readStoredCertificate(state).receivedAtMs > 0).toBe(true),
        WAIT,
      );
    next.child.kill('SIGKILL');
    await next.ended;
    keys.push(readStoredCertificate(state).key);
  }
  expect(new Set(keys).size).toBeGreaterThan(2);
  writeFileSync(file, JSON.stringify({ ...readStoredCertificate(state), receivedAtMs: 0 }));
  const last = agent();
  await last.said(/this agent has a new certificate/);
  const isUp = async (): Promise<void> =>
    expect((await plane.admin('GET', '/api/v1/hosts/c1')).body).toMatchObject({ connection: { state: 'up' } });
  await vi.waitFor(isUp, WAIT);
  last.child.kill('SIGTERM');
  expect(await last.ended).toMatchObject({ code: 0 });

  const backup = join(newFolder(), 'backup');
  expect(await run(['backup', backup, '--data', server.data])).toMatchObject({ code: 0 });
  const logs = [first.err(), last.err(), last.out(), server.err(), server.out()];
  const files = [backup, ...readdirSync(server.data).map((name) => join(server.data, name))].filter(
    (path) => statSync(path).isFile() && !path.endsWith('control-plane-keys.json'),
  );
  expect(files.length).toBeGreaterThan(2);
  for (const text of [...logs, ...files.map((path) => readFileSync(path).toString('latin1'))]) {
    expect(text).not.toContain('PRIVATE KEY');
    for (const key of keys) expect(text).not.toContain(key.split('\n')[1]);
  }
  await server.stop();
});

test('openssl-verifies-a-certificate-by-the-strictest-rules', async () => {
  const plane = await TlsPlane.start(tls);
  const { joined } = await plane.join('c1');
  const folder = newFolder();
  const [ca, certificate] = [join(folder, 'ca.pem'), join(folder, 'c1.pem')];
  writeFileSync(ca, joined.certificate!.authorities[0]!);
  writeFileSync(certificate, joined.certificate!.certificate);
  const verified = await promisify(execFile)('openssl', [
    ...['verify', '-x509_strict', '-check_ss_sig', '-purpose', 'sslclient'],
    ...['-CAfile', ca, certificate],
  ]);
  expect(verified.stdout).toBe(`${certificate}: OK\n`);
  await plane.server.stop();
});

postgresSuite('several servers that share their keys', (postgres) => {
  test('keys-are-rotated-under-live-agents-and-each-server-takes-them-after-a-failover', async () => {
    const store = await freshDatabase(postgres.url);
    const [keys, folder] = [newFolder(), newFolder()];
    writeFileSync(join(folder, 'cert.pem'), tls.cert);
    writeFileSync(join(folder, 'key.pem'), tls.key);
    const files = ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')];
    const more = ['--store', store, '--keys', keys, '--agent-certificates', 'required', ...files];
    const plane = await TlsPlane.start(tls, ...more);
    const first = plane.server;
    // It passes joins on to the first, and has to know it for that.
    const env = { NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') };
    const second = start(['serve', '--data', newFolder(), '--listen', '127.0.0.1:0', ...more], { env });
    const [, url = ''] = await second.said(/answers at (http\S+)/);
    const { agent } = runAgent([url, first.url], await plane.joinToken('c1'));
    await vi.waitFor(
      () => expect(agent.status()).toMatchObject({ isServerUnreachable: false, certificate: { serial: 1 } }),
      WAIT,
    );
    await vi.waitFor(() => expect(agent.status().applied).toBeDefined(), WAIT);

    expect(await run(['keys', 'rotate', '--keys', keys])).toMatchObject({ code: 0 });
    for (const { child } of [first, second]) child.kill('SIGHUP');
    await Promise.all([first, second].map((server) => server.said(/keys were reloaded/)));
    await vi.waitFor(() => expect(agent.status().certificate?.serial).toBe(2), WAIT);

    await first.stop('SIGKILL');
    await second.said(/this server decides/);
    await vi.waitFor(
      () => expect(agent.status()).toMatchObject({ server: url, isServerUnreachable: false, refusal: undefined }),
      WAIT,
    );
    expect(second.err()).not.toContain('certificate-');
    expect(second.err()).not.toContain('other keys than its control plane');
    second.child.kill('SIGTERM');
    expect(await second.ended).toMatchObject({ code: 0 });
  });
});

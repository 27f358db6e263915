// Certificates of managers that run: joined once and kept over a restart, renewed under a rotation of the authority without an interruption, and checked by the
// server that decides also where another server took the request in.
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { ManagerStateStore, startManager, type ManagerFile } from '../../src/baremetal/runtime.ts';
import type { StoredCertificate } from '../../src/link/index.ts';
import { FileDisk } from '../../src/link/runtime.ts';
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

const WAIT = { timeout: 90_000, interval: 100 };
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

function storedIn(state: string): StoredCertificate {
  return JSON.parse(readFileSync(join(state, 'manager-certificate.json'), 'utf8')) as StoredCertificate;
}

/** A manager in this process, which renews as soon as it may: chance is what spreads renewals. */
function runManager(name: string, servers: readonly string[], token: string) {
  const state = newFolder();
  const manager = startManager({
    ...{ name, servers, version: '1', holder: realIds().next('manager') },
    joinToken: () => Promise.resolve(token),
    state: new ManagerStateStore(new FileDisk<ManagerFile>(state, 'manager'), QUIET),
    ...{ clock: realClock, ids: realIds(), random: () => 0, log: QUIET, ca: tls.cert },
  });
  onTestFinished(() => manager.stop());
  return { manager, state };
}

interface Row {
  readonly name: string;
  readonly state: string;
  readonly leaseEpoch: number;
}

async function rowsOf(plane: TlsPlane): Promise<Row[]> {
  return (await plane.admin('GET', '/api/v1/managers')).body['items'] as Row[];
}

async function untilLive(plane: TlsPlane, ...names: readonly string[]): Promise<void> {
  await vi.waitFor(async () => {
    const live = (await rowsOf(plane)).filter(({ state }) => state === 'live').map(({ name }) => name);
    expect(live.sort()).toEqual([...names].sort());
  }, WAIT);
}

test('a-rotation-of-the-authority-interrupts-no-manager-and-all-have-a-new-certificate', async () => {
  // One of them runs inside the server.
  const plane = await TlsPlane.start(tls, '--manager-certificates', 'required', '--manager', 'm0');
  const { server } = plane;
  const names = ['m1', 'm2'];
  const managers = await Promise.all(
    names.map(async (name) => runManager(name, [server.url], await plane.managerJoinToken(name))),
  );
  await untilLive(plane, 'm0', ...names);
  const before = await rowsOf(plane);
  expect(managers.map(({ manager }) => manager.certificate()?.serial)).toEqual([1, 1]);

  expect(await run(['keys', 'rotate', '--data', server.data])).toMatchObject({ code: 0 });
  server.child.kill('SIGHUP');
  await vi.waitFor(() => {
    for (const { manager } of managers) {
      // At no moment has any of them lost its lease.
      if (!manager.mayAct()) throw new Error('interrupted');
      expect(manager.certificate()?.serial).toBe(2);
    }
  }, WAIT);
  const metrics = (await plane.admin('GET', '/metrics')).text;
  expect(metrics).not.toMatch(/muster_requests_refused_total\{[^}]*code="certificate-(unknown|expired|of-)/);
  expect(metrics).toContain('muster_manager_certificates{state="valid"} 3\n');
  expect((await rowsOf(plane)).map(({ name, leaseEpoch }) => [name, leaseEpoch])).toEqual(
    before.map(({ name, leaseEpoch }) => [name, leaseEpoch]),
  );
  for (const { state } of managers) expect(storedIn(state).serial).toBe(2);
  await server.stop();
});

test('muster-manager-joins-once, keeps-its-credential-to-itself, and-comes-back-without-a-join-token', async () => {
  const plane = await TlsPlane.start(tls, '--manager-certificates', 'required');
  const { server } = plane;
  const [state, ca, token] = [newFolder(), join(newFolder(), 'ca.pem'), join(newFolder(), 'token')];
  writeFileSync(ca, tls.cert);
  const admin = readFileSync(join(server.data, 'admin-token'), 'utf8').trim();
  const made = await run(['baremetal', 'managers', 'join-token', 'm1', '--server', server.url], {
    env: { MUSTER_TOKEN: admin, NODE_EXTRA_CA_CERTS: ca },
  });
  expect(made).toMatchObject({ code: 0 });
  writeFileSync(token, made.out);
  const manager = (...more: readonly string[]): Started =>
    start(['manager', '--name', 'm1', '--server', server.url, '--ca', ca, '--state', state, ...more]);
  const first = manager('--join-token-file', token);
  await first.said(/joined as a manager/);
  await untilLive(plane, 'm1');
  first.child.kill('SIGTERM');
  expect(await first.ended).toMatchObject({ code: 0 });
  for (const name of ['identity', 'certificate'])
    expect(statSync(join(state, `manager-${name}.json`)).mode & 0o777).toBe(0o600);
  const issued = storedIn(state);
  expect(new X509Certificate(issued.certificate).subjectAltName).toBe('URI:muster:manager:m1');

  const second = manager();
  await untilLive(plane, 'm1');
  expect(storedIn(state).certificate).toBe(issued.certificate);
  second.child.kill('SIGTERM');
  await second.ended;
  const texts = [first.err(), second.err(), server.err(), server.out()];
  const { secret } = (
    JSON.parse(readFileSync(join(state, 'manager-identity.json'), 'utf8')) as {
      readonly current: { readonly secret: string };
    }
  ).current;
  for (const text of texts) {
    expect(text).not.toContain('PRIVATE KEY');
    expect(text).not.toContain(secret);
  }
  // A token alone is not enough here, and it is said why.
  const { body } = await plane.admin('POST', '/api/v1/tokens', { name: 'm2', role: 'manager', manager: 'm2' });
  const env = { MUSTER_TOKEN: String(body['secret']) };
  const third = start(['manager', '--name', 'm2', '--server', server.url, '--ca', ca], { env });
  await third.said(/presented no certificate, and this control plane requires one/);
  third.child.kill('SIGTERM');
  await third.ended;
  await server.stop();
});

postgresSuite('several servers that share their keys', (postgres) => {
  test('a-certificate-that-was-shown-to-one-server-counts-at-the-one-that-decides, and-none-does-without-proof', async () => {
    const store = await freshDatabase(postgres.url);
    const [keys, folder] = [newFolder(), newFolder()];
    writeFileSync(join(folder, 'cert.pem'), tls.cert);
    writeFileSync(join(folder, 'key.pem'), tls.key);
    const files = ['--tls-cert', join(folder, 'cert.pem'), '--tls-key', join(folder, 'key.pem')];
    const more = ['--store', store, '--keys', keys, '--manager-certificates', 'required', ...files];
    const plane = await TlsPlane.start(tls, ...more);
    const env = { NODE_EXTRA_CA_CERTS: join(folder, 'cert.pem') };
    const second = start(['serve', '--data', newFolder(), '--listen', '127.0.0.1:0', ...more], { env });
    const [, url = ''] = await second.said(/answers at (http\S+)/);
    // It dials the server alone that does not decide: every call but renewals is forwarded.
    const { manager } = runManager('m1', [url], await plane.managerJoinToken('m1'));
    await untilLive(plane, 'm1');
    expect(manager.mayAct()).toBe(true);

    const stolen = await plane.joinManager('m2');
    const at = { port: Number(new URL(url).port) };
    const register = (shown: object, headers: Record<string, string> = {}) =>
      plane.ask('PUT', '/api/v1/managers/m2', {
        ...{ secret: stolen.credential, body: { holder: 'p-2', version: '1' }, headers },
        ...shown,
      });
    // Whoever says that it forwards, or makes up a proof, has shown nothing; to which server it says so makes no difference.
    const forged = Buffer.from(JSON.stringify({ text: '{}', signatures: [] })).toString('base64url');
    for (const headers of [{}, { 'muster-peer': forged }, { 'muster-peer': 'x' }])
      for (const where of [{}, { tls: at }])
        expect(await register(where, headers)).toMatchObject({ status: 403, body: { code: 'certificate-required' } });
    const forwarding = { 'muster-forwarded': '1', 'muster-peer': forged };
    expect(await register({}, forwarding)).toMatchObject({ status: 403, body: { code: 'certificate-required' } });
    expect(await register({ pair: stolen.pair, tls: at })).toMatchObject({ status: 200 });
    second.child.kill('SIGTERM');
    await second.ended;
    await plane.server.stop();
  });
});

// When the files of a certificate change on disk: what is served, and when.
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Clock } from '../journal/index.ts';
import { CertificateReloader } from './certificate-reloader.ts';
import { readCertificate, type Certificate } from './certificate.ts';

/** Of the machine: no package brings it. */
const OPENSSL: string = 'openssl';
const folder = mkdtempSync(join(tmpdir(), 'muster-certificate-'));
const paths = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
const made = (name: string): string => join(folder, name);

beforeAll(() => {
  for (const name of ['a', 'b']) {
    const files = ['-keyout', made(`${name}.key`), '-out', made(`${name}.cert`)];
    const how = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync(OPENSSL, ['req', ...how, '-subj', `/CN=${name}`, ...files], { stdio: 'ignore' });
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

function put(cert: string, key = cert): void {
  cpSync(made(`${cert}.cert`), paths.cert);
  cpSync(made(`${key}.key`), paths.key);
}

/** A clock whose sleeps end when the test says so. */
function steppedClock() {
  let wake: (() => void) | undefined;
  const clock = {
    nowMs: () => Date.now(),
    sleep: () => new Promise<void>((resolve) => (wake = resolve)),
    turn: () => Promise.resolve(),
  } as Clock;
  const poll = async (): Promise<void> => {
    wake?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { clock, poll };
}

function start() {
  put('a');
  const read = readCertificate(paths);
  if (read.kind !== 'usable') throw new Error(read.reason);
  const { clock, poll } = steppedClock();
  const served: string[] = [];
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
  const serve = ({ cert }: Certificate): void => void served.push(nameIn(cert));
  const registry = new Registry();
  const reloader = new CertificateReloader({ paths, served: read.certificate, serve, clock, log, registry });
  const over = new AbortController();
  const running = reloader.run(over.signal);
  onTestFinished(async () => {
    over.abort();
    await poll();
    await running;
  });
  return { served, lines, poll, registry };
}

function nameIn(pem: string): string {
  return new X509Certificate(pem).subject;
}

test('a change on disk is served once two reads in a row agree, and only once', async () => {
  const { served, poll } = start();
  await poll();
  put('b');
  await poll();
  expect(served).toEqual([]);
  await poll();
  await poll();
  await poll();
  expect(served).toEqual(['CN=b']);
});

test('a certificate whose key is still being copied is nobody’s alarm', async () => {
  const { served, lines, poll } = start();
  put('b', 'a');
  await poll();
  put('b');
  await poll();
  await poll();
  expect(served).toEqual(['CN=b']);
  expect(lines.filter((line) => line.includes('not served'))).toEqual([]);
});

test('files that stay unusable are logged once, and a later good pair is served', async () => {
  const { served, lines, poll, registry } = start();
  put('b', 'a');
  for (let polls = 0; polls < 4; polls += 1) await poll();
  expect(served).toEqual([]);
  expect(lines.filter((line) => line.includes('the old one stays in use'))).toHaveLength(1);
  expect(await registry.metrics()).toContain('muster_tls_certificate_refused 1');
  put('b');
  await poll();
  await poll();
  expect(served).toEqual(['CN=b']);
  expect(await registry.metrics()).toContain('muster_tls_certificate_refused 0');
});

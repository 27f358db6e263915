// A certificate authority that lives as long as a test, and certificates of it.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

const run = promisify(execFile);

export interface Issued {
  readonly key: string;
  readonly cert: string;
  readonly keyFile: string;
  readonly certFile: string;
}

export interface TestCa {
  readonly cert: string;
  readonly certFile: string;
  /** `names` as openssl writes them: `DNS:db.test,IP:127.0.0.1`. */
  issue(commonName: string, names: string): Promise<Issued>;
}

export async function testCa(): Promise<TestCa> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-ca-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [caKey, caCert] = [join(folder, 'ca.key'), join(folder, 'ca.pem')];
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await run('openssl', [
    'req',
    '-x509',
    ...newKey,
    '-days',
    '2',
    '-keyout',
    caKey,
    '-out',
    caCert,
    '-subj',
    '/CN=test CA',
  ]);
  let issued = 0;
  const issue = async (commonName: string, names: string): Promise<Issued> => {
    issued += 1;
    const path = (end: string): string => join(folder, `${issued}.${end}`);
    const [keyFile, certFile] = [path('key'), path('pem')];
    await run('openssl', ['req', ...newKey, '-keyout', keyFile, '-out', path('csr'), '-subj', `/CN=${commonName}`]);
    await writeFile(path('ext'), `subjectAltName=${names}\n`);
    const signed = ['-CA', caCert, '-CAkey', caKey, '-CAcreateserial', '-days', '2', '-extfile', path('ext')];
    await run('openssl', ['x509', '-req', '-in', path('csr'), '-out', certFile, ...signed]);
    return { keyFile, certFile, key: await readFile(keyFile, 'utf8'), cert: await readFile(certFile, 'utf8') };
  };
  return { cert: await readFile(caCert, 'utf8'), certFile: caCert, issue };
}

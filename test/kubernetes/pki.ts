// The certificates of a control plane: one authority for the server, its clients and its nodes, and the key that signs the tokens of
// service accounts. They are written into a folder, where the servers read them.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const openssl = promisify(execFile);

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const DAYS = ['-days', '2'];

export interface AuthorityFiles {
  readonly keyFile: string;
  readonly certFile: string;
  readonly cert: string;
}

export interface CertificateFiles {
  readonly keyFile: string;
  readonly certFile: string;
  readonly key: string;
  readonly cert: string;
}

export async function createAuthority(folder: string, name = 'kubernetes'): Promise<AuthorityFiles> {
  const [keyFile, certFile] = [join(folder, 'ca.key'), join(folder, 'ca.crt')];
  await openssl('openssl', [
    ...['req', '-x509', ...NEW_KEY, ...DAYS, '-keyout', keyFile, '-out', certFile, '-subj', `/CN=${name}`],
  ]);
  return { keyFile, certFile, cert: await readFile(certFile, 'utf8') };
}

interface Subject {
  readonly file: string;
  /** As openssl writes it: `/O=system:masters/CN=admin`. */
  readonly subject: string;
  /** Names of a server, as openssl writes them: `DNS:localhost,IP:127.0.0.1`; without any it is a client's. */
  readonly names?: string;
}

export async function issueCertificate(
  folder: string,
  authority: AuthorityFiles,
  { file, subject, names }: Subject,
): Promise<CertificateFiles> {
  const path = (end: string): string => join(folder, `${file}.${end}`);
  const [keyFile, certFile] = [path('key'), path('crt')];
  await openssl('openssl', ['req', ...NEW_KEY, '-keyout', keyFile, '-out', path('csr'), '-subj', subject]);
  const usage = names === undefined ? 'clientAuth' : `serverAuth\nsubjectAltName=${names}`;
  await writeFile(path('ext'), `extendedKeyUsage=${usage}\n`);
  // A serial number each: many are issued at once.
  const signed = ['-CA', authority.certFile, '-CAkey', authority.keyFile, ...DAYS, '-extfile', path('ext')];
  await openssl('openssl', ['x509', '-req', '-in', path('csr'), '-out', certFile, ...signed]);
  return { keyFile, certFile, key: await readFile(keyFile, 'utf8'), cert: await readFile(certFile, 'utf8') };
}

/** Answers its file; servers that only verify take the same one. */
export async function createSigningKey(folder: string): Promise<string> {
  const file = join(folder, 'service-accounts.key');
  await openssl('openssl', ['ecparam', '-genkey', '-name', 'prime256v1', '-noout', '-out', file]);
  return file;
}

/** A request for a certificate of `subject`, and the key that it is for. */
export async function requestCertificate(folder: string, subject: string): Promise<{ key: string; request: string }> {
  const [keyFile, requestFile] = [join(folder, 'requested.key'), join(folder, 'requested.csr')];
  await openssl('openssl', ['req', '-new', ...NEW_KEY, '-keyout', keyFile, '-out', requestFile, '-subj', subject]);
  return { key: await readFile(keyFile, 'utf8'), request: await readFile(requestFile, 'utf8') };
}

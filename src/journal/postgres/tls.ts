// How a connection to PostgreSQL is encrypted and what is verified, as libpq documents its modes; the driver's own reading of
// `sslmode` is another. It must never verify less than the mode says.
import { readFile } from 'node:fs/promises';
import { type ConnectionOptions, getCACertificates } from 'node:tls';
import type { PostgresUrl } from './url.ts';
import { StoreUnavailable } from '../store.ts';

export type TlsConfig = ConnectionOptions | false;

/** The ways to try, in order: with `prefer` a host that cannot encrypt is spoken to in clear. */
export async function tlsAttempts({ mode, ...files }: PostgresUrl['tls'], host: string): Promise<readonly TlsConfig[]> {
  // On a Unix socket there is nothing to encrypt: libpq ignores the mode too.
  if (mode === 'disable' || host.startsWith('/')) return [false];
  const identity = {
    ...(files.cert !== undefined && { cert: await pem(files.cert, 'sslcert') }),
    ...(files.key !== undefined && { key: await pem(files.key, 'sslkey') }),
  };
  if (mode === 'prefer' || mode === 'require') {
    const unverified = { ...identity, rejectUnauthorized: false };
    return mode === 'prefer' ? [unverified, false] : [unverified];
  }
  const verified = { ...identity, rejectUnauthorized: true, ca: await authorities(files.rootCert ?? 'system') };
  return [mode === 'verify-full' ? verified : { ...verified, checkServerIdentity: () => undefined }];
}

async function authorities(rootCert: string): Promise<string | string[]> {
  return rootCert === 'system' ? getCACertificates('system') : pem(rootCert, 'sslrootcert');
}

/** Read anew for each search: certificates are renewed while the server runs. */
async function pem(path: string, parameter: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const message = `${parameter} ${path} cannot be read: ${(error as Error).message}`;
    throw new StoreUnavailable(message, { outcome: 'failed', cause: error });
  }
}

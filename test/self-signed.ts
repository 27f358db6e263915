// A certificate that only clients with its authority trust, for loopback.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const openssl = promisify(execFile);

export interface SelfSigned {
  readonly key: string;
  readonly cert: string;
}

/** With a negative number of days it has expired that long ago. */
export async function selfSigned({ days = 2 } = {}): Promise<SelfSigned> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-tls-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert];
  try {
    await openssl('openssl', [...made, ...names]);
    // Only x509 signs for days that are over.
    if (days < 0) await openssl('openssl', ['x509', '-in', cert, '-signkey', key, '-days', `${days}`, '-out', cert]);
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

// The certificate files of a server: read and checked before they are used. Nothing here replaces a certificate in use.
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { fingerprintsOf, type ServerFingerprints } from '../link/index.ts';

export interface CertificatePaths {
  readonly cert: string;
  readonly key: string;
}

export interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly expiresAtMs: number;
  /** Of the file contents: equal digests mean equal certificates. */
  readonly fingerprint: string;
  /** The fingerprint by which agents can authenticate the server. */
  readonly fingerprints: ServerFingerprints;
}

export type CertificateRead =
  | { readonly kind: 'usable'; readonly certificate: Certificate }
  | { readonly kind: 'unusable'; readonly reason: string; readonly fingerprint: string };

/** Reads both files and checks whether a server could use them. Expiry is for the caller to check. */
export function readCertificate(paths: CertificatePaths): CertificateRead {
  const cert = readPem(paths.cert);
  const key = readPem(paths.key);
  const fingerprint = digest([cert, key].map((file) => (file.kind === 'text' ? file.text : file.reason)));
  if (cert.kind === 'unreadable') return unusable(`--tls-cert ${paths.cert} cannot be read: ${cert.reason}`);
  if (key.kind === 'unreadable') return unusable(`--tls-key ${paths.key} cannot be read: ${key.reason}`);
  try {
    createSecureContext({ cert: cert.text, key: key.text });
    const leaf = new X509Certificate(cert.text);
    if (!leaf.checkPrivateKey(createPrivateKey(key.text)))
      return unusable(`${paths.key} is not the key of ${paths.cert}.`);
    const expiresAtMs = Date.parse(leaf.validTo);
    const fingerprints = fingerprintsOf(leaf);
    return { kind: 'usable', certificate: { cert: cert.text, key: key.text, expiresAtMs, fingerprint, fingerprints } };
  } catch (error) {
    return unusable(
      `${paths.cert} and ${paths.key} are not a certificate and its key in PEM form (${(error as Error).message}). Are they swapped?`,
    );
  }

  function unusable(reason: string): CertificateRead {
    return { kind: 'unusable', reason, fingerprint };
  }
}

type PemFile =
  { readonly kind: 'text'; readonly text: string } | { readonly kind: 'unreadable'; readonly reason: string };

function readPem(path: string): PemFile {
  try {
    return { kind: 'text', text: readFileSync(path, 'utf8') };
  } catch (error) {
    return { kind: 'unreadable', reason: (error as Error).message };
  }
}

function digest(texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text.length}\n${text}`);
  return hash.digest('hex');
}

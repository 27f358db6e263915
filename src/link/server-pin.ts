// Fingerprints by which a caller knows its servers without an authority: of the public key, which stays the same when a certificate is
// renewed for the same key, or of the certificate itself. It compares and words; it never opens a connection.
import { hash, type X509Certificate } from 'node:crypto';
import { LinkDown } from './call.ts';

/** `sha256:` and 64 hexadecimal digits in lower case. */
export type Fingerprint = `sha256:${string}`;

/** With or without colons between the bytes, as OpenSSL writes them; undefined when it is no fingerprint. */
export function parseFingerprint(text: string): Fingerprint | undefined {
  const digits = /^sha256:([0-9a-f]{64}|[0-9a-f]{2}(?::[0-9a-f]{2}){31})$/i.exec(text.trim())?.[1];
  return digits === undefined ? undefined : `sha256:${digits.replaceAll(':', '').toLowerCase()}`;
}

export interface ServerFingerprints {
  /** Of the public key (SPKI, in DER form). */
  readonly publicKey: Fingerprint;
  readonly certificate: Fingerprint;
}

export function fingerprintsOf(certificate: X509Certificate): ServerFingerprints {
  const spki = certificate.publicKey.export({ type: 'spki', format: 'der' });
  return { publicKey: fingerprintOf(spki), certificate: fingerprintOf(certificate.raw) };
}

function fingerprintOf(bytes: Uint8Array): Fingerprint {
  return `sha256:${hash('sha256', bytes, 'hex')}`;
}

/** The server shows a certificate that the agent does not expect. Nothing was sent to it. */
export class PinMismatch extends LinkDown {}

/** Undefined when the certificate is one of those that were pinned. */
export function findPinMismatch(
  shown: X509Certificate | undefined,
  pins: readonly Fingerprint[],
  server: string,
): PinMismatch | undefined {
  if (shown === undefined) return new PinMismatch(`${server} shows no certificate, and this agent knows it by one.`);
  const { publicKey, certificate } = fingerprintsOf(shown);
  if (pins.includes(publicKey) || pins.includes(certificate)) return undefined;
  return new PinMismatch(
    `${server} shows another certificate than this agent expects: the fingerprint of its public key is ${publicKey}. Compare that with the log of the server or "muster keys show --tls-cert". If it is the same, start the agent with --server-fingerprint ${publicKey}; if not, somebody answers in the server's place.`,
  );
}

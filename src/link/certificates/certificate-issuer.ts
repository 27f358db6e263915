// Issues certificates to agents and managers. The credential of the request decides whom one is for, never its contents. Nothing is stored: a lost
// certificate is requested again.
import { X509Certificate } from 'node:crypto';
import type { Refusal } from '../../fleet/index.ts';
import type { Clock } from '../../journal/index.ts';
import {
  certifySubject,
  CLIENT_CERTIFICATE_MS,
  verifyCertificateRequest,
  validityOf,
  type CertificateAuthority,
  type CertificateSubject,
} from './client-certificate.ts';
import { MalformedDer } from './der.ts';
import type { IssuedCertificate } from './certificate-messages.ts';

export interface IssuingKeys {
  readonly serial: number;
  readonly authority: CertificateAuthority;
  /** All certificates in force in PEM, the current one first. */
  readonly authorities: readonly string[];
}

/** A public key whose owner has proven possession of the private key. */
export interface ProvenKey {
  readonly spki: Buffer;
}

export class CertificateIssuer {
  readonly #keys: () => IssuingKeys;
  readonly #clock: Clock;

  /** The keys are looked up every time: they are rotated while servers run. */
  constructor(keys: () => IssuingKeys, clock: Clock) {
    this.#keys = keys;
    this.#clock = clock;
  }

  /** Of the keys that certificates are issued with: it grows with every rotation. */
  get serial(): number {
    return this.#keys().serial;
  }

  verifyRequest(request: string): ProvenKey | Refusal {
    try {
      return { spki: verifyCertificateRequest(request) };
    } catch (error) {
      if (!(error instanceof MalformedDer)) throw error;
      return {
        kind: 'invalid',
        code: 'malformed-certificate-request',
        message: `The certificate request cannot be signed: ${error.message}. Send PKCS #10 in PEM form, for a P-256 or Ed25519 key and signed with it.`,
        field: '/certificateRequest',
      };
    }
  }

  issue({ spki }: ProvenKey, subject: CertificateSubject): IssuedCertificate {
    const { serial, authority, authorities } = this.#keys();
    const nowMs = this.#clock.nowMs();
    const { toMs } = validityOf(new X509Certificate(authority.certificate));
    const certificate = certifySubject(spki, authority, {
      subject,
      nowMs,
      toMs: Math.min(nowMs + CLIENT_CERTIFICATE_MS, toMs),
    });
    return { certificate, authorities: [...authorities], serial };
  }
}

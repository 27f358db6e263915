// Whether an agent or a manager is served over a connection with this client certificate. The certificate is required beside the credential and never
// instead of it: one without the other is refused.
import type { X509Certificate } from 'node:crypto';
import type { Refusal } from '../../fleet/index.ts';
import { CERTIFICATE_REFUSALS } from './certificate-refusals.ts';
import {
  CLIENT_CERTIFICATE_MS,
  isValidAt,
  readClientCertificate,
  type CertificateSubject,
  type ClientCertificate,
} from './client-certificate.ts';

/** `optional`: a presented certificate has to be valid, none is accepted. */
export type CertificatePolicy = 'optional' | 'required';

export interface CertificatePeer {
  /** The host or the manager of the credential. */
  readonly name: string;
  readonly shown: X509Certificate | undefined;
  /** The request is for a certificate. */
  readonly isRenewal: boolean;
}

/** Those who were served: with a certificate, with one that is due for renewal, and without. */
export type CertificateState = 'valid' | 'renewal-overdue' | 'none';

/** The certificate state of one that was served. */
export interface CertificateStatus {
  readonly state: CertificateState;
  /** Absent where none was presented. */
  readonly expiresAtMs?: number;
}

/** Certificates are renewed when a third of the lifetime is left. */
const OVERDUE_MS = CLIENT_CERTIFICATE_MS / 4;

/** For credentials of one kind: a certificate of another kind is another's, whatever its name. */
export class CertificateCheck {
  readonly #kind: CertificateSubject['kind'];
  readonly #policy: CertificatePolicy;
  readonly #authorities: () => readonly X509Certificate[];
  /** Signatures are checked once per connection; the authority must still be in force each time. */
  readonly #read = new WeakMap<X509Certificate, ClientCertificate>();

  /** When the last certificate of each name expires; 0 for none. */
  readonly #expiries = new Map<string, number>();

  constructor(
    kind: CertificateSubject['kind'],
    policy: CertificatePolicy,
    authorities: () => readonly X509Certificate[],
  ) {
    this.#kind = kind;
    this.#policy = policy;
    this.#authorities = authorities;
  }

  check({ name, shown, isRenewal }: CertificatePeer, nowMs: number): Refusal | undefined {
    const wanted: CertificateSubject = { kind: this.#kind, name };
    const isRequired = this.#policy === 'required';
    // Whoever has a credential may request a certificate; where they are required, only with the key of one that it had.
    if (isRenewal && !isRequired) return undefined;
    if (shown === undefined) {
      if (isRequired) return refuseMissing(wanted);
      this.#expiries.set(name, 0);
      return undefined;
    }
    const certificate = this.#inspect(shown);
    if (certificate === undefined) return refuseUnknown(wanted);
    const { subject } = certificate;
    if (subject.kind !== wanted.kind || subject.name !== name) return refuseOther(wanted, subject);
    if (isRenewal) return undefined;
    if (!isValidAt(certificate, nowMs)) return refuseExpired(certificate);
    this.#expiries.set(name, certificate.toMs);
    return undefined;
  }

  /** How many are in each state, among the given names. Others are forgotten. */
  count(counts: (name: string) => boolean, nowMs: number): ReadonlyMap<CertificateState, number> {
    const found = new Map<CertificateState, number>([
      ['valid', 0],
      ['renewal-overdue', 0],
      ['none', 0],
    ]);
    for (const [name, toMs] of this.#expiries) {
      if (!counts(name)) this.#expiries.delete(name);
      else {
        const { state } = statusAt(toMs, nowMs);
        found.set(state, (found.get(state) ?? 0) + 1);
      }
    }
    return found;
  }

  /** Undefined for one that was not served here. */
  statusOf(name: string, nowMs: number): CertificateStatus | undefined {
    const toMs = this.#expiries.get(name);
    return toMs === undefined ? undefined : statusAt(toMs, nowMs);
  }

  #inspect(shown: X509Certificate): ClientCertificate | undefined {
    const authorities = this.#authorities();
    const known = this.#read.get(shown);
    if (known !== undefined && authorities.includes(known.authority)) return known;
    const read = readClientCertificate(shown, authorities);
    if (read !== undefined) this.#read.set(shown, read);
    return read;
  }
}

function statusAt(toMs: number, nowMs: number): CertificateStatus {
  if (toMs === 0) return { state: 'none' };
  return { state: toMs - nowMs < OVERDUE_MS ? 'renewal-overdue' : 'valid', expiresAtMs: toMs };
}

const JOIN_TOKEN_COMMANDS = { host: 'muster hosts join-token', manager: 'muster baremetal managers join-token' };

function joinTokenCommand({ kind, name }: CertificateSubject): string {
  return `${JOIN_TOKEN_COMMANDS[kind]} ${name}`;
}

function programOf({ kind, name }: CertificateSubject): string {
  return kind === 'host' ? `agent of host "${name}"` : `manager "${name}"`;
}

function refuseMissing(wanted: CertificateSubject): Refusal {
  return refusal(
    CERTIFICATE_REFUSALS.required,
    `The ${programOf(wanted)} presented no certificate, and this control plane requires one. Join it again over HTTPS with a new join token: ${joinTokenCommand(wanted)}`,
    wanted,
  );
}

function refuseUnknown(wanted: CertificateSubject): Refusal {
  return refusal(
    CERTIFICATE_REFUSALS.unknown,
    `The certificate of the ${programOf(wanted)} was not issued by an authority of this control plane that is in force. It requests a new one by itself; if that is refused, too, join it again: ${joinTokenCommand(wanted)}`,
    wanted,
  );
}

function refuseOther(wanted: CertificateSubject, named: CertificateSubject): Refusal {
  const code = wanted.kind === 'host' ? CERTIFICATE_REFUSALS.otherHost : CERTIFICATE_REFUSALS.otherManager;
  return refusal(
    code,
    `The certificate is for ${named.kind} "${named.name}", and the credential is for ${wanted.kind} "${wanted.name}": the state folder of one was copied to the other. Give each a folder of its own, and join one of them again: ${joinTokenCommand(wanted)}`,
    wanted,
  );
}

function refuseExpired({ subject, fromMs, toMs }: ClientCertificate): Refusal {
  const [from, to] = [fromMs, toMs].map((atMs) => new Date(atMs).toISOString());
  return refusal(
    CERTIFICATE_REFUSALS.expired,
    `The certificate of ${subject.kind} "${subject.name}" is valid from ${from} to ${to}, and not now. It is renewed by its program; if not, compare the clocks.`,
    subject,
  );
}

function refusal(code: string, message: string, { kind, name }: CertificateSubject): Refusal {
  return { kind: 'forbidden', code, message, facts: { [kind]: name } };
}

// Whether an agent is served over a connection with this client certificate. The certificate is required beside the credential and never
// instead of it: one without the other is refused.
import type { X509Certificate } from 'node:crypto';
import type { Refusal } from '../../fleet/index.ts';
import {
  AGENT_CERTIFICATE_MS,
  isValidAt,
  readAgentCertificate,
  type AgentCertificate,
} from '../protocol/agent-certificate.ts';
import { CERTIFICATE_REFUSALS } from '../protocol/certificate-refusals.ts';

/** `optional`: a presented certificate has to be valid, none is accepted. */
export type CertificatePolicy = 'optional' | 'required';

export interface AgentPeer {
  /** The host of the credential. */
  readonly host: string;
  readonly shown: X509Certificate | undefined;
  /** The request is for a certificate. */
  readonly isRenewal: boolean;
}

/** The served agents: with a certificate, with one that is due for renewal, and without. */
export type CertificateState = 'valid' | 'renewal-overdue' | 'none';

/** The certificate state of a served agent. */
export interface CertificateStatus {
  readonly state: CertificateState;
  /** Absent where none was presented. */
  readonly expiresAtMs?: number;
}

/** Agents renew when a third of the lifetime is left. */
const OVERDUE_MS = AGENT_CERTIFICATE_MS / 4;

export class CertificateCheck {
  readonly #policy: CertificatePolicy;
  readonly #authorities: () => readonly X509Certificate[];
  /** Signatures are checked once per connection; the authority must still be in force each time. */
  readonly #read = new WeakMap<X509Certificate, AgentCertificate>();

  /** When the last certificate of a host's agent expires; 0 for none. */
  readonly #expiries = new Map<string, number>();

  constructor(policy: CertificatePolicy, authorities: () => readonly X509Certificate[]) {
    this.#policy = policy;
    this.#authorities = authorities;
  }

  check({ host, shown, isRenewal }: AgentPeer, nowMs: number): Refusal | undefined {
    const isRequired = this.#policy === 'required';
    // Any agent may request a certificate; where certificates are required, only with the key of one that it had.
    if (isRenewal && !isRequired) return undefined;
    if (shown === undefined) {
      if (isRequired) return refuseMissing(host);
      this.#expiries.set(host, 0);
      return undefined;
    }
    const certificate = this.#inspect(shown);
    if (certificate === undefined) return refuseUnknown(host);
    if (certificate.host !== host) return refuseOtherHost(host, certificate.host);
    if (isRenewal) return undefined;
    if (!isValidAt(certificate, nowMs)) return refuseExpired(certificate);
    this.#expiries.set(host, certificate.toMs);
    return undefined;
  }

  /** How many agents are in each state, among the given hosts. Others are forgotten. */
  count(counts: (host: string) => boolean, nowMs: number): ReadonlyMap<CertificateState, number> {
    const found = new Map<CertificateState, number>([
      ['valid', 0],
      ['renewal-overdue', 0],
      ['none', 0],
    ]);
    for (const [host, toMs] of this.#expiries) {
      if (!counts(host)) this.#expiries.delete(host);
      else {
        const { state } = statusAt(toMs, nowMs);
        found.set(state, (found.get(state) ?? 0) + 1);
      }
    }
    return found;
  }

  /** Undefined for an agent that was not served here. */
  statusOf(host: string, nowMs: number): CertificateStatus | undefined {
    const toMs = this.#expiries.get(host);
    return toMs === undefined ? undefined : statusAt(toMs, nowMs);
  }

  #inspect(shown: X509Certificate): AgentCertificate | undefined {
    const authorities = this.#authorities();
    const known = this.#read.get(shown);
    if (known !== undefined && authorities.includes(known.authority)) return known;
    const read = readAgentCertificate(shown, authorities);
    if (read !== undefined) this.#read.set(shown, read);
    return read;
  }
}

function statusAt(toMs: number, nowMs: number): CertificateStatus {
  if (toMs === 0) return { state: 'none' };
  return { state: toMs - nowMs < OVERDUE_MS ? 'renewal-overdue' : 'valid', expiresAtMs: toMs };
}

function refuseMissing(host: string): Refusal {
  return refusal(
    CERTIFICATE_REFUSALS.required,
    `The agent of host "${host}" presented no certificate, and this control plane requires one. Join it again over HTTPS with a new join token: muster hosts join-token ${host}`,
    host,
  );
}

function refuseUnknown(host: string): Refusal {
  return refusal(
    CERTIFICATE_REFUSALS.unknown,
    `The certificate of the agent of host "${host}" was not issued by an authority of this control plane that is in force. The agent requests a new one by itself; if that is refused, too, join it again: muster hosts join-token ${host}`,
    host,
  );
}

function refuseOtherHost(host: string, named: string): Refusal {
  return refusal(
    CERTIFICATE_REFUSALS.otherHost,
    `The certificate is for host "${named}", and the credential is for host "${host}": the state folder of one was copied to the other. Give each agent a folder of its own, and join one of them again: muster hosts join-token ${host}`,
    host,
  );
}

function refuseExpired({ host, fromMs, toMs }: AgentCertificate): Refusal {
  const [from, to] = [fromMs, toMs].map((atMs) => new Date(atMs).toISOString());
  return refusal(
    CERTIFICATE_REFUSALS.expired,
    `The certificate of host "${host}" is valid from ${from} to ${to}, and not now. The agent renews it by itself; if it does not, compare the clocks.`,
    host,
  );
}

function refusal(code: string, message: string, host: string): Refusal {
  return { kind: 'forbidden', code, message, facts: { host } };
}

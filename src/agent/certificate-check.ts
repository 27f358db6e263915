// Whether an agent is served over a connection that shows this certificate. The certificate is asked for beside the credential and
// never instead of it: whoever has only one of the two gets nowhere.
import type { X509Certificate } from 'node:crypto';
import type { Refusal } from '../fleet/index.ts';
import { isValidAt, readAgentCertificate, type AgentCertificate } from './agent-certificate.ts';
import { CERTIFICATE_REFUSALS } from './certificate-refusals.ts';

/** `optional`: one that is shown has to fit, none is fine. */
export type CertificatePolicy = 'optional' | 'required';

export interface Peer {
  /** Whose credential was shown. */
  readonly host: string;
  readonly shown: X509Certificate | undefined;
  /** It asks for a certificate. */
  readonly isRenewal: boolean;
}

export class CertificateCheck {
  readonly #policy: CertificatePolicy;
  readonly #authorities: () => readonly X509Certificate[];
  /** Signatures are checked once for each connection; the authority still has to be in force. */
  readonly #read = new WeakMap<X509Certificate, AgentCertificate>();

  constructor(policy: CertificatePolicy, authorities: () => readonly X509Certificate[]) {
    this.#policy = policy;
    this.#authorities = authorities;
  }

  check({ host, shown, isRenewal }: Peer, nowMs: number): Refusal | undefined {
    const isRequired = this.#policy === 'required';
    // Whatever an agent shows, it may ask for something better; where certificates are required, with the key of one that it had.
    if (isRenewal && !isRequired) return undefined;
    if (shown === undefined) return isRequired ? missing(host) : undefined;
    const certificate = this.#inspect(shown);
    if (certificate === undefined) return unknown(host);
    if (certificate.host !== host) return otherHost(host, certificate.host);
    return isRenewal || isValidAt(certificate, nowMs) ? undefined : expired(certificate);
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

function missing(host: string): Refusal {
  return refusal(
    CERTIFICATE_REFUSALS.required,
    `The agent of host "${host}" shows no certificate, and this control plane requires one. Join it again over HTTPS with a new join token: muster hosts join-token ${host}`,
    host,
  );
}

function unknown(host: string): Refusal {
  return refusal(
    CERTIFICATE_REFUSALS.unknown,
    `The certificate that the agent of host "${host}" shows was not issued by an authority of this control plane that is in force. The agent asks for a new one by itself; if that is refused, too, join it again: muster hosts join-token ${host}`,
    host,
  );
}

function otherHost(host: string, named: string): Refusal {
  return refusal(
    CERTIFICATE_REFUSALS.otherHost,
    `The certificate is of host "${named}", and the credential is of host "${host}".`,
    host,
  );
}

function expired({ host, fromMs, toMs }: AgentCertificate): Refusal {
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

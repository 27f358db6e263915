// What a server does about certificates of agents: issues them and checks those that are shown, as its operator wants it.
import { CertificateCheck, CertificateIssuer } from '../agent/runtime.ts';
import type { ServerOptions } from '../api/runtime.ts';
import type { Clock } from '../journal/index.ts';
import type { KeyRing } from './key-ring.ts';

/** `optional`: a certificate that is shown has to fit, none is fine. `required`: agents without one are refused. */
export type AgentCertificates = 'off' | 'optional' | 'required';

interface Handling {
  readonly issuer?: CertificateIssuer;
  readonly check?: NonNullable<ServerOptions['checkPeer']>;
  readonly clients?: NonNullable<NonNullable<ServerOptions['tls']>['clients']>;
}

/** Undefined is for a server without TLS: there is nothing that a certificate could be shown over. */
export function agentCertificatesOf(wanted: AgentCertificates | undefined, keys: KeyRing, clock: Clock): Handling {
  if (wanted === undefined || wanted === 'off') return {};
  const check = new CertificateCheck(wanted, () => keys.authorities());
  return {
    issuer: new CertificateIssuer(() => keys.issuing(), clock),
    check: (peer, nowMs) => check.check(peer, nowMs),
    // All authorities of Muster have the same name, so it stays right when they are rotated.
    clients: { authority: keys.issuing().authority.certificate },
  };
}

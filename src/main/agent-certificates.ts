// What a server does about certificates of agents: issues them and checks presented ones, as its operator configured.
import { Gauge, type Registry } from 'prom-client';
import { CertificateCheck, CertificateIssuer, type CertificateStatusOf } from '../agent/runtime.ts';
import type { ServerOptions } from '../api/runtime.ts';
import { findHost } from '../hosts/index.ts';
import type { Clock, Journal } from '../journal/index.ts';
import type { KeyRing } from './key-ring.ts';

/** `optional`: a presented certificate has to be valid, none is accepted. `required`: agents without one are refused. */
export type AgentCertificatePolicy = 'off' | 'optional' | 'required';

interface AgentCertificateHandling {
  readonly issuer?: CertificateIssuer;
  readonly check?: NonNullable<ServerOptions['checkPeer']>;
  readonly certificateStatusOf?: CertificateStatusOf;
  readonly clients?: NonNullable<NonNullable<ServerOptions['tls']>['clients']>;
}

export interface AgentCertificateParts {
  readonly keys: KeyRing;
  readonly journal: Journal;
  readonly registry: Registry;
}

/** Undefined for a server without TLS: no certificate can be presented there. */
export function setUpAgentCertificates(
  wanted: AgentCertificatePolicy | undefined,
  { keys, clock, journal, registry }: AgentCertificateParts & { readonly clock: Clock },
): AgentCertificateHandling {
  if (wanted === undefined || wanted === 'off') return {};
  const check = new CertificateCheck(wanted, () => keys.authorities());
  registry.registerMetric(countStates(check, journal, clock));
  return {
    issuer: new CertificateIssuer(() => keys.issuingKeys(), clock),
    check: (peer, nowMs) => check.check(peer, nowMs),
    certificateStatusOf: (host, nowMs) => check.statusOf(host, nowMs),
    // All authorities of Muster have the same name, so it stays correct when they are rotated.
    clients: { authority: keys.issuingKeys().authority.certificate },
  };
}

function countStates(check: CertificateCheck, journal: Journal, clock: Clock): Gauge {
  const isInFleet = (host: string): boolean => {
    const state = findHost(journal.fleet, host)?.doc.state;
    return journal.fence !== undefined && state !== undefined && state !== 'removed';
  };
  return new Gauge({
    name: 'muster_agent_certificates',
    help: 'Agents that this server has served since it holds the lease, by the certificate that they presented last',
    labelNames: ['state'],
    registers: [],
    collect(): void {
      for (const [state, agents] of check.count(isInFleet, clock.nowMs())) this.set({ state }, agents);
    },
  });
}

// What a server does about certificates of agents and managers: issues them and checks presented ones, as its operator configured.
import { Gauge, type Registry } from 'prom-client';
import type { CertificateStatusOf } from '../agent/runtime.ts';
import type { ServerOptions } from '../api/runtime.ts';
import { MANAGER } from '../baremetal/index.ts';
import { idOf } from '../fleet/index.ts';
import { findHost } from '../hosts/index.ts';
import type { Clock, Journal } from '../journal/index.ts';
import { CertificateCheck, CertificateIssuer, type CertificateSubject } from '../link/index.ts';
import type { KeyRing } from './key-ring.ts';
import { createPeerProofs } from './signed-peer-proofs.ts';

/** `optional`: a presented certificate has to be valid, none is accepted. `required`: those without one are refused. */
export type ClientCertificatePolicy = 'off' | 'optional' | 'required';

/** Absent for a server without TLS: no certificate can be presented there. */
export interface ClientCertificatePolicies {
  readonly agents?: ClientCertificatePolicy | undefined;
  readonly managers?: ClientCertificatePolicy | undefined;
}

/** Everything is absent for those of whom no certificate is looked at. */
export interface ClientCertificates {
  readonly issuer?: CertificateIssuer;
  readonly managerIssuer?: CertificateIssuer;
  readonly certificateStatusOf?: CertificateStatusOf;
  readonly server: Pick<ServerOptions, 'checkPeer' | 'peerProofs'>;
  readonly clients?: NonNullable<NonNullable<ServerOptions['tls']>['clients']>;
}

interface ClientCertificateParts {
  readonly keys: KeyRing;
  readonly journal: Journal;
  readonly registry: Registry;
  readonly clock: Clock;
}

export function setUpClientCertificates(
  { agents = 'off', managers = 'off' }: ClientCertificatePolicies,
  { keys, clock, journal, registry }: ClientCertificateParts,
): ClientCertificates {
  if (agents === 'off' && managers === 'off') return { server: {} };
  const issuer = new CertificateIssuer(() => keys.issuingKeys(), clock);
  const checks: { [K in CertificateSubject['kind']]?: CertificateCheck } = {
    ...(agents !== 'off' && { host: new CertificateCheck('host', agents, () => keys.authorities()) }),
    ...(managers !== 'off' && { manager: new CertificateCheck('manager', managers, () => keys.authorities()) }),
  };
  const { host, manager } = checks;
  if (host !== undefined) registry.registerMetric(countStates(host, { ...AGENTS, counts: isAgent(journal), clock }));
  if (manager !== undefined)
    registry.registerMetric(countStates(manager, { ...MANAGERS, counts: isManager(journal), clock }));
  return {
    ...(host !== undefined && { issuer, certificateStatusOf: (name, nowMs) => host.statusOf(name, nowMs) }),
    ...(manager !== undefined && { managerIssuer: issuer }),
    server: {
      checkPeer: ({ subject: { kind, name }, ...peer }, nowMs) => checks[kind]?.check({ name, ...peer }, nowMs),
      peerProofs: createPeerProofs(journal, keys),
    },
    // All authorities of Muster have the same name, so it stays correct when they are rotated.
    clients: { authority: keys.issuingKeys().authority.certificate },
  };
}

const isAgent =
  (journal: Journal) =>
  (host: string): boolean => {
    const state = findHost(journal.fleet, host)?.doc.state;
    return journal.fence !== undefined && state !== undefined && state !== 'removed';
  };

const isManager =
  (journal: Journal) =>
  (name: string): boolean =>
    journal.fleet.get(MANAGER, idOf(MANAGER, name)) !== undefined;

interface Counted {
  readonly name: string;
  readonly help: string;
  readonly counts: (name: string) => boolean;
  readonly clock: Clock;
}

const AGENTS = {
  name: 'muster_agent_certificates',
  help: 'Agents that this server has served since it holds the lease, by the certificate that they presented last',
};
const MANAGERS = {
  name: 'muster_manager_certificates',
  help: 'Managers of bare-metal nodes that this server has served, by the certificate that they presented last',
};

function countStates(check: CertificateCheck, { name, help, counts, clock }: Counted): Gauge {
  return new Gauge({
    ...{ name, help, labelNames: ['state'], registers: [] },
    collect(): void {
      for (const [state, number] of check.count(counts, clock.nowMs())) this.set({ state }, number);
    },
  });
}

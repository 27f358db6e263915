// Everything that the server's end of the link to agents brings to the program.
import { provide, provideController, serviceKey, type Module } from '../composition/index.ts';
import { BFD_REPORTS, bfdDetectorOf } from '../election/index.ts';
import { LIVENESS_CONTROLLER, REMOVED_REPORTS, SHARED_CREDENTIALS, VIEW_PARTS } from '../hosts/index.ts';
import type { CertificateIssuer } from '../link/index.ts';
import { LEASE_CONTROLLER } from '../operations/module.ts';
import { agentSentences } from './server/sentences.ts';
import { certificateRoutes, type CertificateStatusOf } from './server/certificate-routes.ts';
import { dataplaneRoutes } from './server/dataplane-routes.ts';
import { AgentGateway } from './server/agent-gateway.ts';
import type { AgentGatewayOptions } from './server/gateway-options.ts';
import { agentRoutes } from './server/routes.ts';
import { ViewsDriver } from './server/views-driver.ts';

export const AGENT_GATEWAY = serviceKey<AgentGateway>('agent-gateway');

/** Called for every heartbeat; liveness itself unless a server sets a listener of its own. */
export const HEARTBEAT_LISTENER = serviceKey<AgentGatewayOptions['liveness']>('heartbeat-listener');

/** What the gateway needs of the server that it is in. */
export const GATEWAY_OPTIONS =
  serviceKey<Pick<AgentGatewayOptions, 'hash' | 'statements' | 'intervalMs'>>('gateway-options');

/** Absent where agents get no certificates. */
export interface AgentCertificateServices {
  readonly issuer?: CertificateIssuer | undefined;
  readonly certificateStatusOf?: CertificateStatusOf | undefined;
}

export const AGENT_CERTIFICATES = serviceKey<AgentCertificateServices>('agent-certificates');

export const agentModule: Module = {
  name: 'agent',
  reasonCodes: ['hosts-behind', 'service-not-ready', 'switch-identity-shared', 'target-bfd-down'],
  sentences: [agentSentences],
  requires: [GATEWAY_OPTIONS, LEASE_CONTROLLER, LIVENESS_CONTROLLER],
  services: [
    provide(HEARTBEAT_LISTENER, (runtime) => runtime.get(LIVENESS_CONTROLLER)),
    provideController(AGENT_GATEWAY, (runtime) => {
      const { environment, composition } = runtime;
      return new AgentGateway({
        ...environment,
        ...runtime.get(GATEWAY_OPTIONS),
        holder: () => runtime.get(LEASE_CONTROLLER).holder(),
        source: { parts: composition.all(VIEW_PARTS), kinds: composition.operationKinds },
        liveness: runtime.get(HEARTBEAT_LISTENER),
      });
    }),
    provide(BFD_REPORTS, (runtime) => runtime.get(AGENT_GATEWAY).reports),
    provide(SHARED_CREDENTIALS, (runtime) => () => runtime.get(AGENT_GATEWAY).shared.hosts()),
    provide(REMOVED_REPORTS, (runtime) => runtime.get(AGENT_GATEWAY).removedReportMs),
  ],
  drivers: (runtime) => ({
    views: new ViewsDriver({
      ...runtime.environment,
      gateway: runtime.get(AGENT_GATEWAY),
      isBfdDownByMajority: bfdDetectorOf(runtime.environment.journal.fleet, runtime.get(BFD_REPORTS))
        .isBfdDownByMajority,
    }),
  }),
  routes: (runtime) => {
    const { issuer, certificateStatusOf } = runtime.find(AGENT_CERTIFICATES) ?? {};
    return [
      ...agentRoutes(runtime.get(AGENT_GATEWAY), issuer),
      ...dataplaneRoutes(runtime.composition.all(VIEW_PARTS)),
      ...certificateRoutes(certificateStatusOf),
    ];
  },
};

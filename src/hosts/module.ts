// The Module value of hosts: everything that it contributes to the program.
import {
  contribute,
  hideKind,
  provideController,
  ROUTE_TRANSFORMS,
  type DocumentMetric,
  type Module,
} from '../composition/index.ts';
import { noProject } from '../access/index.ts';
import { TOKEN_HOST_KIND } from '../access/module.ts';
import { SITE_USES } from '../sites/index.ts';
import { addressSentences } from './address-alarms.ts';
import { acceptAnyHostId } from './host-id-resolution.ts';
import { CONDITIONS } from './conditions.ts';
import {
  evacuatorsOf,
  REBALANCE,
  REMOVAL_IMPACT,
  TUNNEL_PEERS,
  UNREADY_SERVICES,
  VIEW_PARTS,
} from './extension-points.ts';
import { HostAlarmsController } from './host-alarms-controller.ts';
import { siteOfHost } from './find-host.ts';
import { HOST_REPRESENTATION } from './host-representation.ts';
import { hostJoin, joinSentences } from './join/join.ts';
import { LivenessController } from './liveness/controller.ts';
import { livenessSentences } from './liveness/plan.ts';
import { LIVENESS } from './liveness/liveness.ts';
import { hostsModel } from './fleet-model.ts';
import { HOST, hostsOfSite, type Host } from './model.ts';
import { peerCleanUpKind, PENDING_CLEAN_UP } from './scale-in/pending-clean-up.ts';
import { conditionSentences } from './record-conditions.ts';
import { sharedCredentialSentences } from './shared-credential-alarms.ts';
import { removedReportSentences } from './removed-reports.ts';
import { HOST_REASON_CODES } from './reason-codes.ts';
import { hostRoutes } from './routes.ts';
import { ScaleInController } from './scale-in/controller.ts';
import { scaleInEndKind } from './scale-in/end.ts';
import { scaleInModel } from './scale-in/invariants.ts';
import { scaleInKind } from './scale-in/operation.ts';
import { scaleInRecoverKind } from './scale-in/recover.ts';
import { scaleInRoutes } from './scale-in/routes.ts';
import { scaleInSentences } from './scale-in/sentences.ts';
import { SCALE_IN } from './scale-in/settings.ts';
import { scaleOutKind, scaleOutSentences } from './join/scale-out.ts';
import { LIVENESS_CONTROLLER, LIVENESS_TIMING, REMOVED_REPORTS, SHARED_CREDENTIALS } from './service-keys.ts';
import { straysSentences } from './strays.ts';
import { selfPart } from './view.ts';
import { viewsSentences } from './convergence.ts';

const HOSTS_METRIC: DocumentMetric<Host> = {
  name: 'muster_hosts',
  help: 'Hosts by state and connection',
  kind: HOST,
  labels: ['state', 'connection'],
  labelsOf: (doc) => [doc.state, doc.connection.state],
};

export const hostsModule: Module = {
  name: 'hosts',
  models: (composition) => [hostsModel, scaleInModel(evacuatorsOf(composition))],
  settings: [CONDITIONS, LIVENESS, SCALE_IN],
  operationKinds: (composition) => {
    const evacuators = evacuatorsOf(composition);
    return [
      hostJoin,
      scaleOutKind(composition.one(REBALANCE)),
      scaleInKind(evacuators),
      scaleInEndKind({ evacuators, peersOf: composition.one(TUNNEL_PEERS) }),
      scaleInRecoverKind(evacuators),
      peerCleanUpKind,
    ];
  },
  contributions: [
    contribute(VIEW_PARTS, selfPart),
    contribute(SITE_USES, hostsOfSite),
    contribute(TOKEN_HOST_KIND, HOST),
    contribute(ROUTE_TRANSFORMS, acceptAnyHostId),
  ],
  reasonCodes: HOST_REASON_CODES,
  sentences: [
    joinSentences,
    conditionSentences,
    straysSentences,
    livenessSentences,
    addressSentences,
    removedReportSentences,
    sharedCredentialSentences,
    scaleInSentences,
    scaleOutSentences,
    viewsSentences,
  ],
  representations: () => [HOST_REPRESENTATION],
  hiddenKinds: [
    hideKind(PENDING_CLEAN_UP, { siteOf: (doc, fleet) => siteOfHost(fleet, doc.peer), projectOf: noProject }),
  ],
  metrics: [HOSTS_METRIC],
  requires: [REMOVED_REPORTS, SHARED_CREDENTIALS],
  services: [
    provideController(
      LIVENESS_CONTROLLER,
      (runtime) => new LivenessController({ ...runtime.environment, ...runtime.find(LIVENESS_TIMING) }),
    ),
  ],
  controllers: (runtime) => [
    new ScaleInController({ ...runtime.environment, evacuators: evacuatorsOf(runtime.composition) }),
    new HostAlarmsController({
      ...runtime.environment,
      lastReportMs: runtime.get(REMOVED_REPORTS),
      sharedCredentials: runtime.get(SHARED_CREDENTIALS),
    }),
  ],
  routes: ({ composition }) => {
    const { explain } = composition;
    return [
      ...hostRoutes({ findUnreadyServices: composition.one(UNREADY_SERVICES) }),
      ...scaleInRoutes({
        evacuators: evacuatorsOf(composition),
        touchedBy: composition.one(REMOVAL_IMPACT),
        explain,
        scopes: composition,
      }),
    ];
  },
};

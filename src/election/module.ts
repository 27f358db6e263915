// The Module value of elections: everything that they contribute to the program.
import { contribute, provideController, type DocumentMetric, type Module } from '../composition/index.ts';
import { EVACUATORS, LIVENESS_CONTROLLER, REBALANCE, UNREADY_SERVICES, type Rebalance } from '../hosts/index.ts';
import { ElectionController } from './controller.ts';
import { electionModel } from './election-model.ts';
import { designationEvacuator } from './evacuator.ts';
import { handoverKind } from './handover/operation.ts';
import { bfdDetectorOf } from './bfd-majority.ts';
import { SERVICE, type Service } from './model.ts';
import { ELECTION_REASON_CODES } from './reason-codes.ts';
import { rebalanceServices } from './rebalance.ts';
import { serviceRoutes } from './routes.ts';
import { electionSentences } from './sentences.ts';
import { BFD_REPORTS, ELECTION_CONTROLLER } from './service-keys.ts';
import { ELECTION } from './settings.ts';
import { findUnreadyServices } from './handover/unready-services.ts';
import { SERVICE_REPRESENTATION } from './service-representation.ts';

const rebalance: Rebalance = (fleet, how) => {
  const decision = rebalanceServices(fleet, how);
  return decision.kind === 'refuse' ? decision.refusal : { changes: decision.changes, more: decision.answer.more };
};

const SERVICES_METRIC: DocumentMetric<Service> = {
  name: 'muster_services',
  help: 'Network services by type, and whether a host is designated',
  kind: SERVICE,
  labels: ['type', 'state'],
  labelsOf: (doc) => [doc.type, servingState(doc)],
};

function servingState({ designated, handover }: Service): string {
  if (handover !== undefined) return 'handover';
  if (designated === undefined) return 'not-served';
  return designated.degraded === true ? 'degraded' : 'served';
}

export const electionModule: Module = {
  name: 'election',
  models: () => [electionModel],
  settings: [ELECTION],
  operationKinds: () => [handoverKind],
  contributions: [
    contribute(EVACUATORS, designationEvacuator),
    contribute(REBALANCE, rebalance),
    contribute(UNREADY_SERVICES, findUnreadyServices),
  ],
  reasonCodes: ELECTION_REASON_CODES,
  sentences: [electionSentences],
  representations: () => [SERVICE_REPRESENTATION],
  metrics: [SERVICES_METRIC],
  requires: [BFD_REPORTS, LIVENESS_CONTROLLER],
  services: [
    provideController(ELECTION_CONTROLLER, (runtime) => {
      const { environment } = runtime;
      const reports = runtime.get(BFD_REPORTS);
      const liveness = runtime.get(LIVENESS_CONTROLLER);
      const detector = bfdDetectorOf(environment.journal.fleet, reports);
      const maybePartitioned = (site: string): boolean => liveness.maybePartitioned(site);
      const election = new ElectionController({ ...environment, ...detector, maybePartitioned });
      reports.onBfdChange((host) => election.wakeForHost(host));
      return election;
    }),
  ],
  routes: () => serviceRoutes,
};

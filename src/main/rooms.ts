// Every room that this program is made of, in one place: what it keeps, what it can be set to, the long work it knows, and
// how it explains itself. A new room is added here and nowhere else.
import { accessModel } from '../access/index.ts';
import { alarmsModel, integritySentences } from '../alarms/index.ts';
import { agentSentences } from '../agent/index.ts';
import { heartbeatsPart, mayHaveTunnelsTo, networksPart, peersPart, servicesPart } from '../dataplane/index.ts';
import {
  designationEvacuator,
  ELECTION,
  electionModel,
  electionSentences,
  handOver,
  rebalanceServices,
} from '../election/index.ts';
import { Registry, SETTING, type Model, type Setting } from '../fleet/index.ts';
import {
  addressSentences,
  CONDITIONS,
  conditionSentences,
  hostJoin,
  hostsModel,
  hostsOfSite,
  joinSentences,
  LIVENESS,
  livenessSentences,
  peerCleanUp,
  removedReportSentences,
  SCALE_IN,
  scaleInEndKind,
  scaleInKind,
  scaleInModel,
  scaleInRecoverKind,
  scaleInSentences,
  scaleOutKind,
  scaleOutSentences,
  selfPart,
  straysSentences,
  viewsSentences,
  type Evacuator,
  type Rebalance,
  type ViewPart,
} from '../hosts/index.ts';
import {
  instanceBuild,
  instanceClean,
  instanceDelete,
  instanceEvacuator,
  instanceMove,
  instanceRebuild,
  instanceRelease,
  instanceReplug,
  instanceSentences,
  instanceShelve,
  instancesModel,
  instancesPart,
} from '../instances/index.ts';
import { keySentences, keysModel } from '../keys/index.ts';
import { RETENTION } from '../journal/runtime.ts';
import {
  backEndSentences,
  networkEventsModel,
  networkModel,
  portDelete,
  portEvacuator,
  portEvacuatorSentences,
  portSentences,
} from '../network/index.ts';
import {
  explainer,
  operationSentences,
  operationsModel,
  type Explain,
  type OperationKind,
  type ReasonSentences,
} from '../operations/index.ts';
import { SCHEDULER, schedulerModel } from '../scheduler/index.ts';
import { sitesModel, type SiteUse } from '../sites/index.ts';

const settingsModel: Model = { kinds: [SETTING] };

/** What knows how to bring each kind of tenant off a host. */
export const EVACUATORS: readonly Evacuator[] = [designationEvacuator, instanceEvacuator, portEvacuator];

/** A kind comes before those that hang on it: retention forgets in this order. */
export const MODELS: readonly Model[] = [
  settingsModel,
  sitesModel,
  alarmsModel,
  keysModel,
  accessModel,
  operationsModel,
  hostsModel,
  scaleInModel(EVACUATORS),
  networkModel,
  networkEventsModel,
  electionModel,
  schedulerModel,
  instancesModel,
];

export const SETTINGS: readonly Setting[] = [CONDITIONS, ELECTION, LIVENESS, RETENTION, SCALE_IN, SCHEDULER];

/** How services are spread anew when hosts have come in. */
const rebalance: Rebalance = (fleet, how) => {
  const decision = rebalanceServices(fleet, how);
  return decision.kind === 'refuse' ? decision.refusal : { changes: decision.changes, more: decision.answer.more };
};

export const OPERATION_KINDS: ReadonlyMap<string, OperationKind> = new Map(
  [
    hostJoin,
    scaleOutKind(rebalance),
    scaleInKind(EVACUATORS),
    scaleInEndKind({ evacuators: EVACUATORS, peersOf: mayHaveTunnelsTo }),
    scaleInRecoverKind(EVACUATORS),
    peerCleanUp,
    handOver,
    portDelete,
    instanceBuild,
    instanceDelete,
    instanceClean,
    instanceRelease,
    instanceMove,
    instanceRebuild,
    instanceReplug,
    instanceShelve,
  ].map((kind) => [kind.name, kind]),
);

/** What hosts' agents are shown. */
export const VIEW_PARTS: readonly ViewPart[] = [
  selfPart,
  instancesPart,
  peersPart,
  networksPart,
  servicesPart,
  heartbeatsPart,
];

/** What keeps a site from being deleted. */
export const SITE_USES: readonly SiteUse[] = [hostsOfSite];

/** How every module explains itself. No code is in two of them: the reader would be told the sentence of another case. */
export const SENTENCES: readonly ReasonSentences[] = [
  operationSentences,
  integritySentences,
  joinSentences,
  conditionSentences,
  straysSentences,
  livenessSentences,
  addressSentences,
  removedReportSentences,
  scaleInSentences,
  scaleOutSentences,
  viewsSentences,
  electionSentences,
  backEndSentences,
  portSentences,
  portEvacuatorSentences,
  instanceSentences,
  agentSentences,
  keySentences,
];

export const explain: Explain = explainer(SENTENCES);

export function newRegistry(): Registry {
  return new Registry(MODELS);
}

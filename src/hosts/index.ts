export {
  clearForceDown,
  disableHost,
  enableHost,
  findHost,
  siteOfHost,
  forceDownHost,
  joinHosts,
  removedHost,
  unknownHost,
} from './decide.ts';
export type { HostSpec, StoredHost } from './decide.ts';
export {
  REPORTED_CONDITION,
  CONDITION_MESSAGE_MAX,
  CONDITIONS,
  CONDITIONS_MAX,
  findExclusion,
  isOutOfControl,
  assessCondition,
  NEVER_BAD,
  troubleKey,
} from './conditions.ts';
export type { Condition, ConditionMemory, ReportedCondition } from './conditions.ts';
export { recordStrays, straysKey, summarizeStrays } from './strays.ts';
export { recordConditions } from './record-conditions.ts';
export { hostJoin, JOIN_DEADLINE_MS } from './join/join.ts';
export { acceptAnyHostId, hostFieldsOf } from './host-id-resolution.ts';
export { resolveHost } from './identity.ts';
export { hostsModel } from './fleet-model.ts';
export { LIVENESS } from './liveness/liveness.ts';
export { HOST, HOSTS_BY_IDENTITY, HOSTS_BY_STATE, identityForms, isTombstoned, SWITCH_IDENTITY } from './model.ts';
export type { Host, HostId, SwitchIdentity } from './model.ts';
export { endRemovedReports, removedReportAlarm, removedReportSentences } from './removed-reports.ts';
export { DEFAULT_TRANSPORT_ZONE, transportZoneOf } from './transport-zone.ts';
export { selfPart } from './view.ts';
export { buildPart } from './view.ts';
export type { LargeViewPart, SmallViewPart, ViewPart } from './view.ts';
export {
  CURRENT_SERVICE_VERSION,
  DESIGNATIONS_VERSION,
  EARLY_BIND_VERSION,
  EARLY_CREATE_VERSION,
  CONNTRACK_SYNC_VERSION,
  SERVICE_VERSIONS,
  STANDBY_VERSION,
} from './service-version.ts';
export { beginEvacuation, runInOneStep, planEvacuation, runAllSteps } from './evacuator.ts';
export { planInSlices, type Slices } from './preview/plan-slices.ts';
export { planBatchInSteps } from './preview/batch-plan.ts';
export { EVACUATION_KINDS } from './preview/representation.ts';
export type * from './evacuator.ts';
export type { RemovalImpact, RemovalImpactComputation } from './preview/removal-impact.ts';
export { markUntrustedAfterRebuild } from './scale-in/rebuilt-mark.ts';
export { endInSlices, preparableWrite, startInSlices } from './scale-in/prepare.ts';
export type { PreparableDecision, SlicingContext } from './scale-in/prepare.ts';
export { endScaleIn, recoverHosts, startScaleIn } from './scale-in/decide.ts';
export { answerFromMemo, memoOf } from './scale-in/answer.ts';
export type { HostResult, ScaleInAnswer } from './scale-in/answer.ts';
export { SCALE_IN } from './scale-in/settings.ts';
export { recordOwnCleanUp } from './scale-in/pending-clean-up.ts';
export { scaleInEndKind } from './scale-in/end.ts';
export { scaleInModel } from './scale-in/invariants.ts';
export { isBeingEmptied } from './scale-in/host-items.ts';
export { hostOfDrain } from './scale-in/moves.ts';
export { scaleInKind } from './scale-in/operation.ts';
export { scaleInRecoverKind } from './scale-in/recover.ts';
export { viewsSentences } from './convergence.ts';
export type { Rebalance } from './join/scale-out.ts';
export {
  EVACUATORS,
  evacuatorsOf,
  REBALANCE,
  REMOVAL_IMPACT,
  TUNNEL_PEERS,
  UNREADY_SERVICES,
  VIEW_PARTS,
} from './extension-points.ts';
export { LIVENESS_CONTROLLER, LIVENESS_TIMING, REMOVED_REPORTS, SHARED_CREDENTIALS } from './service-keys.ts';
export { siteToStayIn } from './preview/drains-under-way.ts';

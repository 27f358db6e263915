import { authorisedBeforeCommit } from './access.ts';
import {
  absentTakenForGone,
  bucketsFollowStates,
  epochForgotten,
  epochStays,
  fallbackWidens,
  nodeReservedTwice,
  reservationRepeated,
  unansweredClaimForgotten,
} from './baremetal-documents.ts';
import {
  cleaningSkipped,
  deployRepeated,
  lateCallObeyed,
  offerNotAnnounced,
  epochNotCompared,
  instanceNotCompared,
  lapsedLeaseCounts,
  managerLeaseRevived,
  managerTrustsItsLease,
  rightNotChecked,
  takenOverTooEarly,
} from './baremetal-managers.ts';
import { jumpTrustedAfterReport, retentionBySteadyTime, retentionTrustsJumps } from './clocks.ts';
import {
  acknowledgedBeforeDurable,
  halfAGroup,
  leaseRenewedByAnybody,
  leaseTakenWhileHeld,
  noFenceCheck,
  noHeadCheck,
  seizedUnderTheSameEpoch,
} from './database.ts';
import { controlLossTakenForForwardingLoss, leavesWithoutStrayCheck, switchSaidToObey } from './conditions.ts';
import { drainWaitsForSick, returnIgnored, sickUsesBudget } from './gray-failures.ts';
import { readinessPerHost, targetBoundInPlaceOfSource, unconnectedTakenForMoved } from './compound-faults.ts';
import {
  silentHostTakenForDead,
  claimKeptAfterFault,
  deleteDoesNotWait,
  destroysWhatIsNotInView,
  degradedLeftAlone,
  eventOfEarlierBinding,
  lateBuildKeepsAll,
  placedOutsideTheCommit,
  onlyCopyNotHeld,
  portMadeTwice,
  releaseSkipped,
  replugNeverTried,
  serialNotGrown,
  sweepNotStarted,
  targetNotBoundFirst,
  unbindSkipped,
} from './instances.ts';
import {
  answersBeforeDurable,
  answersTheNextGroup,
  followerSkipsCommit,
  lostAnswerTakenForFailure,
} from './journal.ts';
import {
  activeWithoutHeartbeat,
  agentIdentityLost,
  agentTakesOlderViews,
  ownPauseCountedAsSilence,
  deadlineForgotten,
  gatewayWithoutLease,
  lostPark,
  oldHeartbeatsCountInNewTerm,
} from './running-parts.ts';
import {
  budgetIgnored,
  electionIgnoresTombstones,
  endWithoutEvidence,
  epochNotGrown,
  failuresNotBackedOff,
  oldHostRetiredTooSoon,
  peersNotAwaited,
  quarantineForgotten,
  removedStillInViews,
  switchDriftIgnored,
  switchedToUnready,
  targetNotVerified,
} from './scale-in.ts';
import { deletedInsteadOfSuperseded } from './reasons.ts';
import {
  actsAfterAbort,
  drainsOneByOne,
  forgetsEmptyNode,
  goesOnAfterFailure,
  movesUndrained,
  nameForUid,
  uncordonsAll,
  victimsAnew,
} from './kubernetes.ts';
import type { Mutant } from './mutant.ts';
import {
  forceLeavesTenants,
  formerZonesForgotten,
  leavesUnwiped,
  oldAgentsCountedConverged,
  unreachablePeersForgotten,
} from './peers.ts';

/** Every planted bug. */
export const MUTANTS: readonly Mutant[] = [
  noFenceCheck,
  noHeadCheck,
  acknowledgedBeforeDurable,
  leaseTakenWhileHeld,
  seizedUnderTheSameEpoch,
  leaseRenewedByAnybody,
  halfAGroup,
  answersBeforeDurable,
  answersTheNextGroup,
  followerSkipsCommit,
  lostAnswerTakenForFailure,
  lostPark,
  activeWithoutHeartbeat,
  ownPauseCountedAsSilence,
  oldHeartbeatsCountInNewTerm,
  agentTakesOlderViews,
  agentIdentityLost,
  gatewayWithoutLease,
  deadlineForgotten,
  authorisedBeforeCommit,
];

/** The mutants found in worlds with instances. */
export const INSTANCE_MUTANTS: readonly Mutant[] = [
  claimKeptAfterFault,
  lateBuildKeepsAll,
  unbindSkipped,
  releaseSkipped,
  serialNotGrown,
  sweepNotStarted,
  targetNotBoundFirst,
  onlyCopyNotHeld,
  deleteDoesNotWait,
  placedOutsideTheCommit,
  silentHostTakenForDead,
  portMadeTwice,
  destroysWhatIsNotInView,
  eventOfEarlierBinding,
  degradedLeftAlone,
  replugNeverTried,
  deletedInsteadOfSuperseded,
];

/** The mutants found in worlds whose hosts leave and join. */
export const SCALE_IN_MUTANTS: readonly Mutant[] = [
  electionIgnoresTombstones,
  epochNotGrown,
  failuresNotBackedOff,
  oldHostRetiredTooSoon,
  switchedToUnready,
  peersNotAwaited,
  unreachablePeersForgotten,
  endWithoutEvidence,
  budgetIgnored,
  quarantineForgotten,
  targetNotVerified,
  removedStillInViews,
  switchDriftIgnored,
  formerZonesForgotten,
  oldAgentsCountedConverged,
  forceLeavesTenants,
  leavesUnwiped,
  controlLossTakenForForwardingLoss,
  leavesWithoutStrayCheck,
  unconnectedTakenForMoved,
  targetBoundInPlaceOfSource,
  readinessPerHost,
];

/** The mutants found in worlds with gray failures. */
export const GRAY_MUTANTS: readonly Mutant[] = [drainWaitsForSick, sickUsesBudget, returnIgnored, switchSaidToObey];

/** The mutants found in worlds whose clocks jump. */
export const CLOCK_MUTANTS: readonly Mutant[] = [retentionTrustsJumps, jumpTrustedAfterReport, retentionBySteadyTime];

/** The mutants found in worlds with bare metal. */
export const BAREMETAL_MUTANTS: readonly Mutant[] = [
  nodeReservedTwice,
  reservationRepeated,
  unansweredClaimForgotten,
  epochForgotten,
  epochStays,
  rightNotChecked,
  lapsedLeaseCounts,
  instanceNotCompared,
  epochNotCompared,
  managerTrustsItsLease,
  managerLeaseRevived,
  takenOverTooEarly,
  cleaningSkipped,
  deployRepeated,
  lateCallObeyed,
  offerNotAnnounced,
  bucketsFollowStates,
  fallbackWidens,
  absentTakenForGone,
];

/** The mutants found in worlds with Kubernetes. */
export const KUBERNETES_MUTANTS: readonly Mutant[] = [
  drainsOneByOne,
  goesOnAfterFailure,
  victimsAnew,
  uncordonsAll,
  nameForUid,
  forgetsEmptyNode,
  movesUndrained,
  actsAfterAbort,
];

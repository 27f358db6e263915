import { authorisedAtTheDoor } from './access.ts';
import { jumpForgottenOnceTold, retentionBySteadyTime, retentionTrustsJumps } from './clocks.ts';
import {
  acknowledgedBeforeDurable,
  halfAGroup,
  leaseRenewedByAnybody,
  leaseTakenWhileHeld,
  noFenceCheck,
  noHeadCheck,
  seizedUnderTheSameEpoch,
} from './database.ts';
import { controlTakenForDataPath, leavesWithoutALook, switchSaidToObey } from './conditions.ts';
import { readinessPerHost, targetBoundInPlaceOfSource, unconnectedTakenForMoved } from './incidents.ts';
import {
  addressGivenAwayOfSilentHost,
  claimKeptAfterFault,
  deleteDoesNotWait,
  destroysWhatIsNotShown,
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
  answersTheGroupBehind,
  followerSkipsCommit,
  lostAnswerTakenForFailure,
} from './journal.ts';
import {
  activeUnheard,
  agentForgets,
  agentTakesOlderViews,
  blamesHostsForOwnPause,
  deadlineForgotten,
  deskWithoutLease,
  lostPark,
  takesOldVoicesForNew,
} from './running-parts.ts';
import {
  budgetIgnored,
  electionIgnoresTombstones,
  endWithoutEvidence,
  epochNotGrown,
  failuresNotPaused,
  oldHostRetiredTooSoon,
  peersNotAwaited,
  quarantineForgotten,
  removedStillShown,
  switchLeftAsItIs,
  switchedToUnready,
  targetNotVerified,
} from './scale-in.ts';
import type { Mutant } from './mutant.ts';
import {
  forceLeavesThings,
  formerZonesForgotten,
  leavesUnwiped,
  oldAgentsBelieved,
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
  answersTheGroupBehind,
  followerSkipsCommit,
  lostAnswerTakenForFailure,
  lostPark,
  activeUnheard,
  blamesHostsForOwnPause,
  takesOldVoicesForNew,
  agentTakesOlderViews,
  agentForgets,
  deskWithoutLease,
  deadlineForgotten,
  authorisedAtTheDoor,
];

/** Those that are found in worlds with instances. */
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
  addressGivenAwayOfSilentHost,
  portMadeTwice,
  destroysWhatIsNotShown,
  eventOfEarlierBinding,
  degradedLeftAlone,
  replugNeverTried,
];

/** Those that are found in worlds whose hosts come and go. */
export const SCALE_IN_MUTANTS: readonly Mutant[] = [
  electionIgnoresTombstones,
  epochNotGrown,
  failuresNotPaused,
  oldHostRetiredTooSoon,
  switchedToUnready,
  peersNotAwaited,
  unreachablePeersForgotten,
  endWithoutEvidence,
  budgetIgnored,
  failuresNotPaused,
  quarantineForgotten,
  targetNotVerified,
  removedStillShown,
  switchLeftAsItIs,
  formerZonesForgotten,
  oldAgentsBelieved,
  forceLeavesThings,
  leavesUnwiped,
  controlTakenForDataPath,
  leavesWithoutALook,
  switchSaidToObey,
  unconnectedTakenForMoved,
  targetBoundInPlaceOfSource,
  readinessPerHost,
];

/** Those that are found in worlds whose clocks jump. */
export const CLOCK_MUTANTS: readonly Mutant[] = [retentionTrustsJumps, jumpForgottenOnceTold, retentionBySteadyTime];

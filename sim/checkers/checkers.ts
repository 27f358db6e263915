import { acknowledged } from './acknowledged.ts';
import { authorised } from './authorised.ts';
import { addressesKept } from './addresses-kept.ts';
import { agentsForward } from './agents.ts';
import { eventsGenuine, onePortPerNic, oneOwnerAtBackEnd, portsIntended } from './back-end.ts';
import { boundBeforeMigration, sourceStaysConnected } from './bound-before-migration.ts';
import type { Checker } from './checker.ts';
import { onlyCopyKept, removedWithoutOnlyCopy } from './copies-kept.ts';
import { settledBeforeDrained } from './drained.ts';
import { drainsAroundSick, recoversAroundSick } from './drains.ts';
import { fleetsEqual } from './fleets-equal.ts';
import { retainedUntilExpiry } from './retained.ts';
import { invariants } from './invariants.ts';
import { journalOrder } from './journal-order.ts';
import { leaseExclusive } from './lease.ts';
import { actsForRunning, budgetsKept, movedEmpty, operatorsCordonKept } from './clusters/promises.ts';
import { cordonedBeforeEvicted, deletedEmpty, drainedBeforeDeleted, victimsOnly } from './clusters/victims.ts';
import { finalizedOnEvidence, rejoinedByOperator, removedWithTenants, operatorFencedDistrusted } from './leaving.ts';
import { epochsGrow, makeBeforeBreak, designatedToEligible, oneDesignatedHost } from './designations.ts';
import { oneWriterPerEpoch } from './one-writer.ts';
import { removedEverywhere } from './switches.ts';
import { downOnlyIfSilent, upOnlyIfHeartbeat } from './liveness.ts';
import { addressUsedOnce, copiesAccounted, machinesNotOversold, runsOnce } from './machines.ts';
import { commitRateBounded, failuresBackedOff } from './commit-rate.ts';
import { waitsForOwnServiceOnly } from './readiness.ts';
import { callsApart, callsAwaited, callsEntitled, callsForOwnInstance, deployedOnce } from './nodes/calls.ts';
import {
  bucketsAddUp,
  freeMachineIsEmpty,
  oneMachinePerInstance,
  oneReservationPerNode,
  removedByWord,
} from './nodes/documents.ts';
import { oneRightPerEpoch, takenOverAfterLease } from './nodes/tenures.ts';
import { notFromForwardingSwitch, notToUncontrolledSwitch } from './out-of-control.ts';
import { sentencesComplete } from './sentences.ts';
import { reasonsTrue } from './true-reasons.ts';
import { singleDecider } from './single-decider.ts';

/** The checkers of every world; those whose violations say most about the cause come first. */
export const CHECKERS: readonly Checker[] = [
  leaseExclusive,
  singleDecider,
  oneWriterPerEpoch,
  journalOrder,
  invariants,
  authorised,
  agentsForward,
  downOnlyIfSilent,
  upOnlyIfHeartbeat,
  runsOnce,
  addressUsedOnce,
  machinesNotOversold,
  copiesAccounted,
  onlyCopyKept,
  removedWithoutOnlyCopy,
  boundBeforeMigration,
  sourceStaysConnected,
  oneOwnerAtBackEnd,
  onePortPerNic,
  portsIntended,
  eventsGenuine,
  addressesKept,
  finalizedOnEvidence,
  removedWithTenants,
  settledBeforeDrained,
  rejoinedByOperator,
  operatorFencedDistrusted,
  removedEverywhere,
  epochsGrow,
  oneDesignatedHost,
  makeBeforeBreak,
  designatedToEligible,
  waitsForOwnServiceOnly,
  drainsAroundSick,
  recoversAroundSick,
  sentencesComplete,
  reasonsTrue,
  notToUncontrolledSwitch,
  notFromForwardingSwitch,
  takenOverAfterLease,
  oneRightPerEpoch,
  callsAwaited,
  callsEntitled,
  callsApart,
  callsForOwnInstance,
  deployedOnce,
  oneReservationPerNode,
  oneMachinePerInstance,
  freeMachineIsEmpty,
  bucketsAddUp,
  removedByWord,
  cordonedBeforeEvicted,
  victimsOnly,
  drainedBeforeDeleted,
  deletedEmpty,
  movedEmpty,
  budgetsKept,
  operatorsCordonKept,
  actsForRunning,
  retainedUntilExpiry,
  failuresBackedOff,
  commitRateBounded,
  acknowledged,
  fleetsEqual,
];

import { acknowledged } from './acknowledged.ts';
import { authorised } from './authorised.ts';
import { addressesKept } from './addresses-kept.ts';
import { agentsForward } from './agents.ts';
import { eventsTrue, onePortPerNic, oneOwnerThere, portsMeant } from './back-end.ts';
import { boundBeforeHandOver, sourceStaysConnected } from './bound-first.ts';
import type { Checker } from './checker.ts';
import { onlyCopyKept, removedWithoutOnlyCopy } from './copies-kept.ts';
import { settledBeforeDrained } from './drained.ts';
import { fleetsEqual } from './fleets-equal.ts';
import { forgottenInTime } from './forgotten.ts';
import { invariants } from './invariants.ts';
import { journalOrder } from './journal-order.ts';
import { leaseExclusive } from './lease.ts';
import { endedByEvidence, joinedByWill, removedWithAll, vouchedOffDistrusted } from './leaving.ts';
import { epochsGrow, makeBeforeBreak, toTheAble, onlyOneShown } from './designations.ts';
import { oneWriterPerEpoch } from './one-writer.ts';
import { removedEverywhere } from './switches.ts';
import { downWasSilent, upWasHeard } from './liveness.ts';
import { addressUsedOnce, copiesAccounted, machinesNotOversold, runsOnce } from './machines.ts';
import { commitsEnd, failuresPaused } from './pace.ts';
import { waitsForItself } from './readiness.ts';
import { notFromTheLiving, notToTheUncontrolled } from './out-of-control.ts';
import { sentencesWhole } from './sentences.ts';
import { singleDecider } from './single-decider.ts';

/** All that is checked in every world, the most telling first. */
export const CHECKERS: readonly Checker[] = [
  leaseExclusive,
  singleDecider,
  oneWriterPerEpoch,
  journalOrder,
  invariants,
  authorised,
  agentsForward,
  downWasSilent,
  upWasHeard,
  runsOnce,
  addressUsedOnce,
  machinesNotOversold,
  copiesAccounted,
  onlyCopyKept,
  removedWithoutOnlyCopy,
  boundBeforeHandOver,
  sourceStaysConnected,
  oneOwnerThere,
  onePortPerNic,
  portsMeant,
  eventsTrue,
  addressesKept,
  endedByEvidence,
  removedWithAll,
  settledBeforeDrained,
  joinedByWill,
  vouchedOffDistrusted,
  removedEverywhere,
  epochsGrow,
  onlyOneShown,
  makeBeforeBreak,
  toTheAble,
  waitsForItself,
  sentencesWhole,
  notToTheUncontrolled,
  notFromTheLiving,
  forgottenInTime,
  failuresPaused,
  commitsEnd,
  acknowledged,
  fleetsEqual,
];

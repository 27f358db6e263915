import { clockJumps, clockJumpsWhileOff } from './clocks.ts';
import {
  apiAway,
  apiErrs,
  apiLoses,
  apiSlow,
  driverRepliesLost,
  kubeletSilent,
  nodeSick,
  podsStuck,
} from './clusters.ts';
import { compaction, sessionEnds, storeCut, storeFails, storeSlow } from './database.ts';
import type { Fault } from './fault.ts';
import { agentReplaced, allUpgraded, credentialsLost, instanceEnds, machineDies, taskFails } from './hypervisors.ts';
import { linkCut, linkLoses, linkMisroutes, linkRepeats, linkSlow } from './links.ts';
import { agentCrash, diskFull, machineSilent, siteSilent } from './machines.ts';
import {
  backEndErrs,
  foreignAddress,
  hostNotBindable,
  networkCut,
  networkFails,
  networkSlow,
  portUnplugged,
  silentBackEnd,
} from './network.ts';
import { arrivesUnconnected, cutHostWanted, drainBesideSick, sickBesideHealthy, targetRefused } from './compound.ts';
import { rebuildWithNoPlace } from './rebuilds.ts';
import {
  agentVersionChanged,
  serviceUnpreparable,
  strays,
  switchDown,
  switchForgets,
  switchLosesFlows,
  switchOutOfControl,
} from './switches.ts';
import { inventoryCut, inventoryFails, inventorySlow } from './inventory.ts';
import { managerActsFromMemory, managerSuspended } from './old-memories.ts';
import {
  managerCut,
  managerDies,
  managerHaltsAtLook,
  managerLinkWorsens,
  managerPauses,
  managerStops,
} from './managers.ts';
import { crash, halt, pause, powerCut, staleHolder, stop } from './servers.ts';

/** The faults of every world. */
export const FAULTS: readonly Fault[] = [
  crash,
  stop,
  pause,
  staleHolder,
  powerCut,
  storeCut,
  sessionEnds,
  storeSlow,
  storeFails,
  compaction,
  linkCut,
  linkLoses,
  linkRepeats,
  linkMisroutes,
  linkSlow,
  agentCrash,
  machineSilent,
  siteSilent,
  diskFull,
];

/** The faults of worlds with instances. */
export const INSTANCE_FAULTS: readonly Fault[] = [
  ...FAULTS,
  networkCut,
  networkSlow,
  networkFails,
  backEndErrs,
  hostNotBindable,
  portUnplugged,
  silentBackEnd,
  foreignAddress,
  taskFails,
  instanceEnds,
  machineDies,
  agentReplaced,
  allUpgraded,
  credentialsLost,
  rebuildWithNoPlace,
];

/**
 * The faults of worlds whose hosts leave and join; what only an external back end can do to instances is tried in the world with instances.
 */
export const SCALE_IN_FAULTS: readonly Fault[] = [
  ...FAULTS,
  networkSlow,
  taskFails,
  instanceEnds,
  machineDies,
  switchDown,
  switchForgets,
  switchLosesFlows,
  switchOutOfControl,
  strays,
  serviceUnpreparable,
  agentVersionChanged,
];

/** The compound faults there: each needs several things at once, and so would hardly ever come by chance. */
export const SCALE_IN_COMPOUND_FAULTS: readonly Fault[] = [
  targetRefused,
  arrivesUnconnected,
  sickBesideHealthy,
  cutHostWanted,
];

/**
 * The faults of worlds with gray failures: none that excuses a wait. No server and no link is lost, slow or paused, so that time counts under one
 * lease.
 */
export const GRAY_FAULTS: readonly Fault[] = [compaction, linkRepeats, networkSlow, strays, serviceUnpreparable];

/** The compound faults there: parts of a host fail while all else is well. */
export const GRAY_COMPOUND_FAULTS: readonly Fault[] = [drainBesideSick, sickBesideHealthy, cutHostWanted];

/**
 * The faults of worlds whose clocks jump. None that pauses a server: its clock may be set by a little then, which looks like a slewed
 * clock. None that makes the database compact: only retention may delete.
 */
export const CLOCK_FAULTS: readonly Fault[] = [
  clockJumps,
  clockJumpsWhileOff,
  crash,
  stop,
  powerCut,
  storeCut,
  sessionEnds,
  storeSlow,
  storeFails,
  linkCut,
  linkLoses,
  linkRepeats,
  linkSlow,
];

/**
 * The faults of worlds with bare metal. None that stops the clock of a server with it: by such a clock a manager's lease would seem to last longer than the
 * store says, and a server learns of it at its next look at the store alone.
 */
export const BAREMETAL_FAULTS: readonly Fault[] = [
  crash,
  stop,
  halt,
  powerCut,
  storeCut,
  sessionEnds,
  storeSlow,
  storeFails,
  compaction,
  linkCut,
  linkLoses,
  linkRepeats,
  linkMisroutes,
  linkSlow,
  managerDies,
  managerStops,
  managerPauses,
  managerCut,
  managerLinkWorsens,
  managerHaltsAtLook,
  managerSuspended,
  managerActsFromMemory,
  inventoryCut,
  inventoryFails,
  inventorySlow,
];

/** The faults of worlds with Kubernetes: those of servers and of hosts beside those of clusters. */
export const KUBERNETES_FAULTS: readonly Fault[] = [
  ...FAULTS,
  halt,
  taskFails,
  machineDies,
  apiAway,
  apiSlow,
  apiLoses,
  apiErrs,
  driverRepliesLost,
  kubeletSilent,
  nodeSick,
  podsStuck,
];

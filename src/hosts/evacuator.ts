// The port by which tenants leave a host. Each kind of tenant (instances, ports, designations, managers) brings an evacuator;
// previews, drains and evidence call this interface and must never know a tenant kind themselves.
import {
  runTrial,
  type AppliedChange,
  type Change,
  type FleetReader,
  type Index,
  type Reason,
  type Refusal,
  type Trial,
} from '../fleet/index.ts';
import type { OperationId } from '../operations/index.ts';

/** A tenant that keeps a host from leaving. */
export interface Tenant {
  /** The kind of its document. */
  readonly kind: string;
  readonly id: string;
}

export type Evacuation =
  /** `to` is the host that would be chosen now; the final choice is made when the move begins. */
  | { readonly kind: 'move'; readonly how: string; readonly to: string }
  /** What lives in it leaves it. It stays where it is, and goes with what it runs in. */
  | { readonly kind: 'drain' }
  /** The host is dead for certain: built elsewhere, with what is known of it. */
  | { readonly kind: 'rebuild'; readonly to: string }
  /** It has no place elsewhere and needs none: it ends with the host, and does not keep the host from leaving. */
  | { readonly kind: 'ends' }
  /** Nothing can be done now, and this is why. */
  | { readonly kind: 'wait'; readonly reason: Reason };

export interface PlannedEvacuation {
  readonly host: string;
  readonly tenant: Tenant;
  readonly evacuation: Evacuation;
}

/** Tenants of one host that are to leave it. */
export interface LeavingTenants {
  readonly host: string;
  readonly tenants: readonly Tenant[];
  /** Instances among them stay in this site; services belong to the whole fleet and move as elections allow. */
  readonly within?: string | undefined;
}

export interface PlanOptions {
  readonly nowMs: number;
  /** For how many tenants without a target the reasons of every host are listed, which costs a scan of all hosts; none by default. */
  readonly explained?: number;
  /** Of which hosts the tenants are explained; of all by default. */
  readonly isExplained?: (host: string) => boolean;
  /** For a reader who is bound to a site: reasons count its hosts alone, wherever the tenants may go. */
  readonly readIn?: string | undefined;
}

/** Opens the trial of a plan, with the hosts tombstoned in it. Beside hosts, only documents of these kinds can be added to it. */
export type OpenTrial = (...kinds: readonly string[]) => Generator<undefined, Trial>;

/** A generator: what is left after each step, and the result at the end. */
export type PlanSteps = Generator<undefined, readonly PlannedEvacuation[]>;

export interface StartedEvacuation {
  readonly changes: readonly Change[];
  /** What a later commit has to know of it. Without it the start holds while nothing of the hosts changes. */
  readonly validity?: EvacuationValidity;
}

/** Of moves that were prepared before the commit that starts them. */
export interface EvacuationValidity {
  /** The target host by tenant id. */
  readonly targets: ReadonlyMap<string, string>;
  /** Whether this may still be committed unchanged: none of the documents that it replaces changed since. Costs O(moves). */
  readonly isStillValid: (fleet: FleetReader) => boolean;
}

/** As `PlanSteps`. */
export type BeginSteps = Generator<undefined, StartedEvacuation | Refusal>;

export interface BeginEvacuation {
  /** Names the operations that begin; an evacuator appends what distinguishes its own. */
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
  /** As for `Leavers`: stored with the operations that begin. */
  readonly within?: string | undefined;
  /** The host that a drain moves them off: stored with the items that begin, so that they count for its budget. */
  readonly drainedHost?: string | undefined;
}

/**
 * A member that only one evacuator has is one all the same: each says something of its tenants that previews, drains and evidence need, and those
 * cannot call a module above them. What is optional has a default that is right for tenants that just move.
 */
export interface Evacuator {
  readonly name: string;
  /** The kinds of operations that move its tenants: their measured durations give the estimate. */
  readonly moveKinds?: readonly string[];
  /** The typical duration of one of its moves, when none was measured. */
  readonly typicalMoveMs?: number;
  /**
   * Whether its tenants leave before those of other evacuators: services are handed over before the first instance moves. The start itself
   * begins that, so a preview promises their targets; of other tenants it promises only that they leave.
   */
  readonly leavesFirst?: true;
  /**
   * Whether some of its tenants may end with their host; its plan says which. Otherwise each of them keeps the host from leaving. Said here, and
   * not found out by planning: evidence is checked inside commits, where a plan for every instance of a host would be a search for a place each.
   */
  readonly canEndWithHost?: true;
  /** What lives on the host or moves to it, sorted by id. */
  readonly inventory: (fleet: FleetReader, host: string) => readonly Tenant[];
  /** The documents, by host, from which inventory and plan follow. While they are unchanged, so are inventory and plan. */
  readonly dependsOn: readonly Index<string, never>[];
  /** Its tenants that are moving off the host now: they count against the budgets. */
  readonly countLeaving: (fleet: FleetReader, host: string) => number;
  /**
   * Only of an evacuator that drains tenants, and does nothing else with them: how many are drained on the host now. A drain counts against no budget
   * of moves, since one that is blocked must not hold up what can move: how many there are at once, `limitDisruption` says.
   */
  readonly countDraining?: (fleet: FleetReader, host: string) => number;
  /** Whether a host that comes back has to wait for what is leaving it now; without it, it never has to. */
  readonly holdsRecover?: (fleet: FleetReader, host: string) => boolean;
  /**
   * The plan for each of these tenants if it were carried out for all of them: hosts that leave together are planned together, on the one trial
   * that the plan opens. In steps of well below a millisecond, so that other deciders run in between. Costs O(tenants).
   */
  readonly plan: (openTrial: OpenTrial, leavers: readonly LeavingTenants[], how: PlanOptions) => PlanSteps;
  /** Starts the planned moves, in steps as well; tenants that wait or end are left out. */
  readonly begin: (fleet: FleetReader, planned: readonly PlannedEvacuation[], how: BeginEvacuation) => BeginSteps;
  /** The part of the inventory that is not moving yet: a drain reads it at every change of its host, and must not read the whole inventory each time. */
  readonly listRemainingTenants?: (fleet: FleetReader, host: string) => Iterable<Tenant>;
  /** Applies limits on disruption to a plan: what exceeds one waits. Only the tenants' module knows which may not be disturbed together. */
  readonly limitDisruption?: (
    fleet: FleetReader,
    planned: readonly PlannedEvacuation[],
  ) => readonly PlannedEvacuation[];
  /**
   * Why tenants that a drain moved off the host did not arrive in good state: they do not count as moved. Empty when all did. Costs
   * O(reasons returned).
   */
  readonly findUnsettled?: (fleet: FleetReader, host: string) => Iterable<Reason>;
  /** Hosts that may have more to drain, or may be empty, after this change. Cheap: called for every commit. */
  readonly hostsAffectedBy?: (change: AppliedChange, fleet: FleetReader) => readonly string[];
  /** What becomes of remaining tenants when the host is removed by force, or because they end with the host. */
  readonly abandon: (fleet: FleetReader, host: string, how: AbandonCommand) => readonly Change[];
  /** Brings back what left the host in its present scale-in, for a recover with fail-back. Absent when nothing is brought back. */
  readonly failBack?: (fleet: FleetReader, host: string, how: BeginEvacuation) => readonly Change[];
}

export interface AbandonCommand {
  readonly by: string;
  readonly nowMs: number;
}

/** The plan in one piece, on a trial of its own. Hosts that are to be tombstoned in it are tombstoned in `fleet`. */
export function planEvacuation(
  fleet: FleetReader,
  evacuator: Evacuator,
  leavers: readonly LeavingTenants[],
  how: PlanOptions,
): readonly PlannedEvacuation[] {
  return runTrial(fleet, (trial) => runAllSteps(evacuator.plan(() => runInOneStep(trial), leavers, how)));
}

/** The start in one piece. */
export function beginEvacuation(
  fleet: FleetReader,
  evacuator: Evacuator,
  planned: readonly PlannedEvacuation[],
  how: BeginEvacuation,
): StartedEvacuation | Refusal {
  return runAllSteps(evacuator.begin(fleet, planned, how));
}

/** For what is worked out in well below a millisecond. */
export function* runInOneStep<T>(result: T): Generator<undefined, T> {
  yield;
  return result;
}

/** Runs all steps at once. */
export function runAllSteps<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

// What lives on a host and how it gets away from there. Each kind of tenant (instances, and later pods, designations, managed
// nodes) brings an evacuator; whoever empties a host knows this interface and nothing of its tenants.
import type { AppliedChange, Change, FleetReader, Index, Reason, Refusal, Trial } from '../fleet/index.ts';
import type { OperationId } from '../operations/index.ts';

/** Something that keeps a host from leaving. */
export interface Tenant {
  /** The kind of its document. */
  readonly kind: string;
  readonly id: string;
}

export type Evacuation =
  /** `to` is the host that would be chosen now; the choice is made when the move begins. */
  | { readonly kind: 'move'; readonly how: string; readonly to: string }
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
  /** Instances among them stay inside this site; services are the whole fleet's, and go where elections let them. */
  readonly within?: string | undefined;
}

export interface PlanOptions {
  readonly nowMs: number;
  /** So many of those that have no place are told what each host lacks, which costs a look at every host; none unless said. */
  readonly explained?: number;
}

/** What each step leaves to be done, and what comes out at the end. */
export type PlanSteps = Generator<undefined, readonly PlannedEvacuation[]>;

export interface StartedEvacuation {
  readonly changes: readonly Change[];
  readonly operations: readonly OperationId[];
}

/** Begun before the commit that it is for. */
export interface PreparedEvacuation extends StartedEvacuation {
  /** By the ids of tenants: the host that each goes to. */
  readonly targets: ReadonlyMap<string, string>;
  /** Whether that may still be done, and so: nothing that it replaces was changed since. Costs what was begun. */
  readonly isStillValid: (fleet: FleetReader) => boolean;
}

export interface BeginEvacuation {
  /** Names the operations that are begun; an evacuator adds to it what tells its own apart. */
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
  /** As for `Leavers`: kept with the operations that are begun. */
  readonly within?: string | undefined;
}

export interface Evacuator {
  readonly name: string;
  /** Where its tenants go is part of what a preview promises; of the others only that they go. */
  readonly promisesTargets?: true;
  /** The kinds of operations that move its tenants: what they took tells how long a move takes. */
  readonly moveKinds?: readonly string[];
  /** About how long one of its moves takes, when nothing was measured. */
  readonly typicalMoveMs?: number;
  /** Its tenants leave before those of the others: services change hands before the first instance goes. */
  readonly leavesFirst?: true;
  /** Some of its tenants end with their host: which, its plan says. Without it all of them keep the host from leaving. */
  readonly canEndWithHost?: true;
  /** What lives on the host or is on its way there, in the order of ids. */
  readonly inventory: (fleet: FleetReader, host: string) => readonly Tenant[];
  /** By host: the documents that its inventory and its plan for the host follow from. While they are the same, so is what lives there. */
  readonly dependsOn: readonly Index<string, never>[];
  /** Those of its tenants that are on their way off the host just now: they count against the budgets. */
  readonly countLeaving: (fleet: FleetReader, host: string) => number;
  /**
   * What can be done now for each of these tenants, were it done for all of them: hosts that leave together are planned
   * together. The hosts are tombstoned in `fleet` already. Costs O(tenants).
   */
  readonly plan: (
    fleet: FleetReader,
    leavers: readonly LeavingTenants[],
    nowMs: number,
  ) => readonly PlannedEvacuation[];
  /** The same in steps of well below a millisecond, for who lets others have a turn in between. The trial is its own. */
  readonly planInSteps?: (trial: Trial, leavers: readonly LeavingTenants[], how: PlanOptions) => PlanSteps;
  /** The kinds of documents that its plan adds to a trial. */
  readonly trialKinds?: readonly string[];
  /** Begins what is planned for these; those that wait or end are left out. Answers the operations that do it. */
  readonly begin: (
    fleet: FleetReader,
    planned: readonly PlannedEvacuation[],
    how: BeginEvacuation,
  ) => StartedEvacuation | Refusal;
  /** The same in steps, for what leaves first. */
  readonly beginInSteps?: (
    fleet: FleetReader,
    planned: readonly PlannedEvacuation[],
    how: BeginEvacuation,
  ) => Generator<undefined, PreparedEvacuation>;
  /** Those of the inventory that are not on their way yet, so that a drain need not look at all of it each time. */
  readonly remainingTenants?: (fleet: FleetReader, host: string) => Iterable<Tenant>;
  /** What of a plan may be begun now: what is beyond a limit on disruption waits instead. */
  readonly limitDisruption?: (
    fleet: FleetReader,
    planned: readonly PlannedEvacuation[],
  ) => readonly PlannedEvacuation[];
  /**
   * Why something that a drain moved off the host has not arrived well: it counts as not moved. Empty when all of it has. Costs
   * what is told.
   */
  readonly findUnsettled?: (fleet: FleetReader, host: string) => Iterable<Reason>;
  /** Hosts that may have more to do, or may be empty, after this change. Cheap: every commit asks. */
  readonly hostsAffectedBy?: (fleet: FleetReader, change: AppliedChange) => readonly string[];
  /** What becomes of what is still there when the host is removed, by force or because it ends with the host. */
  readonly abandon: (fleet: FleetReader, host: string, how: AbandonCommand) => readonly Change[];
  /** Brings back what left the host by its present scale-in, for a recover that asks for it. Absent when nothing goes back. */
  readonly failBack?: (fleet: FleetReader, host: string, how: BeginEvacuation) => StartedEvacuation;
}

export interface AbandonCommand {
  readonly by: string;
  readonly nowMs: number;
}

/** In steps where the evacuator has them. */
export function* planEvacuation(
  evacuator: Evacuator,
  trial: Trial,
  leavers: readonly LeavingTenants[],
  how: PlanOptions,
): PlanSteps {
  if (evacuator.planInSteps === undefined) return evacuator.plan(trial, leavers, how.nowMs);
  return yield* evacuator.planInSteps(trial, leavers, how);
}

/** All steps in one go. */
export function runAllSteps<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

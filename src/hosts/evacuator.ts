// What lives on a host and how it gets away from there. Each kind of tenant (instances, and later pods, designations, managed
// nodes) brings an evacuator; whoever empties a host knows this interface and nothing of its tenants.
import type { Change, FleetReader, Reason, Refusal } from '../fleet/index.ts';
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
  /** Nothing can be done now, and this is why. */
  | { readonly kind: 'wait'; readonly reason: Reason };

export interface Evacuating {
  readonly tenant: Tenant;
  readonly evacuation: Evacuation;
}

export interface BeginEvacuation {
  /** Names the operations that are begun; an evacuator adds to it what tells its own apart. */
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

export interface Evacuator {
  readonly name: string;
  /** What lives on the host or is on its way there, in the order of ids. */
  readonly inventory: (fleet: FleetReader, host: string) => readonly Tenant[];
  /** What can be done now for each of these tenants of the host, were it done for all of them. Costs O(tenants). */
  readonly plan: (fleet: FleetReader, host: string, tenants: readonly Tenant[], nowMs: number) => readonly Evacuating[];
  /** Begins what is planned for these; those that wait are left out. Answers the operations that do it. */
  readonly begin: (
    fleet: FleetReader,
    planned: readonly Evacuating[],
    how: BeginEvacuation,
  ) => { readonly changes: readonly Change[]; readonly operations: readonly OperationId[] } | Refusal;
}

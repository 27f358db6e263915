// What the driver of nodes is given, and what it answers: data, so that an order can be recorded, repeated and compared.
import type { Reason } from '../../fleet/index.ts';
import type { ActionOutcome } from '../../operations/index.ts';
import type { ClusterNode, NodeMarks } from '../cluster-api/cluster-api.ts';
import type { Blocker, DrainPolicy } from '../model.ts';

export const NODES_DRIVER = 'kubernetes-nodes';

interface OrderBase {
  readonly cluster: string;
  readonly node: string;
}

/** Of the Node with this UID; of whichever has the name where there is none. */
interface OfNode extends OrderBase {
  readonly uid?: string;
  /** While no UID is known: a Node that says something else of itself is another machine's. */
  readonly providerId?: string;
}

export type NodeOrder =
  | ({ readonly op: 'inspect' } & OfNode)
  | ({ readonly op: 'mark'; readonly marks: NodeMarks } & OfNode)
  /** Looks what a drain would do, and evicts nothing. */
  | ({ readonly op: 'check'; readonly policy: DrainPolicy } & OfNode)
  /** One pass: reads, and requests the evictions that the plan says. */
  | ({ readonly op: 'evict'; readonly policy: DrainPolicy } & OfNode)
  /** The last look before the Node is deleted. */
  | ({ readonly op: 'confirm-drained'; readonly policy: DrainPolicy } & OfNode)
  | ({ readonly op: 'delete' } & OfNode)
  /** Deletes a Node that came back after its deletion, whatever its UID. */
  | ({ readonly op: 'confirm-deleted'; readonly providerId?: string } & OrderBase);

/** What a look at a node found. */
export interface NodeProgress {
  /** Pods that have to leave and are there still. */
  readonly left: number;
  readonly terminating: number;
  /** Evictions that were accepted in this very pass. */
  readonly accepted: number;
  readonly blockers: readonly Blocker[];
  readonly moreBlockers: number;
  /** Whether one of the blockers is of those that no waiting cures, named or not. */
  readonly isBlockedForGood: boolean;
}

export type NodeResult =
  /** There is no such Node, or another has its name. */
  | { readonly kind: 'no-node' }
  | { readonly kind: 'replaced'; readonly uid: string }
  | {
      readonly kind: 'node';
      readonly uid: string;
      readonly isUnschedulable: boolean;
      readonly isExcludedFromLoadBalancers: boolean;
      readonly readiness: ClusterNode['readiness'];
      readonly providerId?: string;
      readonly progress?: NodeProgress;
      /** Of a change of marks: those that were not there before. */
      readonly made?: NodeMarks;
    }
  /** `attached`: volumes. `left`: pods that would have to leave. */
  | { readonly kind: 'drained'; readonly attached: number; readonly left: number; readonly isUnschedulable: boolean }
  | { readonly kind: 'deleted' }
  | Trouble;

export interface Trouble {
  readonly kind: 'trouble';
  readonly trouble: NodeTrouble;
  readonly reason: Reason;
}

/** `away`: it may answer later. `server-error`: it may, but not for long. `refused`: it will not. */
export type NodeTrouble = 'away' | 'server-error' | 'refused';

export function toActionOutcome(result: NodeResult): ActionOutcome {
  return result.kind === 'trouble' ? toTroubleOutcome(result) : { kind: 'applied', facts: { result } };
}

export function toTroubleOutcome({ trouble, reason }: Trouble): ActionOutcome {
  return { kind: 'failed', reason: { ...reason, trouble } };
}

export function readTrouble({ trouble, ...reason }: Reason): Trouble {
  // The engine's own word for a call that was not answered before the deadline: what the item waits for is known already.
  return { kind: 'trouble', trouble: (trouble as NodeTrouble | undefined) ?? 'away', reason };
}

export function readNodeResult(outcome: ActionOutcome): NodeResult {
  if (outcome.kind === 'stale') throw new Error('an order about a node is not refused by its lease epoch');
  return outcome.kind === 'failed' ? readTrouble(outcome.reason) : (outcome.facts?.['result'] as NodeResult);
}

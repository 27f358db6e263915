// The ports to what knows the machines. An inventory lists and claims nodes, at the lease holder; machines are driven by managers. Every call carries
// the node's epoch and the instance that it is for: an older epoch or another instance is `stale` and has no effect, a repetition is a no-op.
import { mark, type Reason } from '../../fleet/index.ts';
import type { InventoryName, Node, PowerState } from '../model.ts';

/** A node as its inventory shows it. */
export interface InventoryNode extends Pick<
  Node,
  | 'name'
  | 'resourceClass'
  | 'traits'
  | 'memoryMiB'
  | 'cpus'
  | 'localGiB'
  | 'cpuArch'
  | 'capabilities'
  | 'owner'
  | 'lessee'
> {
  readonly id: string;
  /** Whether a claim may succeed: it is available, and in no maintenance there. */
  readonly isAvailable: boolean;
  readonly power: PowerState;
  readonly isInMaintenance: boolean;
  /** Whose it is there; an id that the inventory keeps for us. */
  readonly instance?: string;
  /** The id under which it keeps the claim that the node has, whoever made it. */
  readonly claim?: string;
  /** What it is too old to say: whatever is known of these fields stays, since without them the node would be offered to more. */
  readonly unsaid?: readonly UnsaidField[];
}

/** Fields that came with later versions of an inventory. */
export type UnsaidField = 'resourceClass' | 'traits' | 'owner' | 'lessee';

/** A page and the position of the next one; absent at the end. A failed or partial list says nothing about what it did not show. */
export interface InventoryPage {
  readonly nodes: readonly InventoryNode[];
  readonly next?: string;
}

export interface ChangesRequest {
  /** `upTo` of an earlier read; absent at first, when only `upTo` is of interest. */
  readonly since?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface ChangesPage extends InventoryPage {
  /** Of the first page: the next read shows what changed since. */
  readonly upTo: string;
}

/** A claim that we have made, by the mark that was left with it. */
export interface InventoryClaim {
  readonly node: string;
  readonly instance: string;
}

export interface ClaimsPage {
  readonly claims: readonly InventoryClaim[];
  readonly next?: string;
}

/** Names who acts on which node, for whom. */
export interface NodeFence {
  readonly node: string;
  readonly nodeEpoch: number;
  /** The id of the reservation. */
  readonly instance: string;
}

export interface ClaimRequest extends NodeFence {
  /** The traits that were requested: deploys use those alone. */
  readonly traits: readonly string[];
}

export type ClaimOutcome =
  | { readonly kind: 'applied' | 'already' | 'stale' }
  /** Another has it, or it is not available any more: the next candidate is tried. */
  | { readonly kind: 'lost'; readonly reason: Reason }
  | { readonly kind: 'failed'; readonly reason: Reason; readonly retryAfterMs?: number };

/** It did not answer, or not as it should: what it did not say is not known. */
export class InventoryUnavailable extends Error {
  readonly code = 'inventory-unreachable';
  readonly retryable = true;

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'InventoryUnavailable';
  }
}

export interface InventoryCallOptions {
  /** Aborted at the deadline, and when whoever calls has lost the right to. */
  readonly signal: AbortSignal;
  /**
   * Looked at right before each effect: a process that was paused may get to act before the timer that aborts the signal. Whoever has no lease to
   * look at, such as the server that decides, leaves it out.
   */
  readonly mayAct?: () => boolean;
}

/** Right before an effect: throws once the right to it is over. */
export function requireRight({ signal, mayAct }: InventoryCallOptions): void {
  signal.throwIfAborted();
  if (mayAct?.() !== false) return;
  mark('manager-late-to-act');
  throw new Error('the right to act is over');
}

/** Used by the server that decides. Whatever reads rejects with `InventoryUnavailable`. */
export interface Inventory {
  readonly name: InventoryName;
  /**
   * `inline`: the journal is the inventory, and a commit is the claim. `endpoint`: a claim is a call. `direct`: it has no endpoint for claims, and the
   * instance is written on the node itself, if it has no other.
   */
  claims(how?: InventoryCallOptions): Promise<'inline' | 'endpoint' | 'direct'>;
  list(after: string | undefined, limit: number, how: InventoryCallOptions): Promise<InventoryPage>;
  /**
   * Nodes that have changed lately, so that a change is seen before a list comes to it. It may show some twice, and miss what changes without a trace;
   * what it does not show says nothing. Undefined where the inventory does not know.
   */
  listChanges(request: ChangesRequest, how: InventoryCallOptions): Promise<ChangesPage | undefined>;
  /** The claims that we have made, whoever has forgotten them since. */
  listClaims(after: string | undefined, limit: number, how: InventoryCallOptions): Promise<ClaimsPage>;
  /** The id under which it keeps our claim of a node. */
  claimIdOf(claim: InventoryClaim): string;
  /** `gone` only when the inventory itself says that there is no such node. */
  find(node: string, how: InventoryCallOptions): Promise<InventoryNode | 'gone'>;
  claim(request: ClaimRequest, how: InventoryCallOptions): Promise<ClaimOutcome>;
  /** Gives a claim back; also one that was never made. */
  unclaim(fence: NodeFence, how: InventoryCallOptions): Promise<ClaimOutcome>;
}

/** What is done to a machine. */
export const MACHINE_ACTIONS = ['deploy', 'clean', 'power-on', 'power-off', 'reboot', 'connect', 'disconnect'] as const;
export type MachineAction = (typeof MACHINE_ACTIONS)[number];

export interface MachineCall extends NodeFence {
  readonly action: MachineAction;
  readonly manager: string;
  /** Data of the action: the image of a deploy, the ports of a connect. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** The code of the reason why a machine does nothing for an instance: it, or what knows it, has another one, or none. */
export const MACHINE_NOT_OURS = 'machine-not-ours';

export type MachineOutcome =
  | { readonly kind: 'applied' | 'already'; readonly facts?: Readonly<Record<string, unknown>> }
  /** Without effect: another instance has it, or it was called under a later epoch, and that is said; or, without a reason, its caller has no right. */
  | { readonly kind: 'stale'; readonly reason?: Reason }
  | { readonly kind: 'failed'; readonly reason: Reason };

/** What a machine is doing, as whoever drives it sees it. */
export interface MachineStatus {
  readonly instance?: string;
  readonly power: PowerState;
  readonly state: 'empty' | 'deploying' | 'deployed' | 'cleaning' | 'failed';
}

/** Used by managers. Acts, and waits until it is done. */
export interface MachineDriver {
  readonly name: InventoryName;
  inspect(fence: NodeFence, how: InventoryCallOptions): Promise<MachineStatus>;
  carryOut(call: MachineCall, how: InventoryCallOptions): Promise<MachineOutcome>;
}

// What becomes of every pod on a node that is drained: planned from one look, without the cluster. Whoever carries it out evicts what the plan says and
// looks again. A plan never deletes a pod, and never evicts more than the budgets that were seen allow.
import type { Budget, NodeContents, Pod } from '../cluster-api/cluster-api.ts';
import type { BlockReason, Blocker, DrainPolicy } from '../model.ts';
import { budgetsOf } from './selector.ts';

/** Why a pod stays, and needs not be waited for. */
export type StayReason = 'daemon' | 'mirror' | 'finished';

export type PodFate =
  | {
      readonly kind: 'evict';
      readonly graceSeconds?: number;
      readonly losesEmptyDir: boolean;
      /** The one that it is taken from, where budgets are shown. */
      readonly budget?: string;
    }
  /** It is on its way out. */
  | { readonly kind: 'terminating' }
  | { readonly kind: 'stays'; readonly why: StayReason }
  /** Its budget allows no eviction now. */
  | { readonly kind: 'later'; readonly budget: string }
  /** No waiting cures it. */
  | { readonly kind: 'never'; readonly why: Exclude<BlockReason, 'budget'>; readonly budgets?: readonly string[] };

export interface PlannedPod {
  readonly pod: Pod;
  readonly fate: PodFate;
}

export interface DrainPlan {
  readonly node: string;
  /** Sorted by namespace and name. */
  readonly pods: readonly PlannedPod[];
  /** No kubelet reports what its pods do: they get a second, and their objects are not waited for. */
  readonly isUnreachable: boolean;
}

/** A kubelet that does not answer cannot end a pod: what is left of it there is not for us to wait for. */
const UNREACHABLE_GRACE_SECONDS = 1;

export function planDrain(node: string, contents: NodeContents, policy: DrainPolicy): DrainPlan {
  const isUnreachable = contents.node !== undefined && contents.node.readiness === 'unknown';
  const context: Context = { contents, policy, isUnreachable, allowed: allowancesOf(contents.budgets) };
  const pods = contents.pods.toSorted(compareNames).map((pod) => ({ pod, fate: decideFate(pod, context) }));
  return { node, pods, isUnreachable };
}

/** How many pods must leave and are there still: none when the node is drained. */
export function countLeft({ pods, isUnreachable }: DrainPlan): number {
  const isGone = ({ kind }: PodFate): boolean => kind === 'stays' || (isUnreachable && kind === 'terminating');
  return pods.filter(({ fate }) => !isGone(fate)).length;
}

export function blockersOf({ node, pods }: DrainPlan): Blocker[] {
  return pods.flatMap(({ pod: { namespace, name: pod }, fate }): Blocker[] => {
    if (fate.kind === 'later') return [{ node, namespace, pod, reason: 'budget', budget: fate.budget }];
    if (fate.kind !== 'never') return [];
    const budget = fate.budgets?.join(', ');
    return [{ node, namespace, pod, reason: fate.why, ...(budget !== undefined && { budget }) }];
  });
}

interface Context {
  readonly contents: NodeContents;
  readonly policy: DrainPolicy;
  readonly isUnreachable: boolean;
  /** How many evictions each budget allows still: planned ones are taken off. */
  readonly allowed: Map<Budget, number>;
}

function allowancesOf(budgets: NodeContents['budgets']): Map<Budget, number> {
  return new Map(budgets === 'unknown' ? [] : budgets.map((budget) => [budget, budget.disruptionsAllowed]));
}

function decideFate(pod: Pod, context: Context): PodFate {
  const { policy, contents, isUnreachable } = context;
  const staying = findStayReason(pod);
  if (staying !== undefined) return { kind: 'stays', why: staying };
  if (pod.isTerminating) return { kind: 'terminating' };
  if (pod.owner === undefined && !policy.evictBare) return { kind: 'never', why: 'bare' };
  if (pod.hasEmptyDir && policy.keepEmptyDir) return { kind: 'never', why: 'empty-dir' };
  if (hasLocalVolume(pod, contents)) return { kind: 'never', why: 'local-volume' };
  const budgets = contents.budgets === 'unknown' ? [] : budgetsOf(pod, contents.budgets);
  // The API refuses such an eviction for good: it cannot take from two budgets at once.
  if (budgets.length > 1) return { kind: 'never', why: 'two-budgets', budgets: budgets.map(({ name }) => name) };
  const [budget] = budgets;
  if (budget !== undefined && !takeAllowance(budget, context)) return { kind: 'later', budget: budget.name };
  return {
    kind: 'evict',
    losesEmptyDir: pod.hasEmptyDir,
    ...(isUnreachable && { graceSeconds: UNREACHABLE_GRACE_SECONDS }),
    ...(budget !== undefined && { budget: budget.name }),
  };
}

function findStayReason({ isMirror, owner, isFinished }: Pod): StayReason | undefined {
  if (isMirror) return 'mirror';
  if (owner?.kind === 'DaemonSet') return 'daemon';
  // It holds nothing any more, and its budget does not count it.
  return isFinished ? 'finished' : undefined;
}

function hasLocalVolume({ namespace, claims }: Pod, { localVolumes }: NodeContents): boolean {
  if (localVolumes === 'unknown' || claims.length === 0) return false;
  return localVolumes.some((volume) => volume.namespace === namespace && claims.includes(volume.claim));
}

function takeAllowance(budget: Budget, { allowed }: Context): boolean {
  const left = allowed.get(budget) ?? 0;
  if (left <= 0) return false;
  allowed.set(budget, left - 1);
  return true;
}

function compareNames(a: Pod, b: Pod): number {
  return compareTexts(a.namespace, b.namespace) || compareTexts(a.name, b.name);
}

function compareTexts(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

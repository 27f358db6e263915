// Requests the evictions of a plan: few at a time under one budget, several budgets at the same time. The API takes each from its budget by a change of that one
// object, and whatever comes together with another one there waits for half a second before it is tried again.
import { mark } from '../../fleet/index.ts';
import type { ClusterCallOptions, ClusterApi, EvictionAnswer } from '../cluster-api/cluster-api.ts';
import type { Blocker } from '../model.ts';
import type { DrainPlan, PlannedPod } from './plan.ts';

/** An API server refuses callers that come with hundreds. */
const EVICTIONS_AT_ONCE = 10;
/** More make each other wait; with one alone all would wait whenever the cluster itself counts the budget. */
const AT_ONCE_OF_ONE_BUDGET = 5;

export interface Evictions {
  readonly accepted: number;
  readonly refused: readonly Blocker[];
}

export const NOTHING_EVICTED: Evictions = { accepted: 0, refused: [] };

export async function evictPlanned(
  api: ClusterApi,
  { node, pods }: DrainPlan,
  how: ClusterCallOptions,
): Promise<Evictions> {
  const refused: Blocker[] = [];
  let accepted = 0;
  const due = pods.filter(({ fate }) => fate.kind === 'evict');
  const lanes = [...Map.groupBy(due, laneOf).values()].flatMap(repeatLane);
  const takeLanes = async (): Promise<void> => {
    for (let lane = lanes.shift(); lane !== undefined; lane = lanes.shift()) {
      for (let next = lane.shift(); next !== undefined; next = lane.shift()) {
        how.signal.throwIfAborted();
        const blocker = blockerOf(node, next, await evictPod(api, next, how));
        if (blocker === undefined) accepted += 1;
        else refused.push(blocker);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(EVICTIONS_AT_ONCE, lanes.length) }, takeLanes));
  return { accepted, refused };
}

/** Pods of one controller are mostly under one budget: that counts where budgets are not shown, or do not choose it. */
function laneOf({ pod, fate }: PlannedPod): string {
  const budget = fate.kind === 'evict' ? fate.budget : undefined;
  return budget === undefined ? (pod.owner?.uid ?? pod.uid) : `${pod.namespace}/${budget}`;
}

/** The same queue, for each that may take from it. */
function repeatLane(pods: PlannedPod[]): PlannedPod[][] {
  return Array.from({ length: Math.min(AT_ONCE_OF_ONE_BUDGET, pods.length) }, () => pods);
}

async function evictPod(api: ClusterApi, { pod, fate }: PlannedPod, how: ClusterCallOptions): Promise<EvictionAnswer> {
  const { namespace, name, uid } = pod;
  const graceSeconds = fate.kind === 'evict' ? fate.graceSeconds : undefined;
  return api.evict({ namespace, name, uid, ...(graceSeconds !== undefined && { graceSeconds }) }, how);
}

function blockerOf(node: string, { pod }: PlannedPod, answer: EvictionAnswer): Blocker | undefined {
  const { namespace, name } = pod;
  switch (answer.kind) {
    case 'budget':
      mark('eviction-refused-by-budget');
      return {
        ...{ node, namespace, pod: name, reason: 'budget' },
        ...(answer.budget !== undefined && { budget: answer.budget }),
      };
    case 'two-budgets':
      return { node, namespace, pod: name, reason: 'two-budgets' };
    default:
      return undefined;
  }
}

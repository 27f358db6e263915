// What would become of every pod on workers that are drained or removed now, and why not, if so. Nothing is written and nothing is evicted.
import type { ClusterApi, ClusterNode } from '../cluster-api/cluster-api.ts';
import { planDrain, type PlannedPod, type PodFate } from '../drain/plan.ts';
import type { DrainPolicy } from '../model.ts';
import type { StoredWorker } from './transitions.ts';

export interface PodPreview {
  readonly namespace: string;
  readonly pod: string;
  readonly fate: PodFate['kind'];
  /** Of one that stays or blocks. */
  readonly why?: string;
  readonly budget?: string;
  /** Its data is lost with it. */
  readonly losesEmptyDir?: true;
  readonly graceSeconds?: number;
}

export interface WorkerPreview {
  readonly worker: string;
  readonly node: string;
  readonly readiness: ClusterNode['readiness'] | 'missing';
  readonly isUnschedulable: boolean;
  /** Something on it blocks a drain for good. */
  readonly isBlocked: boolean;
  readonly pods: readonly PodPreview[];
}

export async function previewWorker(
  api: ClusterApi,
  { id, doc }: StoredWorker,
  { policy, signal }: { readonly policy: DrainPolicy; readonly signal: AbortSignal },
): Promise<WorkerPreview> {
  const contents = await api.readContents(doc.node, { signal });
  const { pods } = planDrain(doc.node, contents, policy);
  return {
    worker: id,
    node: doc.node,
    readiness: contents.node?.readiness ?? 'missing',
    isUnschedulable: contents.node?.isUnschedulable === true,
    isBlocked: pods.some(({ fate }) => fate.kind === 'never'),
    pods: pods.map(describePod),
  };
}

function describePod({ pod: { namespace, name, graceSeconds }, fate }: PlannedPod): PodPreview {
  const named = { namespace, pod: name, fate: fate.kind };
  switch (fate.kind) {
    case 'evict':
      return {
        ...named,
        graceSeconds: fate.graceSeconds ?? graceSeconds,
        ...(fate.losesEmptyDir && { losesEmptyDir: true }),
      };
    case 'later':
      return { ...named, budget: fate.budget };
    case 'never':
      return { ...named, why: fate.why, ...(fate.budgets !== undefined && { budget: fate.budgets.join(', ') }) };
    case 'stays':
      return { ...named, why: fate.why };
    default:
      return named;
  }
}

// A Kubernetes cluster in site central with a worker that is being drained: for suites that call every route on something that is there.
import { idOf, put, type Change } from '../../src/fleet/index.ts';
import { CLUSTER, DRAIN_REPORT, MACHINE_LOG, WORKER } from '../../src/kubernetes/index.ts';

/** What is named in the paths of routes, by their folder. */
export const SAMPLE_CLUSTERS: Readonly<Record<string, string>> = {
  clusters: 'edge',
  workers: 'edge.worker-1',
  'drain-reports': 'edge.worker-1',
};

const CHANGED = { changedBy: 'test', changedAtMs: 1 };

/** Nodes of `edge` that were adopted as workers, and are in service. */
export function adoptedWorkers(nodes: readonly string[]): Change[] {
  return nodes.map((node) =>
    put(WORKER, idOf(WORKER, `edge.${node}`), {
      ...{ cluster: 'edge', node, isAdopted: true, state: 'in-service', stateSinceMs: 1, readiness: 'ready' },
      ...{ readinessSinceMs: 1, createdAtMs: 1, ...CHANGED },
    }),
  );
}

export function sampleClusters(): Change[] {
  return [
    put(CLUSTER, idOf(CLUSTER, 'edge'), {
      ...{
        name: 'edge',
        kind: 'simulated',
        site: 'central',
        reach: 'simulated',
        whenHostLeaves: 'drain',
        drainsAtOnce: 1,
      },
      drainPolicy: { deadlineMs: 300_000, evictBare: false, keepEmptyDir: false },
      ...{ state: 'reachable', sinceMs: 1, ...CHANGED },
    }),
    put(WORKER, idOf(WORKER, 'edge.worker-1'), {
      ...{ cluster: 'edge', node: 'worker-1', state: 'draining', stateSinceMs: 1, readiness: 'ready' },
      cordon: { operation: 'op-0', atMs: 1, wasUnschedulable: false, wasExcluded: false, isConfirmed: true },
      ...{ readinessSinceMs: 1, createdAtMs: 1, ...CHANGED },
    }),
    put(MACHINE_LOG, idOf(MACHINE_LOG, 'edge.worker-1'), {
      ...{
        cluster: 'edge',
        operation: 'op-0',
        text: 'This node has joined the cluster\n',
        isCut: false,
        exitCode: 0,
        atMs: 1,
      },
    }),
    put(DRAIN_REPORT, idOf(DRAIN_REPORT, 'edge.worker-1'), {
      ...{ cluster: 'edge', operation: 'op-0', left: 1, terminating: 0, moreBlockers: 0, atMs: 1 },
      blockers: [{ node: 'worker-1', namespace: 'default', pod: 'web-0', reason: 'budget', budget: 'web' }],
    }),
  ];
}

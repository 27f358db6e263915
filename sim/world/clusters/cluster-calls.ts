// What a server does at a cluster, for checkers: each call that may change something there when it is sent, and again when it has been served.
import type { NodeMarks, PodEviction } from '../../../src/kubernetes/cluster-api/cluster-api.ts';
import type { NodeOrder } from '../../../src/kubernetes/drain/node-order.ts';
import type { SimulatedClusterNode, SimulatedPod } from '../../../src/kubernetes/cluster-api/simulated/objects.ts';
import type { Program } from '../../kernel/program.ts';
import type { IncarnationContext } from '../server.ts';
import type { SimCluster } from './sim-cluster.ts';

/** The action of an operation that a call is made for. */
export interface ActingOrder {
  readonly operation: string;
  readonly item: string;
  readonly deadlineAtMs: number;
  readonly order: NodeOrder;
}

type Changed =
  | { readonly call: 'markNode'; readonly node: string; readonly uid: string; readonly marks: NodeMarks }
  | { readonly call: 'deleteNode'; readonly node: string; readonly uid: string }
  | { readonly call: 'evict'; readonly node: string | undefined; readonly pod: PodEviction }
  | { readonly call: 'heartbeatNode'; readonly node: string };

export interface ClusterCall {
  readonly cluster: SimCluster;
  readonly by: IncarnationContext;
  readonly program: Program;
  /** Absent for what controllers do. */
  readonly acting: ActingOrder | undefined;
  readonly changed: Changed;
}

/** How a cluster was just before a call was served. */
export interface ClusterContents {
  readonly nodes: ReadonlyMap<string, SimulatedClusterNode>;
  readonly pods: ReadonlyMap<string, SimulatedPod>;
  /** Ready pods of each workload that has a budget. */
  readonly ready: ReadonlyMap<string, number>;
}

export function stateOf({ memory }: SimCluster): ClusterContents {
  const look = memory.look();
  const { nodes, pods, workloads } = memory.objects;
  const ready = new Map<string, number>();
  const contents = nodes.list().flatMap(([name]) => look.readContents(name).pods);
  for (const [id, { minAvailable }] of workloads.list())
    if (minAvailable !== undefined)
      ready.set(
        id,
        contents.filter((pod) => pod.isReady && pods.get(`${pod.namespace}.${pod.name}`)?.workload === id).length,
      );
  return { nodes: new Map(nodes.list()), pods: new Map(pods.list()), ready };
}

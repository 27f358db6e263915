// What a simulated cluster has at first, and that it goes with the cluster.
import { idOf, put, type Change, type FleetReader } from '../../../fleet/index.ts';
import { FleetObjects } from './fleet-objects.ts';
import { SIMULATED_NODE, SIMULATED_WORKLOAD } from './model.ts';

export interface SimulatedContents {
  readonly nodes: number;
  readonly workloads?: readonly {
    readonly name: string;
    readonly replicas: number;
    readonly minAvailable?: number;
  }[];
}

const GRACE_SECONDS = 30;
const START_MS = 2000;

export function composeContents(cluster: string, contents: SimulatedContents | undefined, nowMs: number): Change[] {
  const { nodes = 0, workloads = [] } = contents ?? {};
  const names = Array.from({ length: nodes }, (_, nth) => `node-${nth + 1}`);
  return [
    ...names.map((name) =>
      put(SIMULATED_NODE, idOf(SIMULATED_NODE, `${cluster}.${name}`), {
        ...{ cluster, name, uid: `${cluster}-${name}`, revision: 1, isUnschedulable: false, createdAtMs: nowMs },
        ...{ isExcludedFromLoadBalancers: false, isControlPlane: false, attachedVolumes: 0 },
      }),
    ),
    ...workloads.map(({ name, ...facts }) =>
      put(SIMULATED_WORKLOAD, idOf(SIMULATED_WORKLOAD, `${cluster}.${name}`), {
        ...{ cluster, namespace: 'default', name, ownerKind: 'ReplicaSet' as const, nextPod: 0 },
        ...{ graceSeconds: GRACE_SECONDS, startMs: START_MS, ...facts },
      }),
    ),
  ];
}

/** Another cluster of that name begins with nothing. */
export function removeContents(fleet: FleetReader, cluster: string): Change[] {
  const objects = new FleetObjects(fleet, cluster);
  for (const table of [objects.nodes, objects.workloads, objects.pods, objects.tokens])
    for (const [id] of table.list()) table.remove(id);
  return objects.changes();
}

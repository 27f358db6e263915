// The Kubernetes part of the demonstration: a simulated cluster with three machines of its own as workers, and a web service on them of which four pods have to be
// ready at any time. Pure: returns every document that is missing.
import type { Change, FleetReader } from '../fleet/index.ts';
import { composeSimulatedCluster } from '../kubernetes/index.ts';

const CLUSTER_NAME = 'shop';
const CONTENTS = { nodes: 3, workloads: [{ name: 'web', replicas: 6, minAvailable: 4 }] };

interface ChangeAuthor {
  readonly changedBy: string;
  readonly changedAtMs: number;
}

export function demoCluster(fleet: FleetReader, { changedBy: by, changedAtMs: nowMs }: ChangeAuthor): Change[] {
  return composeSimulatedCluster(fleet, { name: CLUSTER_NAME, contents: CONTENTS, by, nowMs });
}

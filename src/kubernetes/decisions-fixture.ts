// What tests outside of this module use of it.
export { composeContents } from './cluster-api/simulated/contents.ts';
export { FleetObjects } from './cluster-api/simulated/fleet-objects.ts';
export { SIMULATED_NODE, SIMULATED_POD, SIMULATED_WORKLOAD } from './cluster-api/simulated/model.ts';
export type { SimulatedClusterNode, SimulatedPod, SimulatedWorkload } from './cluster-api/simulated/objects.ts';
export { SimulatedCalls } from './cluster-api/simulated/calls.ts';
export { registerCluster } from './clusters/decide.ts';
export { CLUSTER, WORKER, type Cluster, type Worker } from './model.ts';
export { composeToken } from './join/new-token.ts';
export { WORKER_JOIN } from './join/model.ts';

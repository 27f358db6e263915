export { composeSimulatedCluster } from './clusters/simulated-with-workers.ts';
export { CLUSTER, DRAIN_REPORT, WORKER } from './model.ts';
export { MACHINE_LOG } from './join/model.ts';
export { WORKER_LIFECYCLE } from './service-keys.ts';

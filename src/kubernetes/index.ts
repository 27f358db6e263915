export { CLUSTER, DRAIN_REPORT, WORKER } from './model.ts';
export { MACHINE_LOG } from './join/model.ts';

export { CLUSTER, DRAIN_REPORT, WORKER } from './model.ts';

// Service keys of Kubernetes: running parts that others get by their names.
import { serviceKey } from '../composition/index.ts';
import type { ClusterApis } from './drain/nodes-driver.ts';
import type { WorkerLifecycle } from './workers/lifecycle.ts';

/** The APIs of the clusters that are registered. */
export const CLUSTER_APIS = serviceKey<ClusterApis>('cluster-apis');

/** How workers join, are drained, and leave. */
export const WORKER_LIFECYCLE = serviceKey<WorkerLifecycle>('worker-lifecycle');

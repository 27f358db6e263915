// The model of this module: its document kinds, indexes and invariants.
import type { Model } from '../fleet/index.ts';
import { KUBERNETES_INVARIANTS } from './invariants.ts';
import { JOINS_WITH_TOKEN, MACHINE_LOG, WORKER_JOIN, WORKER_SCRIPT } from './join/model.ts';
import {
  CLUSTER,
  CLUSTERS_BY_SITE,
  DRAIN_REPORT,
  LEAVING_WORKERS_BY_CLUSTER,
  WORKER,
  WORKERS_BY_CLUSTER,
  WORKERS_BY_INSTANCE,
} from './model.ts';

export const kubernetesModel: Model = {
  kinds: [CLUSTER, WORKER, DRAIN_REPORT, WORKER_JOIN, MACHINE_LOG, WORKER_SCRIPT],
  indexes: [CLUSTERS_BY_SITE, WORKERS_BY_CLUSTER, WORKERS_BY_INSTANCE, LEAVING_WORKERS_BY_CLUSTER, JOINS_WITH_TOKEN],
  invariants: KUBERNETES_INVARIANTS,
};

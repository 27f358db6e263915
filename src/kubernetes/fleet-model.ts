// The model of this module: its document kinds, indexes and invariants.
import type { Model } from '../fleet/index.ts';
import { KUBERNETES_INVARIANTS } from './invariants.ts';
import { CLUSTER, CLUSTERS_BY_SITE, DRAIN_REPORT, WORKER, WORKERS_BY_CLUSTER, WORKERS_BY_INSTANCE } from './model.ts';

export const kubernetesModel: Model = {
  kinds: [CLUSTER, WORKER, DRAIN_REPORT],
  indexes: [CLUSTERS_BY_SITE, WORKERS_BY_CLUSTER, WORKERS_BY_INSTANCE],
  invariants: KUBERNETES_INVARIANTS,
};

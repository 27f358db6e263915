// The Module value of Kubernetes: everything that it contributes to the program.
import { contribute, hideKind, provide, type DocumentMetric, type Module } from '../composition/index.ts';
import { noProject, wholeFleet } from '../access/index.ts';
import { Builders, BUILDERS } from '../instances/index.ts';
import { SITE_USES, type SiteUse } from '../sites/index.ts';
import { RegisteredClusters } from './cluster-api/apis-driver.ts';
import {
  SIMULATED_NODE,
  SIMULATED_POD,
  SIMULATED_TOKEN,
  SIMULATED_WORKLOAD,
  simulatedClusterModel,
} from './cluster-api/simulated/model.ts';
import { SECRETS } from '../keys/index.ts';
import { ClustersController } from './clusters/controller.ts';
import { clusterRoutes } from './clusters/routes.ts';
import { workerDrain } from './drain/drain-operation.ts';
import { NODES_DRIVER } from './drain/node-order.ts';
import { NodesDriver } from './drain/nodes-driver.ts';
import { workerRemove } from './drain/remove-operation.ts';
import { workerReturn } from './drain/return-operation.ts';
import { kubernetesModel } from './fleet-model.ts';
import { CLUSTERS_BY_SITE, WORKER, type Worker } from './model.ts';
import { KUBERNETES_REASON_CODES } from './reason-codes.ts';
import { CLUSTER_REPRESENTATION, DRAIN_REPORT_REPRESENTATION, WORKER_REPRESENTATION } from './representations.ts';
import { kubernetesSentences } from './sentences.ts';
import { CLUSTER_APIS } from './service-keys.ts';
import { adoptRoute } from './workers/adopt-routes.ts';
import { previewRoute } from './workers/preview-routes.ts';
import { workerRoutes } from './workers/routes.ts';

const CLUSTERS_OF_SITE: SiteUse = { what: 'clusters', count: (fleet, site) => fleet.countOf(CLUSTERS_BY_SITE, site) };

const WORKERS_METRIC: DocumentMetric<Worker> = {
  name: 'muster_workers',
  help: 'Kubernetes workers by state and readiness',
  kind: WORKER,
  labels: ['state', 'readiness'],
  labelsOf: (doc) => [doc.state, doc.readiness],
};

const NOWHERE = { siteOf: wholeFleet, projectOf: noProject };

export const kubernetesModule: Module = {
  name: 'kubernetes',
  models: () => [kubernetesModel, simulatedClusterModel],
  operationKinds: (composition) => [workerDrain, workerRemove(new Builders(composition.all(BUILDERS))), workerReturn],
  contributions: [contribute(SITE_USES, CLUSTERS_OF_SITE)],
  reasonCodes: KUBERNETES_REASON_CODES,
  sentences: [kubernetesSentences],
  representations: () => [CLUSTER_REPRESENTATION, WORKER_REPRESENTATION, DRAIN_REPORT_REPRESENTATION],
  hiddenKinds: [
    hideKind(SIMULATED_NODE, NOWHERE),
    hideKind(SIMULATED_WORKLOAD, NOWHERE),
    hideKind(SIMULATED_POD, NOWHERE),
    hideKind(SIMULATED_TOKEN, NOWHERE),
  ],
  metrics: [WORKERS_METRIC],
  services: [
    provide(
      CLUSTER_APIS,
      (runtime) => new RegisteredClusters({ ...runtime.environment, secrets: runtime.get(SECRETS) }),
    ),
  ],
  controllers: (runtime) => [new ClustersController({ ...runtime.environment, apis: runtime.get(CLUSTER_APIS) })],
  drivers: (runtime) => ({ [NODES_DRIVER]: new NodesDriver(runtime.get(CLUSTER_APIS)) }),
  routes: (runtime) => [
    ...clusterRoutes,
    ...workerRoutes,
    adoptRoute(runtime.get(CLUSTER_APIS)),
    previewRoute(runtime.get(CLUSTER_APIS)),
  ],
};

// The Module value of Kubernetes: everything that it contributes to the program.
import { contribute, hideKind, provide, type DocumentMetric, type Module } from '../composition/index.ts';
import { noProject, wholeFleet } from '../access/index.ts';
import { EVACUATORS } from '../hosts/index.ts';
import { Builders, BUILDERS, INSTANCE_HOLDS, INSTANCE_USES } from '../instances/index.ts';
import { OPERATIONS_CONTROLLER } from '../operations/module.ts';
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
import { BACK_END_CREDENTIALS, hasCredentials } from '../network/index.ts';
import { ClustersController } from './clusters/controller.ts';
import { lookFirst } from './clusters/first-look-driver.ts';
import { editClusterRoute } from './clusters/edit-routes.ts';
import { clusterRoutes } from './clusters/routes.ts';
import { workerDrain } from './drain/drain-operation.ts';
import { NODES_DRIVER } from './drain/node-order.ts';
import { NodesDriver } from './drain/nodes-driver.ts';
import { workerRemove } from './drain/remove-operation.ts';
import { workerReturn } from './drain/return-operation.ts';
import { workerEvacuate } from './evacuation/evacuate-operation.ts';
import { holdInstance } from './evacuation/evacuation-reason.ts';
import { workerEvacuator } from './evacuation/evacuator.ts';
import { workerUse } from './evacuation/instance-use.ts';
import { NEW_TOKENS_DRIVER } from './evacuation/new-token-order.ts';
import { NewTokensDriver } from './evacuation/new-tokens-driver.ts';
import { workerRejoin } from './evacuation/rejoin-operation.ts';
import { ReturnsController } from './evacuation/returns-controller.ts';
import { kubernetesModel } from './fleet-model.ts';
import { CLUSTERS_BY_SITE, WORKER, type Worker } from './model.ts';
import { workerAdd } from './join/add-operation.ts';
import { JOINS_DRIVER } from './join/join-order.ts';
import { JoinsDriver } from './join/joins-driver.ts';
import { MACHINE_LOG, WORKER_JOIN, WORKER_SCRIPT } from './join/model.ts';
import { addRoute, machineLogRoute } from './join/routes.ts';
import { joinSentences } from './join/sentences.ts';
import { TokensController } from './join/tokens-controller.ts';
import { SimulatedKubeletsController } from './machines/simulated-kubelets-controller.ts';
import { readDefaultScript } from './machines/ssh/default-script-driver.ts';
import { SshReach } from './machines/ssh/reach-driver.ts';
import { KUBERNETES_REASON_CODES } from './reason-codes.ts';
import {
  CLUSTER_REPRESENTATION,
  DRAIN_REPORT_REPRESENTATION,
  projectOfCluster,
  siteOfCluster,
  WORKER_REPRESENTATION,
} from './representations.ts';
import { kubernetesSentences } from './sentences.ts';
import { CLUSTER_APIS, WORKER_LIFECYCLE } from './service-keys.ts';
import { adoptRoute } from './workers/adopt-routes.ts';
import { workerLifecycle } from './workers/lifecycle.ts';
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

const OF_CLUSTER = { siteOf: siteOfCluster, projectOf: projectOfCluster };
const NOWHERE = { siteOf: wholeFleet, projectOf: noProject };

export const kubernetesModule: Module = {
  name: 'kubernetes',
  models: () => [kubernetesModel, simulatedClusterModel],
  operationKinds: (composition) => {
    const builders = new Builders(composition.all(BUILDERS));
    return [workerAdd(builders), workerDrain, workerRemove(builders), workerReturn, workerEvacuate, workerRejoin];
  },
  contributions: [
    contribute(SITE_USES, CLUSTERS_OF_SITE),
    contribute(EVACUATORS, workerEvacuator),
    contribute(INSTANCE_HOLDS, holdInstance),
    contribute(INSTANCE_USES, workerUse),
  ],
  reasonCodes: KUBERNETES_REASON_CODES,
  sentences: [kubernetesSentences, joinSentences],
  representations: () => [CLUSTER_REPRESENTATION, WORKER_REPRESENTATION, DRAIN_REPORT_REPRESENTATION],
  hiddenKinds: [
    hideKind(SIMULATED_NODE, NOWHERE),
    hideKind(SIMULATED_WORKLOAD, NOWHERE),
    hideKind(SIMULATED_POD, NOWHERE),
    hideKind(SIMULATED_TOKEN, NOWHERE),
    hideKind(WORKER_JOIN, OF_CLUSTER),
    hideKind(MACHINE_LOG, OF_CLUSTER),
    hideKind(WORKER_SCRIPT, OF_CLUSTER),
  ],
  metrics: [WORKERS_METRIC],
  services: [
    provide(
      CLUSTER_APIS,
      (runtime) => new RegisteredClusters({ ...runtime.environment, secrets: runtime.get(SECRETS) }),
    ),
    provide(WORKER_LIFECYCLE, ({ composition }) => workerLifecycle(new Builders(composition.all(BUILDERS)))),
  ],
  controllers: (runtime) => {
    const options = { ...runtime.environment, apis: runtime.get(CLUSTER_APIS) };
    return [
      new ClustersController({ ...options, operations: runtime.get(OPERATIONS_CONTROLLER) }),
      new TokensController(options),
      new SimulatedKubeletsController(options),
      new ReturnsController(runtime.environment),
    ];
  },
  drivers: (runtime) => {
    const apis = runtime.get(CLUSTER_APIS);
    const secrets = runtime.get(SECRETS);
    return {
      [NODES_DRIVER]: new NodesDriver(apis),
      [NEW_TOKENS_DRIVER]: new NewTokensDriver({ ...runtime.environment, secrets }),
      [JOINS_DRIVER]: new JoinsDriver({
        ...{ ...runtime.environment, apis, secrets, defaultScript: readDefaultScript },
        reachBySsh: (machine) => new SshReach(machine, runtime.environment.clock),
      }),
    };
  },
  routes: (runtime) => [
    ...clusterRoutes(lookFirst),
    editClusterRoute(lookFirst),
    ...workerRoutes(runtime.get(WORKER_LIFECYCLE)),
    addRoute({
      lifecycle: runtime.get(WORKER_LIFECYCLE),
      hasCredentials: () => hasCredentials(runtime.get(BACK_END_CREDENTIALS)),
    }),
    machineLogRoute,
    adoptRoute(runtime.get(CLUSTER_APIS)),
    previewRoute(runtime.get(CLUSTER_APIS)),
  ],
};

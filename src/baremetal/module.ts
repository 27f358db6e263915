// The Module value of bare metal: everything that it contributes to the program.
import { contribute, provide, provideController, type DocumentMetric, type Module } from '../composition/index.ts';
import { EVACUATORS } from '../hosts/index.ts';
import { SITE_USES, type SiteUse } from '../sites/index.ts';
import { capacityRoute } from './capacity/routes.ts';
import { baremetalModel } from './fleet-model.ts';
import { ManagersController } from './managers/controller.ts';
import { managerDrainKind } from './managers/drain.ts';
import { managerEvacuator } from './managers/evacuator.ts';
import { ManagerGateway } from './managers/gateway.ts';
import { ManagerLeases } from './managers/leases.ts';
import { managerRoutes } from './managers/routes.ts';
import { managerSentences } from './managers/sentences.ts';
import { MANAGERS } from './managers/settings.ts';
import { bucketOf, MANAGER, NODE, NODES_BY_SITE, type Manager, type Node } from './model.ts';
import { nodeRoutes } from './nodes/routes.ts';
import { MANAGER_REPRESENTATION, NODE_REPRESENTATION, RESERVATION_REPRESENTATION } from './representations.ts';
import { baremetalSentences } from './sentences.ts';
import { MANAGER_GATEWAY, MANAGER_LEASES } from './service-keys.ts';

const NODES_OF_SITE: SiteUse = { what: 'nodes', count: (fleet, site) => fleet.countOf(NODES_BY_SITE, site) };

const NODES_METRIC: DocumentMetric<Node> = {
  name: 'muster_nodes',
  help: 'Bare-metal nodes by bucket; those of which only the name is kept are "removed"',
  kind: NODE,
  labels: ['bucket'],
  labelsOf: (doc) => [bucketOf(doc) ?? 'removed'],
};

const MANAGERS_METRIC: DocumentMetric<Manager> = {
  name: 'muster_managers',
  help: 'Managers of bare-metal nodes by state',
  kind: MANAGER,
  labels: ['state'],
  labelsOf: (doc) => [doc.state],
};

export const baremetalModule: Module = {
  name: 'baremetal',
  models: () => [baremetalModel],
  settings: [MANAGERS],
  operationKinds: () => [managerDrainKind],
  contributions: [contribute(SITE_USES, NODES_OF_SITE), contribute(EVACUATORS, managerEvacuator)],
  sentences: [baremetalSentences, managerSentences],
  representations: () => [NODE_REPRESENTATION, RESERVATION_REPRESENTATION, MANAGER_REPRESENTATION],
  metrics: [NODES_METRIC, MANAGERS_METRIC],
  services: [
    provide(MANAGER_LEASES, ({ environment: { clock } }) => new ManagerLeases(clock)),
    provideController(MANAGER_GATEWAY, (runtime) => {
      const { environment, composition } = runtime;
      const { journal, clock } = environment;
      return new ManagerGateway({
        journal,
        clock,
        kinds: composition.operationKinds,
        leases: runtime.get(MANAGER_LEASES),
      });
    }),
  ],
  controllers: (runtime) => [
    new ManagersController({
      ...runtime.environment,
      leases: runtime.get(MANAGER_LEASES),
      wakeManagers: () => runtime.get(MANAGER_GATEWAY).wakeAll(),
    }),
  ],
  routes: (runtime) => [...nodeRoutes, capacityRoute, ...managerRoutes(runtime.get(MANAGER_GATEWAY))],
};

// The Module value of bare metal: everything that it contributes to the program.
import {
  contribute,
  hideKind,
  provide,
  provideController,
  type DocumentMetric,
  type Module,
} from '../composition/index.ts';
import { noProject, wholeFleet } from '../access/index.ts';
import { EVACUATORS } from '../hosts/index.ts';
import { BUILDERS } from '../instances/index.ts';
import type { CertificateIssuer } from '../link/index.ts';
import { SITE_USES, type SiteUse } from '../sites/index.ts';
import { baremetalBuild } from './builder/build-operation.ts';
import { baremetalDelete, baremetalRelease } from './builder/delete-operation.ts';
import { LongWaitsController } from './builder/long-waits-controller.ts';
import { nodeBuilder } from './builder/node-builder.ts';
import { baremetalPower } from './builder/power-operation.ts';
import { builderSentences } from './builder/sentences.ts';
import { capacityRoute } from './capacity/routes.ts';
import { SimulatedInventory } from './drivers/simulated/inventory-driver.ts';
import { MACHINE, simulatedModel } from './drivers/simulated/model.ts';
import { CALL_REPRESENTATION, FAULT_REPRESENTATION } from './drivers/simulated/representations.ts';
import { simulatedInventoryRoutes } from './drivers/simulated/routes.ts';
import { SIMULATED_INVENTORY } from './drivers/simulated/settings.ts';
import { baremetalModel } from './fleet-model.ts';
import { InventoriesController } from './inventories/inventories-controller.ts';
import { INVENTORY, type InventoryNote } from './inventories/model.ts';
import { INVENTORY_REPRESENTATION, inventoryRoutes } from './inventories/routes.ts';
import { inventorySentences } from './inventories/sentences.ts';
import { INVENTORY_REFRESH } from './inventories/settings.ts';
import { denyUnlessAwaited } from './managers/awaited-call.ts';
import { ManagersController } from './managers/controller.ts';
import { managerDrainKind } from './managers/drain.ts';
import { managerEvacuator } from './managers/evacuator.ts';
import { ManagerGateway } from './managers/gateway.ts';
import { ManagerLeases } from './managers/leases.ts';
import { managerRebalanceKind } from './managers/rebalance.ts';
import { managerRoutes } from './managers/routes.ts';
import { denyUnlessManages } from './managers/right.ts';
import { managerSentences } from './managers/sentences.ts';
import { MANAGERS } from './managers/settings.ts';
import {
  bucketOf,
  MANAGER,
  NODE,
  NODES_BY_SITE,
  RESERVATION,
  type Manager,
  type Node,
  type Reservation,
} from './model.ts';
import { MANAGER_REPRESENTATION, NODE_REPRESENTATION } from './representations.ts';
import { BAREMETAL_REASON_CODES } from './reason-codes.ts';
import { ClaimModesController } from './reservations/claim-modes-controller.ts';
import { reservationClaim } from './reservations/claim-operation.ts';
import { CLAIMS_DRIVER } from './reservations/claim-order.ts';
import { ClaimsDriver } from './reservations/claims-driver.ts';
import { reservationRelease } from './reservations/release-operation.ts';
import { RESERVATION_REPRESENTATION } from './reservations/representation.ts';
import { reservationRoutes } from './reservations/routes.ts';
import { reservationSentences } from './reservations/sentences.ts';
import { UnusedReservationsController } from './reservations/unused-controller.ts';
import { nodeRoutes } from './nodes/routes.ts';
import { baremetalSentences } from './sentences.ts';
import {
  CLAIM_MODES,
  INVENTORIES,
  INVENTORIES_CONTROLLER,
  MANAGER_CERTIFICATES,
  MANAGER_GATEWAY,
  MANAGER_LEASES,
  OUTSIDE_INVENTORIES,
} from './service-keys.ts';

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

const RESERVATIONS_METRIC: DocumentMetric<Reservation> = {
  name: 'muster_reservations',
  help: 'Reservations of bare-metal nodes by state',
  kind: RESERVATION,
  labels: ['state'],
  labelsOf: (doc) => [doc.state],
};

const INVENTORIES_METRIC: DocumentMetric<InventoryNote> = {
  name: 'muster_inventories',
  help: 'Inventories of bare-metal nodes outside Muster: 1 for whether each answers, and how claims are made there',
  kind: INVENTORY,
  labels: ['inventory', 'claims', 'reachable'],
  labelsOf: ({ name, claims = 'unknown', unreachable }) => [name, claims, unreachable === undefined ? 'yes' : 'no'],
};

function keysSerialOf(issuer: CertificateIssuer | undefined): (() => number) | undefined {
  return issuer && (() => issuer.serial);
}

export const baremetalModule: Module = {
  name: 'baremetal',
  models: () => [baremetalModel, simulatedModel],
  settings: [MANAGERS, SIMULATED_INVENTORY, INVENTORY_REFRESH],
  operationKinds: () => [
    managerDrainKind,
    managerRebalanceKind,
    reservationClaim,
    reservationRelease,
    baremetalBuild,
    baremetalDelete,
    baremetalRelease,
    baremetalPower,
  ],
  contributions: [
    contribute(SITE_USES, NODES_OF_SITE),
    contribute(EVACUATORS, managerEvacuator),
    contribute(BUILDERS, nodeBuilder),
  ],
  reasonCodes: BAREMETAL_REASON_CODES,
  sentences: [baremetalSentences, managerSentences, builderSentences, reservationSentences, inventorySentences],
  representations: () => [
    NODE_REPRESENTATION,
    RESERVATION_REPRESENTATION,
    MANAGER_REPRESENTATION,
    INVENTORY_REPRESENTATION,
    FAULT_REPRESENTATION,
    CALL_REPRESENTATION,
  ],
  hiddenKinds: [hideKind(MACHINE, { siteOf: wholeFleet, projectOf: noProject })],
  metrics: [NODES_METRIC, MANAGERS_METRIC, RESERVATIONS_METRIC, INVENTORIES_METRIC],
  services: [
    provide(INVENTORIES, (runtime) => {
      const all = [new SimulatedInventory(runtime.environment), ...(runtime.find(OUTSIDE_INVENTORIES) ?? [])];
      return new Map(all.map((inventory) => [inventory.name, inventory]));
    }),
    provideController(
      CLAIM_MODES,
      (runtime) => new ClaimModesController({ ...runtime.environment, inventories: runtime.get(INVENTORIES) }),
    ),
    provideController(
      INVENTORIES_CONTROLLER,
      (runtime) => new InventoriesController({ ...runtime.environment, inventories: runtime.get(INVENTORIES) }),
    ),
    provide(MANAGER_LEASES, ({ environment: { clock } }) => new ManagerLeases(clock)),
    provideController(MANAGER_GATEWAY, (runtime) => {
      const { environment, composition } = runtime;
      const { journal, clock } = environment;
      return new ManagerGateway({
        journal,
        clock,
        kinds: composition.operationKinds,
        leases: runtime.get(MANAGER_LEASES),
        keysSerial: keysSerialOf(runtime.find(MANAGER_CERTIFICATES)?.issuer),
      });
    }),
  ],
  controllers: (runtime) => [
    new ManagersController({
      ...runtime.environment,
      leases: runtime.get(MANAGER_LEASES),
      wakeManagers: () => runtime.get(MANAGER_GATEWAY).wakeAll(),
    }),
    new UnusedReservationsController(runtime.environment),
    new LongWaitsController(runtime.environment),
  ],
  drivers: (runtime) => ({
    [CLAIMS_DRIVER]: new ClaimsDriver({ ...runtime.environment, inventories: runtime.get(INVENTORIES) }),
  }),
  routes: (runtime) => {
    const { isLive: isLeaseLive } = runtime.get(MANAGER_LEASES);
    const { operationKinds } = runtime.composition;
    return [
      ...nodeRoutes,
      capacityRoute,
      ...inventoryRoutes,
      ...reservationRoutes({ claimModeOf: runtime.get(CLAIM_MODES).modeOf, isLeaseLive }),
      ...managerRoutes(runtime.get(MANAGER_GATEWAY), runtime.find(MANAGER_CERTIFICATES)?.issuer),
      ...simulatedInventoryRoutes(
        (fleet, call) =>
          denyUnlessManages(fleet, { ...call, isLeaseLive }) ?? denyUnlessAwaited(fleet, operationKinds, call),
      ),
    ];
  },
};

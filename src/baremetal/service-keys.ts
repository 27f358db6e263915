// Service keys of bare metal: running parts that its own modules, and others, get by their names.
import { serviceKey } from '../composition/index.ts';
import type { CertificateIssuer } from '../link/index.ts';
import type { Inventory } from './drivers/inventory.ts';
import type { InventoriesController } from './inventories/inventories-controller.ts';
import type { ManagerGateway } from './managers/gateway.ts';
import type { ManagerLeases } from './managers/leases.ts';
import type { InventoryName } from './model.ts';
import type { ClaimModesController } from './reservations/claim-modes-controller.ts';

/** Absent where managers get no certificates. */
export const MANAGER_CERTIFICATES = serviceKey<{ readonly issuer?: CertificateIssuer | undefined }>(
  'manager-certificates',
);
/** What the store said of the managers' leases. */
export const MANAGER_LEASES = serviceKey<ManagerLeases>('manager-leases');
export const MANAGER_GATEWAY = serviceKey<ManagerGateway>('manager-gateway');
/** What knows the machines, by name: at the server that decides, nodes are listed and claimed through it. */
export const INVENTORIES = serviceKey<ReadonlyMap<InventoryName, Inventory>>('node-inventories');
/** Those beside the simulated one, as the server was started with them; none unless it says so. */
export const OUTSIDE_INVENTORIES = serviceKey<readonly Inventory[]>('outside-inventories');
/** What reads them, all the time. */
export const INVENTORIES_CONTROLLER = serviceKey<InventoriesController>('inventories-controller');
/** How each inventory has claims made. */
export const CLAIM_MODES = serviceKey<ClaimModesController>('node-claim-modes');

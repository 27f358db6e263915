// Service keys of bare metal: running parts that its own modules, and others, get by their names.
import { serviceKey } from '../composition/index.ts';
import type { ManagerGateway } from './managers/gateway.ts';
import type { ManagerLeases } from './managers/leases.ts';

/** What the store said of the managers' leases. */
export const MANAGER_LEASES = serviceKey<ManagerLeases>('manager-leases');
export const MANAGER_GATEWAY = serviceKey<ManagerGateway>('manager-gateway');

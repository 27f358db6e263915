// The HTTP surface of this room, without what belongs to its back ends.
import type { Route } from '../access/index.ts';
import { floatingAddressRoutes } from './floating-address-routes.ts';
import { networkOnlyRoutes } from './network-routes.ts';
import { portRoutes } from './port-routes.ts';
import { quotaRoutes } from './quota-routes.ts';
import { routerRoutes } from './router-routes.ts';
import { segmentRoutes } from './segment-routes.ts';
import { subnetRoutes } from './subnet-routes.ts';
import { transportZoneRoutes } from './transport-zone-routes.ts';

export const networkRoutes: readonly Route[] = [
  ...networkOnlyRoutes,
  ...segmentRoutes,
  ...subnetRoutes,
  ...portRoutes,
  ...quotaRoutes,
  ...routerRoutes,
  ...floatingAddressRoutes,
  ...transportZoneRoutes,
];

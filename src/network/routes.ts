// The HTTP surface of this module, without its back ends.
import type { Route } from '../access/index.ts';
import { floatingAddressRoutes } from './routers/floating-address-routes.ts';
import { networkOnlyRoutes } from './networks/routes.ts';
import { portRoutes } from './ports/routes.ts';
import { quotaRoutes } from './quotas/routes.ts';
import { routerRoutes } from './routers/routes.ts';
import { segmentRoutes } from './networks/segment-routes.ts';
import { subnetRoutes } from './networks/subnet-routes.ts';
import { transportZoneRoutes } from './tunnels/transport-zone-routes.ts';

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

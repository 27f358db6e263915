// The HTTP surface of this room, without what belongs to its back ends.
import type { Route, View } from '../access/index.ts';
import { networkOnlyRoutes } from './network-routes.ts';
import { portRoutes } from './port-routes.ts';
import { quotaRoutes } from './quota-routes.ts';
import { segmentRoutes } from './segment-routes.ts';
import { subnetRoutes } from './subnet-routes.ts';
import { NETWORK_VIEW, PORT_VIEW, QUOTA_VIEW, SEGMENT_VIEW, SUBNET_VIEW } from './views.ts';

export const networkRoutes: readonly Route[] = [
  ...networkOnlyRoutes,
  ...segmentRoutes,
  ...subnetRoutes,
  ...portRoutes,
  ...quotaRoutes,
];

/** How this room's kinds are shown to watchers and in the history. */
export const networkViews: readonly View<string, never>[] = [
  NETWORK_VIEW,
  SEGMENT_VIEW,
  SUBNET_VIEW,
  PORT_VIEW,
  QUOTA_VIEW,
];

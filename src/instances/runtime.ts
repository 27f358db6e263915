export { DegradedController } from './degraded-controller.ts';
export { flavorRoutes } from './flavor-routes.ts';
export { groupRoutes } from './group-routes.ts';
export { instanceRoutes } from './instance-routes.ts';
export { tenantRoutes } from './tenant-routes.ts';
export { FLAVOR_VIEW, GROUP_VIEW, INSTANCE_VIEW } from './views.ts';

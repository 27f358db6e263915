export { tenantRoutes } from './tenant-routes.ts';

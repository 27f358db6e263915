export { tenantRoutes } from './evacuation/tenant-routes.ts';

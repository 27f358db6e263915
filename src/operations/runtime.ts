export { OperationsController } from './controller.ts';
export { DECIDING_LEASE, LeaseController } from './lease-controller.ts';
export { operationRoutes, operationViews } from './routes.ts';

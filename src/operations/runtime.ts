export { OperationsController } from './controller.ts';
export { DECIDING_LEASE, LeaseController } from './lease-controller.ts';

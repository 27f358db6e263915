export { AdminTokenController } from './admin-token-controller.ts';
export { IntegrityController } from './integrity-controller.ts';

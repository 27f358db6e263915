export { AdminTokenController } from './admin-token-controller.ts';

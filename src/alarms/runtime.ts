export { IntegrityController } from './integrity-controller.ts';

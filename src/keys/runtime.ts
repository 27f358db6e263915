export { KeysController } from './keys-controller.ts';

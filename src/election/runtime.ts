export { ElectionController } from './controller.ts';

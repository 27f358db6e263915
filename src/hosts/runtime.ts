export { LivenessController } from './liveness-controller.ts';

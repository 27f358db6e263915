export { LivenessController } from './liveness/controller.ts';
export { scaleInRoutes } from './scale-in/routes.ts';

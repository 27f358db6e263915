export { HOST_VIEW } from './host-view.ts';
export { HostAlarmsController } from './host-alarms-controller.ts';
export { LivenessController } from './liveness-controller.ts';
export { hostRoutes } from './routes.ts';
export { ScaleInController } from './scale-in-controller.ts';
export { scaleInRoutes } from './scale-in-routes.ts';

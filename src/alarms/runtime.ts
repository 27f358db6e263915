export { alarmRoutes, alarmView } from './routes.ts';
export { IntegrityController } from './integrity-controller.ts';

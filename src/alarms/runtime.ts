export { alarmRoutes, alarmView } from './routes.ts';

export { ElectionController } from './controller.ts';
export { serviceRoutes } from './routes.ts';
export { SERVICE_VIEW } from './views.ts';

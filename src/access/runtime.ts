export { tokenRoutes } from './routes.ts';
export type { Bound } from './routes.ts';

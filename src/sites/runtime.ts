export { SITE_VIEW } from './routes.ts';

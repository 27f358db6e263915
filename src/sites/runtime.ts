export { SITE_VIEW, siteRoutes } from './routes.ts';

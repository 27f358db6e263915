export { SITE_REPRESENTATION } from './routes.ts';

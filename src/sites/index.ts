export { createSite, unknownSite } from './decide.ts';
export { FIRST_SITE, NAME, SITE, sitesModel } from './model.ts';
export type { Site, SiteUse } from './model.ts';
export { SITE_USES } from './site-use.ts';

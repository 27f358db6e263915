export { createSite, unknownSite } from './decide.ts';
export { FIRST_SITE, NAME_PATTERN, SITE, sitesModel } from './model.ts';
export type { Site, SiteUse } from './model.ts';

export { createSite, deleteSite, describeSite, unknownSite } from './decide.ts';
export type { CreateSite, DeleteSite } from './decide.ts';
export { FIRST_SITE, NAME_PATTERN, SITE, sitesModel } from './model.ts';
export type { Site, SiteId, SiteUse } from './model.ts';

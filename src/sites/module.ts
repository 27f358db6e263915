import { TOKEN_SITE_KIND } from '../access/module.ts';
import { contribute, type Module } from '../composition/index.ts';
import { SITE, sitesModel } from './model.ts';
import { SITE_REPRESENTATION, siteRoutes } from './routes.ts';
import { SITE_USES } from './site-use.ts';

export const sitesModule: Module = {
  name: 'sites',
  models: () => [sitesModel],
  contributions: [contribute(TOKEN_SITE_KIND, SITE)],
  representations: () => [SITE_REPRESENTATION],
  routes: ({ composition }) => siteRoutes(composition.all(SITE_USES)),
};

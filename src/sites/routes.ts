// The HTTP surface of sites. A site-bound caller sees its own; making and deleting sites is for the whole fleet's admins.
import { Type } from 'typebox';
import {
  BY_ID,
  closed,
  createRoute,
  deleteRoute,
  readRoutes,
  resourceAfter,
  viewOf,
  write,
  type Listing,
  type Resource,
  type Route,
} from '../access/index.ts';
import { createSite, deleteSite, describeSite } from './decide.ts';
import { NAME, SITE, type Site, type SiteUse } from './model.ts';

const DESCRIPTION = Type.String({ maxLength: 500 });

export const SITE_VIEW = viewOf<'site', Site>({
  kind: SITE,
  siteOf: (_, id) => id,
  fields: {
    name: Type.String(),
    description: Type.Optional(DESCRIPTION),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
});

const LISTING: Listing<'site', Site> = {
  view: SITE_VIEW,
  filters: {},
  nameIsId: true,
  sorts: { name: (doc) => doc.name },
};
const SITES: Resource<'site', Site> = { path: '/api/v1/sites', what: 'sites', one: 'site', view: SITE_VIEW };

export function siteRoutes(uses: readonly SiteUse[]): Route[] {
  return [
    ...readRoutes(SITES, { listing: LISTING, scope: 'site' }),
    create,
    describe,
    deleteRoute(SITES, {
      about: 'Delete a site that holds nothing any more',
      access: 'admin',
      decide: (fleet, { id }) => deleteSite(fleet, { name: id, uses }),
    }),
  ];
}

const create = createRoute(SITES, {
  about: 'Create a site',
  access: 'admin',
  body: closed({ name: NAME, description: Type.Optional(DESCRIPTION) }),
  decide: (fleet, body, { by, nowMs }) => createSite(fleet, { ...body, by, nowMs }),
});

const describe = write({
  method: 'PATCH',
  path: `${SITES.path}/:id`,
  tag: 'sites',
  about: 'Describe a site; without a description the old one goes',
  access: 'admin',
  params: BY_ID,
  body: closed({ description: Type.Optional(DESCRIPTION) }),
  answers: { 200: { about: 'the site', schema: SITE_VIEW.schema } },
  handle: ({ params, body, caller }, { clock }) => {
    const command = { name: params.id, ...body, by: caller.name, nowMs: clock.nowMs() };
    return {
      target: { view: SITE_VIEW, id: params.id },
      why: `describe site ${params.id}`,
      decide: (fleet) => describeSite(fleet, command),
      answer: (_, after) => resourceAfter(SITE_VIEW, after, params),
    };
  },
});

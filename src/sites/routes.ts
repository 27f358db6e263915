// The HTTP surface of sites. A site-bound caller sees its own; making and deleting sites is for the whole fleet's admins.
import { Type } from 'typebox';
import {
  BY_ID,
  strictObject,
  createRoute,
  deleteRoute,
  readRoutes,
  renderCommitted,
  defineRepresentation,
  noProject,
  write,
  type Listing,
  type Resource,
  type Route,
} from '../access/index.ts';
import { createSite, deleteSite, describeSite } from './decide.ts';
import { NAME, SITE, type Site, type SiteUse } from './model.ts';

const DESCRIPTION = Type.String({ maxLength: 500 });

export const SITE_REPRESENTATION = defineRepresentation<'site', Site>({
  kind: SITE,
  siteOf: (doc) => doc.name,
  projectOf: noProject,
  fields: {
    name: Type.String(),
    description: Type.Optional(DESCRIPTION),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
});

const LISTING: Listing<'site', Site> = {
  representation: SITE_REPRESENTATION,
  filters: {},
  nameIsId: true,
  sorts: { name: (doc) => doc.name },
};
const SITES: Resource<'site', Site> = {
  path: '/api/v1/sites',
  plural: 'sites',
  singular: 'site',
  representation: SITE_REPRESENTATION,
};

export function siteRoutes(uses: readonly SiteUse[]): Route[] {
  return [
    ...readRoutes(SITES, { listing: LISTING, scope: 'site' }),
    createSiteRoute,
    describeSiteRoute,
    deleteRoute(SITES, {
      about: 'Delete a site that holds nothing any more',
      access: 'admin',
      decide: (fleet, { id }) => deleteSite(fleet, { name: id, uses }),
    }),
  ];
}

const createSiteRoute = createRoute(SITES, {
  about: 'Create a site',
  access: 'admin',
  body: strictObject({ name: NAME, description: Type.Optional(DESCRIPTION) }),
  decide: (fleet, body, { by, nowMs }) => createSite(fleet, { ...body, by, nowMs }),
});

const describeSiteRoute = write({
  method: 'PATCH',
  path: `${SITES.path}/:id`,
  tag: 'sites',
  about: 'Describe a site; without a description the old one goes',
  access: 'admin',
  params: BY_ID,
  body: strictObject({ description: Type.Optional(DESCRIPTION) }),
  answers: { 200: { about: 'the site', schema: SITE_REPRESENTATION.schema } },
  handle: ({ params, body, caller }, { clock }) => {
    const command = { name: params.id, ...body, by: caller.name, nowMs: clock.nowMs() };
    return {
      target: { representation: SITE_REPRESENTATION, id: params.id },
      why: `describe site ${params.id}`,
      decide: (fleet) => describeSite(fleet, command),
      answer: ({ after }) => renderCommitted(SITE_REPRESENTATION, after, params),
    };
  },
});

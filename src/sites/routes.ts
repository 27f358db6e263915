// The HTTP surface of sites. A site-bound caller sees its own; making and deleting sites is for the whole fleet's admins.
import { Type } from 'typebox';
import {
  BY_ID,
  closed,
  listAnswer,
  listQuery,
  listResources,
  read,
  readResource,
  resourceAfter,
  viewOf,
  write,
  type Listing,
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
const ONE = { 200: { about: 'the site', schema: SITE_VIEW.schema } };

export function siteRoutes(uses: readonly SiteUse[]): Route[] {
  return [listSites, getSite, create, describe, deleteRoute(uses)];
}

const listSites = read({
  method: 'GET',
  path: '/api/v1/sites',
  tag: 'sites',
  about: 'List sites',
  access: 'viewer',
  scope: 'site',
  query: listQuery(LISTING),
  answers: { 200: { about: 'a page of sites', schema: listAnswer(SITE_VIEW) } },
  handle: (call, { journal }) => listResources(journal.fleet, LISTING, call),
});

const getSite = read({
  method: 'GET',
  path: '/api/v1/sites/:id',
  tag: 'sites',
  about: 'Show a site',
  access: 'viewer',
  scope: 'site',
  params: BY_ID,
  answers: ONE,
  handle: (call, { journal }) => readResource(journal.fleet, SITE_VIEW, call),
});

const create = write({
  method: 'POST',
  path: '/api/v1/sites',
  tag: 'sites',
  about: 'Create a site',
  access: 'admin',
  body: closed({ name: NAME, description: Type.Optional(DESCRIPTION) }),
  answers: { 201: { about: 'the site', schema: SITE_VIEW.schema } },
  handle: ({ body, caller }, { clock }) => {
    const command = { ...body, by: caller.name, nowMs: clock.nowMs() };
    return {
      why: `create site ${body.name}`,
      decide: (fleet) => createSite(fleet, command),
      answer: ({ name }, after) =>
        resourceAfter(SITE_VIEW, after, { id: name, status: 201, location: `/api/v1/sites/${name}` }),
    };
  },
});

const describe = write({
  method: 'PATCH',
  path: '/api/v1/sites/:id',
  tag: 'sites',
  about: 'Describe a site; without a description the old one goes',
  access: 'admin',
  params: BY_ID,
  body: closed({ description: Type.Optional(DESCRIPTION) }),
  answers: ONE,
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

function deleteRoute(uses: readonly SiteUse[]): Route {
  return write({
    method: 'DELETE',
    path: '/api/v1/sites/:id',
    tag: 'sites',
    about: 'Delete a site that holds nothing any more',
    access: 'admin',
    params: BY_ID,
    answers: { 200: { about: 'the site as it was', schema: SITE_VIEW.schema } },
    handle: ({ params }) => ({
      target: { view: SITE_VIEW, id: params.id },
      why: `delete site ${params.id}`,
      decide: (fleet) => deleteSite(fleet, { name: params.id, uses }),
      answer: (site) => ({ kind: 'answer', status: 200, text: SITE_VIEW.text(site) }),
    }),
  });
}

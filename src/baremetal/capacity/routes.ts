// The HTTP surface of capacity: a page of figures, from counters.
import { Type } from 'typebox';
import { answer, ID, read, strictObject, type Route } from '../../access/index.ts';
import { CAPACITY_SCHEMA, describeCapacity } from './capacity.ts';

export const capacityRoute: Route = read({
  method: 'GET',
  path: '/api/v1/capacity',
  tag: 'nodes',
  about: 'Show how many nodes are free, in use, being cleaned or unavailable: in all, by site and by resource class',
  access: 'viewer',
  scope: 'site',
  query: strictObject({
    site: Type.Optional(ID),
    resourceClass: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
  }),
  answers: { 200: { about: 'the figures', schema: CAPACITY_SCHEMA } },
  handle: ({ query: { site, resourceClass }, caller }, { journal: { fleet } }) => {
    // Whoever is bound to a site has no other: there is nothing in it then.
    const isVisible = caller.site === undefined || site === caller.site || site === undefined;
    return answer(describeCapacity(fleet, { site: isVisible ? (caller.site ?? site) : NO_SITE, resourceClass }));
  },
});

/** No site has this name. */
const NO_SITE = '';

// The HTTP surface of flavors. Everybody who sees the fleet reads them; they are made by operators of the whole fleet.
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
  write,
  type Listing,
  type Route,
} from '../access/index.ts';
import { createFlavor, deleteFlavor } from './flavors.ts';
import { FLAVOR_SCHEMA, type Flavor } from './model.ts';
import { FLAVOR_VIEW } from './views.ts';

const LISTING: Listing<'flavor', Flavor> = {
  view: FLAVOR_VIEW,
  filters: {},
  nameIsId: true,
  sorts: {
    name: (doc) => doc.name,
    vcpus: (doc) => doc.vcpus,
    memoryMiB: (doc) => doc.memoryMiB,
    diskGiB: (doc) => doc.diskGiB,
  },
};

const FLAVORS = '/api/v1/flavors';
const { name, vcpus, memoryMiB, diskGiB, resources, requiredTraits, forbiddenTraits } = FLAVOR_SCHEMA.properties;

export const flavorRoutes: readonly Route[] = [
  read({
    method: 'GET',
    path: FLAVORS,
    tag: 'flavors',
    about: 'List flavors',
    access: 'viewer',
    query: listQuery(LISTING),
    answers: { 200: { about: 'a page of flavors', schema: listAnswer(FLAVOR_VIEW) } },
    handle: (call, { journal }) => listResources(journal.fleet, LISTING, call),
  }),
  read({
    method: 'GET',
    path: `${FLAVORS}/:id`,
    tag: 'flavors',
    about: 'Show a flavor',
    access: 'viewer',
    params: BY_ID,
    answers: { 200: { about: 'the flavor', schema: FLAVOR_VIEW.schema } },
    handle: (call, { journal }) => readResource(journal.fleet, FLAVOR_VIEW, call),
  }),
  write({
    method: 'POST',
    path: FLAVORS,
    tag: 'flavors',
    about: 'Create a flavor: what one instance of it takes of a host, and what that host must have',
    access: 'operator',
    body: closed({
      name,
      vcpus,
      memoryMiB,
      diskGiB,
      resources,
      requiredTraits: Type.Optional(requiredTraits),
      forbiddenTraits: Type.Optional(forbiddenTraits),
    }),
    answers: { 201: { about: 'the flavor', schema: FLAVOR_VIEW.schema } },
    handle: ({ body, caller }, { clock }) => {
      const command = { ...body, by: caller.name, nowMs: clock.nowMs() };
      return {
        why: `create flavor ${body.name}`,
        decide: (fleet) => createFlavor(fleet, command),
        answer: (_, after) =>
          resourceAfter(FLAVOR_VIEW, after, { id: body.name, status: 201, location: `${FLAVORS}/${body.name}` }),
      };
    },
  }),
  write({
    method: 'DELETE',
    path: `${FLAVORS}/:id`,
    tag: 'flavors',
    about: 'Delete a flavor that no instance uses any more',
    access: 'operator',
    params: BY_ID,
    answers: { 200: { about: 'the flavor as it was', schema: FLAVOR_VIEW.schema } },
    handle: ({ params }) => ({
      target: { view: FLAVOR_VIEW, id: params.id },
      why: `delete flavor ${params.id}`,
      decide: (fleet) => deleteFlavor(fleet, params.id),
      answer: (flavor) => ({ kind: 'answer', status: 200, text: FLAVOR_VIEW.text(flavor) }),
    }),
  }),
];

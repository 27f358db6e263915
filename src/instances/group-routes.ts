// The HTTP surface of server groups.
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
import { createGroup, deleteGroup, editGroup } from './groups.ts';
import { GROUP_SCHEMA, type Group } from './model.ts';
import { GROUP_VIEW } from './views.ts';

const { name, project, policy, movesAtOnce } = GROUP_SCHEMA.properties;

const LISTING: Listing<'group', Group> = {
  view: GROUP_VIEW,
  filters: {
    project: { schema: project, of: (doc) => [doc.project] },
    policy: { schema: policy, of: (doc) => [doc.policy] },
  },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, project: (doc) => doc.project },
};

const GROUPS = '/api/v1/groups';
const LIMIT = Type.Integer({ minimum: 1, maximum: 10_000 });
const DEFAULT_PROJECT = 'default';

export const groupRoutes: readonly Route[] = [
  read({
    method: 'GET',
    path: GROUPS,
    tag: 'groups',
    about: 'List server groups',
    access: 'viewer',
    query: listQuery(LISTING),
    answers: { 200: { about: 'a page of server groups', schema: listAnswer(GROUP_VIEW) } },
    handle: (call, { journal }) => listResources(journal.fleet, LISTING, call),
  }),
  read({
    method: 'GET',
    path: `${GROUPS}/:id`,
    tag: 'groups',
    about: 'Show a server group',
    access: 'viewer',
    params: BY_ID,
    answers: { 200: { about: 'the server group', schema: GROUP_VIEW.schema } },
    handle: (call, { journal }) => readResource(journal.fleet, GROUP_VIEW, call),
  }),
  write({
    method: 'POST',
    path: GROUPS,
    tag: 'groups',
    about: 'Create a server group: its instances are kept together or apart, strictly or as far as it goes',
    access: 'operator',
    body: closed({ name, policy, project: Type.Optional(project), movesAtOnce }),
    answers: { 201: { about: 'the server group', schema: GROUP_VIEW.schema } },
    handle: ({ body, caller }, { clock }) => {
      const command = { project: DEFAULT_PROJECT, ...body, by: caller.name, nowMs: clock.nowMs() };
      return {
        why: `create server group ${body.name}`,
        decide: (fleet) => createGroup(fleet, command),
        answer: (_, after) =>
          resourceAfter(GROUP_VIEW, after, { id: body.name, status: 201, location: `${GROUPS}/${body.name}` }),
      };
    },
  }),
  write({
    method: 'PATCH',
    path: `${GROUPS}/:id`,
    tag: 'groups',
    about: 'Limit how many instances of a server group leave their hosts at once; null takes the limit away',
    access: 'operator',
    params: BY_ID,
    body: closed({ movesAtOnce: Type.Union([LIMIT, Type.Null()]) }),
    answers: { 200: { about: 'the server group', schema: GROUP_VIEW.schema } },
    handle: ({ params, body, caller }, { clock }) => {
      const command = { name: params.id, ...body, by: caller.name, nowMs: clock.nowMs() };
      return {
        target: { view: GROUP_VIEW, id: params.id },
        why: `limit moves of server group ${params.id}`,
        decide: (fleet) => editGroup(fleet, command),
        answer: (_, after) => resourceAfter(GROUP_VIEW, after, params),
      };
    },
  }),
  write({
    method: 'DELETE',
    path: `${GROUPS}/:id`,
    tag: 'groups',
    about: 'Delete a server group that has no instances any more',
    access: 'operator',
    params: BY_ID,
    answers: { 200: { about: 'the server group as it was', schema: GROUP_VIEW.schema } },
    handle: ({ params }) => ({
      target: { view: GROUP_VIEW, id: params.id },
      why: `delete server group ${params.id}`,
      decide: (fleet) => deleteGroup(fleet, params.id),
      answer: (group) => ({ kind: 'answer', status: 200, text: GROUP_VIEW.text(group) }),
    }),
  }),
];

// The HTTP surface of server groups.
import { Type } from 'typebox';
import {
  strictObject,
  createRoute,
  deleteRoute,
  editRoute,
  readRoutes,
  type Listing,
  type Resource,
  type Route,
} from '../../access/index.ts';
import { DEFAULT_PROJECT } from '../../network/index.ts';
import { createGroup, deleteGroup, editGroup } from './groups.ts';
import { GROUP_SCHEMA, type ServerGroup } from '../model.ts';
import { GROUP_REPRESENTATION } from '../representations.ts';

const { name, project, policy, movesAtOnce } = GROUP_SCHEMA.properties;

const LISTING: Listing<'group', ServerGroup> = {
  representation: GROUP_REPRESENTATION,
  filters: {
    project: { schema: project, valuesOf: (doc) => [doc.project] },
    policy: { schema: policy, valuesOf: (doc) => [doc.policy] },
  },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, project: (doc) => doc.project },
};

const LIMIT = Type.Integer({ minimum: 1, maximum: 10_000 });

const GROUPS: Resource<'group', ServerGroup> = {
  path: '/api/v1/groups',
  plural: 'server groups',
  singular: 'server group',
  tag: 'groups',
  representation: GROUP_REPRESENTATION,
};

export const groupRoutes: readonly Route[] = [
  ...readRoutes(GROUPS, { listing: LISTING, forProjects: true }),
  createRoute(GROUPS, {
    about: 'Create a server group: its instances are kept together or apart, strictly or as far as possible',
    access: 'operator',
    body: strictObject({ name, policy, project: Type.Optional(project), movesAtOnce }),
    decide: (fleet, body, { by, nowMs }) => createGroup(fleet, { project: DEFAULT_PROJECT, ...body, by, nowMs }),
  }),
  editRoute(GROUPS, {
    about: 'Limit how many instances of a server group leave their hosts at once; null clears the limit',
    access: 'operator',
    body: strictObject({ movesAtOnce: Type.Union([LIMIT, Type.Null()]) }),
    decide: (fleet, { id, edit }, { by, nowMs }) => editGroup(fleet, { name: id, ...edit, by, nowMs }),
  }),
  deleteRoute(GROUPS, {
    about: 'Delete a server group that has no instances any more',
    access: 'operator',
    decide: (fleet, { id }) => deleteGroup(fleet, id),
  }),
];

// The HTTP surface of routers. Every reader of the fleet may read them, projects their own; fleet operators create them.
import { Type } from 'typebox';
import {
  BY_ID,
  strictObject,
  deleteRoute,
  ID,
  permits,
  readRoutes,
  renderCommitted,
  write,
  type Listing,
  type Resource,
  type Route,
} from '../../access/index.ts';
import { createRouter, deleteRouter, editRouter } from './decide.ts';
import { IP } from '../model.ts';
import { ROUTER_SCHEMA, ROUTERS_BY_EXTERNAL_NETWORK, ROUTERS_BY_SUBNET, SUBNETS_MAX, type Router } from './model.ts';
import { ROUTER_REPRESENTATION } from '../representations.ts';

const PATH = '/api/v1/routers';
const ROUTERS: Resource<'router', Router> = {
  path: PATH,
  plural: 'routers',
  singular: 'router',
  representation: ROUTER_REPRESENTATION,
};
const { name, project } = ROUTER_SCHEMA.properties;
const SUBNETS = Type.Array(ID, { maxItems: SUBNETS_MAX, uniqueItems: true });
const NAT_ADDRESS = Type.Unsafe<string>({ ...IP, description: 'its external address; the lowest free one by default' });

const LISTING: Listing<'router', Router> = {
  representation: ROUTER_REPRESENTATION,
  filters: {
    project: { schema: project, valuesOf: (doc) => [doc.project] },
    subnet: { schema: ID, valuesOf: (doc) => doc.subnets, index: ROUTERS_BY_SUBNET },
    externalNetwork: { schema: ID, valuesOf: (doc) => [doc.externalNetwork], index: ROUTERS_BY_EXTERNAL_NETWORK },
  },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, project: (doc) => doc.project, changedAtMs: (doc) => doc.changedAtMs },
};

const create = write({
  method: 'POST',
  path: PATH,
  tag: 'routers',
  about: 'Create a router; with an external network its subnets reach it from one address',
  access: 'operator',
  body: strictObject({
    name,
    project: Type.Optional(project),
    subnets: Type.Optional(SUBNETS),
    externalNetwork: Type.Optional(ID),
    natAddress: Type.Optional(NAT_ADDRESS),
  }),
  answers: { 201: { about: 'the router', schema: ROUTER_REPRESENTATION.schema } },
  handle: ({ body, caller }, { clock, ids }) => {
    const who = { admin: permits(caller, 'admin'), by: caller.name, nowMs: clock.nowMs() };
    const command = { ...body, portId: ids.next('port'), ...who };
    return {
      why: `create router ${body.name}`,
      decide: (fleet) => createRouter(fleet, command),
      answer: ({ result: { id }, after }) =>
        renderCommitted(ROUTER_REPRESENTATION, after, { id, status: 201, location: `${PATH}/${id}` }),
    };
  },
});

const edit = write({
  method: 'PATCH',
  path: `${PATH}/:id`,
  tag: 'routers',
  about: 'Add subnets to a router or remove them, set or clear (null) its external network, change its address',
  access: 'operator',
  params: BY_ID,
  body: strictObject(
    {
      addSubnets: Type.Optional(SUBNETS),
      removeSubnets: Type.Optional(SUBNETS),
      externalNetwork: Type.Optional(Type.Union([ID, Type.Null()])),
      natAddress: Type.Optional(NAT_ADDRESS),
    },
    { minProperties: 1 },
  ),
  answers: { 200: { about: 'the router', schema: ROUTER_REPRESENTATION.schema } },
  handle: ({ params, body, caller }, { clock, ids }) => {
    const who = { admin: permits(caller, 'admin'), by: caller.name, nowMs: clock.nowMs() };
    const command = { id: params.id, edit: body, portId: ids.next('port'), ...who };
    return {
      target: { representation: ROUTER_REPRESENTATION, id: params.id },
      why: `edit ${Object.keys(body).join(', ')}`,
      decide: (fleet) => editRouter(fleet, command),
      answer: ({ after }) => renderCommitted(ROUTER_REPRESENTATION, after, params),
    };
  },
});

export const routerRoutes: readonly Route[] = [
  ...readRoutes(ROUTERS, { listing: LISTING, forProjects: true }),
  create,
  edit,
  deleteRoute(ROUTERS, {
    about: 'Delete a router that no floating address depends on; its external address is free again',
    access: 'operator',
    decide: deleteRouter,
  }),
];

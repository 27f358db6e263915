// The HTTP surface of subnets.
import { Type } from 'typebox';
import { BY_ID, closed, ID, resourceAfter, write, type Listing, type Route } from '../access/index.ts';
import { createSubnet, deleteSubnet, editSubnet } from './decide-subnet.ts';
import { IP, SUBNET_SCHEMA, SUBNETS_BY_NETWORK, type Subnet } from './model.ts';
import { deleteRoute, readRoutes } from './resource-routes.ts';
import { SUBNET_VIEW } from './views.ts';

const PATH = '/api/v1/subnets';
const NAMES = { path: PATH, what: 'subnets', one: 'subnet' };
const { name, version, cidr, pools } = SUBNET_SCHEMA.properties;

const FORM = {
  gateway: Type.Optional(Type.Union([IP, Type.Null()])),
  pools: Type.Optional(pools),
  segment: Type.Optional(ID),
  dhcp: Type.Optional(Type.Boolean({ description: 'a host with ports in it answers DHCP; IPv4 only' })),
};

const LISTING: Listing<'subnet', Subnet> = {
  view: SUBNET_VIEW,
  filters: {
    network: { schema: ID, of: (doc) => [doc.network], index: SUBNETS_BY_NETWORK },
    segment: { schema: ID, of: (doc) => [doc.segment] },
    version: { schema: version, of: (doc) => [doc.version] },
    dhcp: { schema: Type.Boolean(), of: (doc) => [doc.dhcp === true] },
  },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, network: (doc) => doc.network },
};

const create = write({
  method: 'POST',
  path: PATH,
  tag: 'subnets',
  about:
    'Create a subnet; unless said otherwise the first address is the gateway (null for none) and the pools are all the others',
  access: 'operator',
  body: closed({ name, network: ID, cidr, ...FORM }),
  answers: { 201: { about: 'the subnet', schema: SUBNET_VIEW.schema } },
  handle: ({ body, caller }, { clock }) => {
    const command = { ...body, by: caller.name, nowMs: clock.nowMs() };
    return {
      why: `create subnet ${body.name}`,
      decide: (fleet) => createSubnet(fleet, command),
      answer: (_, after) =>
        resourceAfter(SUBNET_VIEW, after, { id: body.name, status: 201, location: `${PATH}/${body.name}` }),
    };
  },
});

const edit = write({
  method: 'PATCH',
  path: `${PATH}/:id`,
  tag: 'subnets',
  about:
    'Edit the pools, the gateway and DHCP of a subnet, or set the segment of a network with one subnet and one segment',
  access: 'operator',
  params: BY_ID,
  body: closed(FORM, { minProperties: 1 }),
  answers: { 200: { about: 'the subnet', schema: SUBNET_VIEW.schema } },
  handle: ({ params, body, caller }, { clock }) => {
    const command = { id: params.id, edit: body, by: caller.name, nowMs: clock.nowMs() };
    return {
      target: { view: SUBNET_VIEW, id: params.id },
      why: `edit ${Object.keys(body).join(', ')}`,
      decide: (fleet) => editSubnet(fleet, command),
      answer: (_, after) => resourceAfter(SUBNET_VIEW, after, params),
    };
  },
});

export const subnetRoutes: readonly Route[] = [
  ...readRoutes({ ...NAMES, listing: LISTING }),
  create,
  edit,
  deleteRoute({
    ...NAMES,
    about: 'Delete a subnet that no port has an address of and no router has behind it',
    access: 'operator',
    view: SUBNET_VIEW,
    decide: deleteSubnet,
  }),
];

// The HTTP surface of subnets. No decisions here.
import { Type } from 'typebox';
import {
  strictObject,
  createRoute,
  deleteRoute,
  editRoute,
  ID,
  readRoutes,
  type Listing,
  type Resource,
  type Route,
} from '../../access/index.ts';
import { createSubnet, deleteSubnet, editSubnet } from './decide-subnet.ts';
import { IP, SUBNET_SCHEMA, SUBNETS_BY_NETWORK, type Subnet } from '../model.ts';
import { SUBNET_REPRESENTATION } from '../representations.ts';

const SUBNETS: Resource<'subnet', Subnet> = {
  path: '/api/v1/subnets',
  plural: 'subnets',
  singular: 'subnet',
  representation: SUBNET_REPRESENTATION,
};
const { name, version, cidr, pools } = SUBNET_SCHEMA.properties;

const SUBNET_FORM = {
  gateway: Type.Optional(Type.Union([IP, Type.Null()])),
  pools: Type.Optional(pools),
  segment: Type.Optional(ID),
  dhcp: Type.Optional(Type.Boolean({ description: 'one of the hosts with ports in it answers DHCP; IPv4 only' })),
};

const LISTING: Listing<'subnet', Subnet> = {
  representation: SUBNET_REPRESENTATION,
  filters: {
    network: { schema: ID, valuesOf: (doc) => [doc.network], index: SUBNETS_BY_NETWORK },
    segment: { schema: ID, valuesOf: (doc) => [doc.segment] },
    version: { schema: version, valuesOf: (doc) => [doc.version] },
    dhcp: { schema: Type.Boolean(), valuesOf: (doc) => [doc.dhcp === true] },
  },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, network: (doc) => doc.network },
};

const create = createRoute(SUBNETS, {
  about:
    'Create a subnet; by default the first address is the gateway (null for none) and the pools are all the others',
  access: 'operator',
  body: strictObject({ name, network: ID, cidr, ...SUBNET_FORM }),
  decide: (fleet, body, { by, nowMs }) => createSubnet(fleet, { ...body, by, nowMs }),
});

const edit = editRoute(SUBNETS, {
  about:
    'Edit the pools, the gateway and DHCP of a subnet, or set the segment of a network with one subnet and one segment',
  access: 'operator',
  body: strictObject(SUBNET_FORM, { minProperties: 1 }),
  decide: (fleet, command, { by, nowMs }) => editSubnet(fleet, { ...command, by, nowMs }),
});

export const subnetRoutes: readonly Route[] = [
  ...readRoutes(SUBNETS, { listing: LISTING, forProjects: true }),
  create,
  edit,
  deleteRoute(SUBNETS, {
    about: 'Delete a subnet that no port has an address of and no router has behind it',
    access: 'operator',
    decide: deleteSubnet,
  }),
];

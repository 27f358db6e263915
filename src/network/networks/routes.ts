// The HTTP surface of networks. Every reader of the fleet may read them; operators create them.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  strictObject,
  createRoute,
  deleteRoute,
  editRoute,
  noSuch,
  optionalFields,
  read,
  readRoutes,
  refusalAnswer,
  type Listing,
  type Resource,
  type Route,
} from '../../access/index.ts';
import { createNetwork, deleteNetwork, editNetwork } from './decide.ts';
import { BACK_ENDS, NETWORK_ATTRIBUTES, NETWORK_SCHEMA, NETWORKS_BY_USER, type Network } from '../model.ts';
import { STOCK_REPRESENTATION, networkStockToJson } from '../addresses/stock-representation.ts';
import { findNetwork } from './topology.ts';
import { NETWORK_REPRESENTATION } from '../representations.ts';

const NETWORKS: Resource<'network', Network> = {
  path: '/api/v1/networks',
  plural: 'networks',
  singular: 'network',
  representation: NETWORK_REPRESENTATION,
};
const { name, project } = NETWORK_SCHEMA.properties;

const LISTING: Listing<'network', Network> = {
  representation: NETWORK_REPRESENTATION,
  filters: {
    project: { schema: project, valuesOf: (doc) => [doc.project], index: NETWORKS_BY_USER },
    shared: { schema: Type.Boolean(), valuesOf: (doc) => [doc.shared] },
    external: { schema: Type.Boolean(), valuesOf: (doc) => [doc.external] },
    backEnd: { schema: Type.Enum(BACK_ENDS), valuesOf: (doc) => [doc.backEnd] },
  },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, project: (doc) => doc.project, changedAtMs: (doc) => doc.changedAtMs },
};

const create = createRoute(NETWORKS, {
  about: 'Create a network; subnets give it addresses, segments say which hosts reach it',
  access: 'operator',
  body: strictObject({
    name,
    project: Type.Optional(project),
    backEnd: Type.Optional(Type.Enum(BACK_ENDS)),
    ...optionalFields(NETWORK_ATTRIBUTES),
  }),
  decide: (fleet, body, { by, nowMs, admin }) => createNetwork(fleet, { ...body, by, nowMs, admin }),
});

const edit = editRoute(NETWORKS, {
  about: 'Edit a network; only the given fields change, null clears one, and existing ports stay as they are',
  access: 'operator',
  body: strictObject(
    {
      ...optionalFields(NETWORK_ATTRIBUTES),
      qosPolicy: Type.Optional(Type.Union([NETWORK_ATTRIBUTES.qosPolicy, Type.Null()])),
      minBandwidthKbps: Type.Optional(Type.Union([NETWORK_ATTRIBUTES.minBandwidthKbps, Type.Null()])),
    },
    { minProperties: 1 },
  ),
  decide: (fleet, command, { by, nowMs, admin }) => editNetwork(fleet, { ...command, by, nowMs, admin }),
});

const stock = read({
  method: 'GET',
  path: `${NETWORKS.path}/:id/stock`,
  tag: 'networks',
  about: 'Show how many addresses of a network are held, claimed and free, per pool and version, as decimal text',
  access: 'viewer',
  params: BY_ID,
  answers: { 200: { about: 'the stock', schema: STOCK_REPRESENTATION } },
  handle: ({ params }, { journal: { fleet } }) => {
    const network = findNetwork(fleet, params.id);
    return network === undefined
      ? refusalAnswer(noSuch('network', params.id))
      : answer(networkStockToJson(fleet, network.id));
  },
});

export const networkOnlyRoutes: readonly Route[] = [
  ...readRoutes(NETWORKS, { listing: LISTING, forProjects: true }),
  create,
  edit,
  deleteRoute(NETWORKS, {
    about: 'Delete a network without ports, subnets and segments',
    access: 'operator',
    decide: deleteNetwork,
  }),
  stock,
];

// The HTTP surface of networks. Everybody who sees the fleet reads them; operators make them.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  closed,
  noSuch,
  optionalFields,
  permits,
  read,
  refused,
  resourceAfter,
  write,
  type Listing,
  type Route,
} from '../access/index.ts';
import { createNetwork, deleteNetwork, editNetwork } from './decide-network.ts';
import { BACK_ENDS, NETWORK_FACTS, NETWORK_SCHEMA, NETWORKS_BY_USER, type Network } from './model.ts';
import { deleteRoute, readRoutes } from './resource-routes.ts';
import { STOCK_ANSWER, stockOfNetwork } from './stock-figures.ts';
import { findNetwork } from './topology.ts';
import { NETWORK_VIEW } from './views.ts';

const PATH = '/api/v1/networks';
const NAMES = { path: PATH, what: 'networks', one: 'network' };
const { name, project } = NETWORK_SCHEMA.properties;

const LISTING: Listing<'network', Network> = {
  view: NETWORK_VIEW,
  filters: {
    project: { schema: project, of: (doc) => [doc.project], index: NETWORKS_BY_USER },
    shared: { schema: Type.Boolean(), of: (doc) => [doc.shared] },
    external: { schema: Type.Boolean(), of: (doc) => [doc.external] },
    backEnd: { schema: Type.Enum(BACK_ENDS), of: (doc) => [doc.backEnd] },
  },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, project: (doc) => doc.project, changedAtMs: (doc) => doc.changedAtMs },
};

const create = write({
  method: 'POST',
  path: PATH,
  tag: 'networks',
  about: 'Create a network; subnets give it addresses, segments tell where it is',
  access: 'operator',
  body: closed({
    name,
    project: Type.Optional(project),
    backEnd: Type.Optional(Type.Enum(BACK_ENDS)),
    ...optionalFields(NETWORK_FACTS),
  }),
  answers: { 201: { about: 'the network', schema: NETWORK_VIEW.schema } },
  handle: ({ body, caller }, { clock }) => {
    const command = { ...body, admin: permits(caller, 'admin'), by: caller.name, nowMs: clock.nowMs() };
    return {
      why: `create network ${body.name}`,
      decide: (fleet) => createNetwork(fleet, command),
      answer: (_, after) =>
        resourceAfter(NETWORK_VIEW, after, { id: body.name, status: 201, location: `${PATH}/${body.name}` }),
    };
  },
});

const edit = write({
  method: 'PATCH',
  path: `${PATH}/:id`,
  tag: 'networks',
  about: 'Edit a network; only the fields given change, null takes one away, and ports that are there stay as they are',
  access: 'operator',
  params: BY_ID,
  body: closed(
    {
      ...optionalFields(NETWORK_FACTS),
      qosPolicy: Type.Optional(Type.Union([NETWORK_FACTS.qosPolicy, Type.Null()])),
      minBandwidthKbps: Type.Optional(Type.Union([NETWORK_FACTS.minBandwidthKbps, Type.Null()])),
    },
    { minProperties: 1 },
  ),
  answers: { 200: { about: 'the network', schema: NETWORK_VIEW.schema } },
  handle: ({ params, body, caller }, { clock }) => {
    const who = { admin: permits(caller, 'admin'), by: caller.name, nowMs: clock.nowMs() };
    return {
      target: { view: NETWORK_VIEW, id: params.id },
      why: `edit ${Object.keys(body).join(', ')}`,
      decide: (fleet) => editNetwork(fleet, { id: params.id, edit: body, ...who }),
      answer: (_, after) => resourceAfter(NETWORK_VIEW, after, params),
    };
  },
});

const stock = read({
  method: 'GET',
  path: `${PATH}/:id/stock`,
  tag: 'networks',
  about: 'Show how many addresses of a network are held, promised and free, per pool and version, as decimal text',
  access: 'viewer',
  params: BY_ID,
  answers: { 200: { about: 'the stock', schema: STOCK_ANSWER } },
  handle: ({ params }, { journal: { fleet } }) => {
    const network = findNetwork(fleet, params.id);
    return network === undefined ? refused(noSuch('network', params.id)) : answer(stockOfNetwork(fleet, network.id));
  },
});

export const networkOnlyRoutes: readonly Route[] = [
  ...readRoutes({ ...NAMES, listing: LISTING }),
  create,
  edit,
  deleteRoute({
    ...NAMES,
    about: 'Delete a network without ports, subnets and segments',
    access: 'operator',
    view: NETWORK_VIEW,
    decide: deleteNetwork,
  }),
  stock,
];

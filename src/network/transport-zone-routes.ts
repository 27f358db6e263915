// The HTTP surface of transport zones: the hosts of one have tunnels with each other.
import { Type } from 'typebox';
import { BY_ID, closed, resourceAfter, write, type Listing, type Route } from '../access/index.ts';
import { createTransportZone, deleteTransportZone, editTransportZone } from './decide-transport-zone.ts';
import { deleteRoute, readRoutes } from './resource-routes.ts';
import { TRANSPORT_ZONE_SCHEMA, type TransportZone } from './router-model.ts';
import { TRANSPORT_ZONE_VIEW } from './views.ts';

const PATH = '/api/v1/transport-zones';
const NAMES = { path: PATH, what: 'transport-zones', one: 'transport zone' };
const { name, mesh } = TRANSPORT_ZONE_SCHEMA.properties;

const LISTING: Listing<'transport-zone', TransportZone> = {
  view: TRANSPORT_ZONE_VIEW,
  filters: { mesh: { schema: mesh, of: (doc) => [doc.mesh] } },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, changedAtMs: (doc) => doc.changedAtMs },
};

const create = write({
  method: 'POST',
  path: PATH,
  tag: 'transport-zones',
  about: 'Create a transport zone; hosts that have named it before it was there are in it at once',
  access: 'operator',
  body: closed({ name, mesh: Type.Optional(mesh) }),
  answers: { 201: { about: 'the transport zone', schema: TRANSPORT_ZONE_VIEW.schema } },
  handle: ({ body, caller }, { clock }) => {
    const command = { ...body, by: caller.name, nowMs: clock.nowMs() };
    return {
      why: `create transport zone ${body.name}`,
      decide: (fleet) => createTransportZone(fleet, command),
      answer: (_, after) =>
        resourceAfter(TRANSPORT_ZONE_VIEW, after, { id: body.name, status: 201, location: `${PATH}/${body.name}` }),
    };
  },
});

const edit = write({
  method: 'PATCH',
  path: `${PATH}/:id`,
  tag: 'transport-zones',
  about: 'Edit which of its hosts a host has tunnels with: all of them, or those that it has something in common with',
  access: 'operator',
  params: BY_ID,
  body: closed({ mesh }),
  answers: { 200: { about: 'the transport zone', schema: TRANSPORT_ZONE_VIEW.schema } },
  handle: ({ params, body, caller }, { clock }) => {
    const command = { id: params.id, edit: body, by: caller.name, nowMs: clock.nowMs() };
    return {
      target: { view: TRANSPORT_ZONE_VIEW, id: params.id },
      why: `edit ${Object.keys(body).join(', ')}`,
      decide: (fleet) => editTransportZone(fleet, command),
      answer: (_, after) => resourceAfter(TRANSPORT_ZONE_VIEW, after, params),
    };
  },
});

export const transportZoneRoutes: readonly Route[] = [
  ...readRoutes({ ...NAMES, listing: LISTING }),
  create,
  edit,
  deleteRoute({
    ...NAMES,
    about: 'Delete a transport zone that no host is in',
    access: 'operator',
    view: TRANSPORT_ZONE_VIEW,
    decide: deleteTransportZone,
  }),
];

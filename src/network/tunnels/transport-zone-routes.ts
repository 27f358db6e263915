// The HTTP surface of transport zones: the hosts of one have tunnels with each other.
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
import { createTransportZone, deleteTransportZone, editTransportZone } from './decide-transport-zone.ts';
import { TRANSPORT_ZONE_SCHEMA, type TransportZone } from './transport-zone.ts';
import { TRANSPORT_ZONE_REPRESENTATION } from '../representations.ts';

const ZONES: Resource<'transport-zone', TransportZone> = {
  path: '/api/v1/transport-zones',
  plural: 'transport zones',
  singular: 'transport zone',
  tag: 'transport-zones',
  representation: TRANSPORT_ZONE_REPRESENTATION,
};
const { name, mesh } = TRANSPORT_ZONE_SCHEMA.properties;

const LISTING: Listing<'transport-zone', TransportZone> = {
  representation: TRANSPORT_ZONE_REPRESENTATION,
  filters: { mesh: { schema: mesh, valuesOf: (doc) => [doc.mesh] } },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, changedAtMs: (doc) => doc.changedAtMs },
};

export const transportZoneRoutes: readonly Route[] = [
  ...readRoutes(ZONES, { listing: LISTING }),
  createRoute(ZONES, {
    about: 'Create a transport zone; hosts that named it before it existed are in it at once',
    access: 'operator',
    body: strictObject({ name, mesh: Type.Optional(mesh) }),
    decide: (fleet, body, { by, nowMs }) => createTransportZone(fleet, { ...body, by, nowMs }),
  }),
  editRoute(ZONES, {
    about: 'Edit with which of its hosts a host has tunnels: all of them, or those that share a network or a router',
    access: 'operator',
    body: strictObject({ mesh }),
    decide: (fleet, command, { by, nowMs }) => editTransportZone(fleet, { ...command, by, nowMs }),
  }),
  deleteRoute(ZONES, {
    about: 'Delete a transport zone that no host is in',
    access: 'operator',
    decide: deleteTransportZone,
  }),
];

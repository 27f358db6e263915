// The HTTP surface of network events: back ends report what happened to ports, people read it.
import { Type } from 'typebox';
import {
  answer,
  strictObject,
  ID,
  listRoute,
  defineRepresentation,
  write,
  type Listing,
  type Route,
} from '../../access/index.ts';
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { siteOfHost } from '../../hosts/index.ts';
import { PORT, type Port } from '../model.ts';
import {
  EVENT_NAMES,
  EVENT_SCHEMA,
  EVENTS_BY_PORT,
  NETWORK_EVENT,
  recordNetworkEvents,
  type NetworkEvent,
} from './event.ts';

/** A back end with more events sends several requests. */
const BATCH_MAX = 100;

const EVENT_REPORT = strictObject({
  port: ID,
  name: Type.Enum(EVENT_NAMES),
  serial: Type.Integer({ minimum: 1, description: 'of the binding of the event' }),
  instance: Type.Optional(ID),
});

const EVENT_ANSWER = Type.Object({
  port: Type.String(),
  name: Type.Enum(EVENT_NAMES),
  serial: Type.Integer(),
  result: Type.Enum(['recorded', 'already', 'stale', 'refused'], {
    description: '`stale`: about an earlier binding, and so not kept; `refused`: not accepted, the others are',
  }),
  status: Type.Optional(Type.Integer({ description: 'what the answer would have been if the event had come alone' })),
  code: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
});

function portOf(fleet: FleetReader, { port }: NetworkEvent): Port | undefined {
  return fleet.get(PORT, idOf(PORT, port))?.doc;
}

/** An event belongs where its port does, and to the fleet alone once the port is deleted. */
export const NETWORK_EVENT_REPRESENTATION = defineRepresentation<'network-event', NetworkEvent>({
  kind: NETWORK_EVENT,
  siteOf: (doc, fleet) => siteOfHost(fleet, portOf(fleet, doc)?.binding?.host),
  projectOf: (doc, fleet) => portOf(fleet, doc)?.project,
  fields: EVENT_SCHEMA.properties,
});

const LISTING: Listing<'network-event', NetworkEvent> = {
  representation: NETWORK_EVENT_REPRESENTATION,
  filters: {
    port: { schema: ID, valuesOf: (doc) => [doc.port], index: EVENTS_BY_PORT },
    instance: { schema: ID, valuesOf: (doc) => [doc.instance] },
    name: { schema: Type.Enum(EVENT_NAMES), valuesOf: (doc) => [doc.name] },
  },
  sorts: { atMs: (doc) => doc.atMs, serial: (doc) => doc.serial },
};

const EVENTS = { path: '/api/v1/network-events', plural: 'events', tag: 'network events' };

export const networkEventRoutes: readonly Route[] = [
  listRoute(EVENTS, {
    listing: LISTING,
    about: 'List the events of network back ends about ports',
    scope: 'site',
    forProjects: true,
  }),
  write({
    method: 'POST',
    path: EVENTS.path,
    tag: EVENTS.tag,
    about:
      'Report what happened to ports. Events may come early, twice and in any order. ' +
      'An event of an unknown port is refused in the answer while the others are accepted; when none can be accepted, the request is refused',
    access: 'operator',
    body: strictObject({ events: Type.Array(EVENT_REPORT, { minItems: 1, maxItems: BATCH_MAX }) }),
    answers: {
      200: {
        about: 'the result of each event, in their order',
        schema: Type.Object({ events: Type.Array(EVENT_ANSWER) }),
      },
    },
    handle: ({ body }, { clock }) => {
      const command = { events: body.events, nowMs: clock.nowMs() };
      return {
        why: 'network events',
        decide: (fleet) => recordNetworkEvents(fleet, command),
        answer: ({ result: events }) => {
          const [first] = events;
          const isSame = first !== undefined && events.every(({ result }) => result === first.result);
          return { ...answer({ events }), ...(isSame && { memo: first.result }) };
        },
        recompose: ({ memo: result }) =>
          answer({ events: body.events.map(({ port, name, serial }) => ({ port, name, serial, result })) }),
      };
    },
  }),
];

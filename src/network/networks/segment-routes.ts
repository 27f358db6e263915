// The HTTP surface of segments, and of what follows from them: the address stock of each, and those that a host reaches.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  strictObject,
  createRoute,
  deleteRoute,
  ID,
  noSuch,
  read,
  readRoutes,
  refusalAnswer,
  canSeeSite,
  type Listing,
  type Resource,
  type Route,
} from '../../access/index.ts';
import { idOf } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import { createSegment, deleteSegment } from './decide-segment.ts';
import { segmentsOfHost } from './host-segments.ts';
import { SEGMENT, SEGMENT_SCHEMA, SEGMENT_TYPES, SEGMENTS_BY_NETWORK, type Segment } from '../model.ts';
import { STOCK_REPRESENTATION, stockToJson } from '../addresses/stock-representation.ts';
import { segmentPool } from './topology.ts';
import { SEGMENT_REPRESENTATION } from '../representations.ts';

const SEGMENTS: Resource<'segment', Segment> = {
  path: '/api/v1/segments',
  plural: 'segments',
  singular: 'segment',
  representation: SEGMENT_REPRESENTATION,
};
const { name, type, physicalNetwork, segmentationId, dynamic } = SEGMENT_SCHEMA.properties;

const LISTING: Listing<'segment', Segment> = {
  representation: SEGMENT_REPRESENTATION,
  filters: {
    network: { schema: ID, valuesOf: (doc) => [doc.network], index: SEGMENTS_BY_NETWORK },
    type: { schema: Type.Enum(SEGMENT_TYPES), valuesOf: (doc) => [doc.type] },
    physicalNetwork: { schema: Type.String({ maxLength: 100 }), valuesOf: (doc) => [doc.physicalNetwork] },
  },
  nameIsId: true,
  sorts: { name: (doc) => doc.name, network: (doc) => doc.network },
};

const create = createRoute(SEGMENTS, {
  about: 'Create a segment of a network; the hosts that report its physical network reach it from then on',
  access: 'operator',
  body: strictObject({ name, network: ID, type, physicalNetwork, segmentationId, dynamic: Type.Optional(dynamic) }),
  decide: (fleet, body, { by, nowMs }) => createSegment(fleet, { ...body, by, nowMs }),
});

const stock = read({
  method: 'GET',
  path: `${SEGMENTS.path}/:id/stock`,
  tag: 'segments',
  about: 'Show how many addresses of a segment are held, claimed and free, per version, as decimal text',
  access: 'viewer',
  params: BY_ID,
  answers: { 200: { about: 'the stock', schema: STOCK_REPRESENTATION } },
  handle: ({ params }, { journal: { fleet } }) => {
    const segment = fleet.get(SEGMENT, idOf(SEGMENT, params.id));
    if (segment === undefined) return refusalAnswer(noSuch('segment', params.id));
    return answer(stockToJson(fleet, segment.doc.network, [segmentPool(segment.id)]));
  },
});

const listOfHost = read({
  method: 'GET',
  path: '/api/v1/hosts/:id/segments',
  tag: 'hosts',
  about: 'List the segments that a host reaches: those on the physical networks that it reports, and those without one',
  access: 'viewer',
  scope: 'site',
  params: BY_ID,
  answers: {
    200: {
      about: 'the segments, derived from the report of the host',
      schema: Type.Object({
        host: Type.String(),
        items: Type.Array(
          Type.Object({
            segment: Type.String(),
            network: Type.String(),
            physicalNetwork: Type.Optional(Type.String()),
          }),
        ),
        revision: Type.Integer(),
      }),
    },
  },
  handle: ({ params, caller }, { journal: { fleet } }) => {
    const host = findHost(fleet, params.id);
    if (host === undefined || !canSeeSite(caller, host.doc.site))
      return refusalAnswer(noSuch('host', params.id, caller));
    return answer({ host: host.id, items: segmentsOfHost(fleet, host.doc), revision: fleet.revision });
  },
});

export const segmentRoutes: readonly Route[] = [
  ...readRoutes(SEGMENTS, { listing: LISTING }),
  create,
  deleteRoute(SEGMENTS, {
    about: 'Delete a segment without subnets',
    access: 'operator',
    decide: deleteSegment,
  }),
  stock,
  listOfHost,
];

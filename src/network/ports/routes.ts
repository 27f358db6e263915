// The HTTP surface of ports: those of users, and those that Muster creates for instances.
import { Type } from 'typebox';
import {
  documentRef,
  BY_ID,
  strictObject,
  denyOtherProject,
  editRoute,
  HOST_REF,
  ID,
  permits,
  readRequestedProject,
  readRoutes,
  refusalAnswer,
  renderCommitted,
  write,
  type Listing,
  type Resource,
  type Route,
} from '../../access/index.ts';
import { idOf } from '../../fleet/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { createPort, editPort } from './decide.ts';
import { ADDRESSES_MAX, IP, PORT_SCHEMA, PORTS_BY_INSTANCE, PORTS_BY_NETWORK, type Port } from '../model.ts';
import { deletePort } from './delete.ts';
import { PORT_REPRESENTATION } from '../representations.ts';

const PORTS: Resource<'port', Port> = {
  path: '/api/v1/ports',
  plural: 'ports',
  singular: 'port',
  representation: PORT_REPRESENTATION,
};
const { name, mac, project, createdBy, state, portSecurity, securityGroups, qosPolicy, dnsName, pciRequest } =
  PORT_SCHEMA.properties;
const { minBandwidthKbps } = PORT_SCHEMA.properties;

const LISTING: Listing<'port', Port> = {
  representation: PORT_REPRESENTATION,
  filters: {
    network: { schema: ID, valuesOf: (doc) => [doc.network], index: PORTS_BY_NETWORK },
    instance: { schema: ID, valuesOf: (doc) => [doc.instance], index: PORTS_BY_INSTANCE },
    host: { schema: HOST_REF, valuesOf: (doc) => [doc.binding?.host], names: 'host' },
    project: { schema: ID, valuesOf: (doc) => [doc.project] },
    createdBy: { schema: createdBy, valuesOf: (doc) => [doc.createdBy] },
    state: { schema: state, valuesOf: (doc) => [doc.state] },
    attached: { schema: Type.Boolean(), valuesOf: (doc) => [doc.instance !== undefined] },
    mac: { schema: mac, valuesOf: (doc) => [doc.mac] },
    address: { schema: IP, valuesOf: (doc) => doc.addresses.map(({ ip }) => ip) },
  },
  sorts: {
    name: (doc) => doc.name ?? '',
    network: (doc) => doc.network,
    instance: (doc) => doc.instance ?? '',
    changedAtMs: (doc) => doc.changedAtMs,
  },
};

const create = write({
  method: 'POST',
  path: PORTS.path,
  tag: 'ports',
  about: 'Create a port; how it gets its addresses follows from its network and the request',
  access: 'operator',
  forProjects: true,
  body: strictObject({
    network: ID,
    project: Type.Optional(project),
    name,
    mac: Type.Optional(mac),
    fixedIps: Type.Optional(
      Type.Array(strictObject({ ip: Type.Optional(IP), subnet: Type.Optional(ID) }), {
        maxItems: ADDRESSES_MAX,
        description: 'addresses, or subnets to have one of; an empty list for a port that never has an address',
      }),
    ),
    portSecurity: Type.Optional(portSecurity),
    securityGroups: Type.Optional(securityGroups),
    qosPolicy,
    minBandwidthKbps,
    pciRequest,
    dnsName,
  }),
  answers: { 201: { about: 'the port', schema: PORT_REPRESENTATION.schema } },
  handle: ({ body, caller }, { clock, ids }) => {
    const id = ids.next('port');
    const other = denyOtherProject(caller, body.project);
    if (other !== undefined) return refusalAnswer(other);
    const who = { by: caller.name, admin: permits(caller, 'admin'), ...readRequestedProject(caller, body.project) };
    const command = { ...body, ...who, id, nowMs: clock.nowMs() };
    return {
      why: `create port ${id}`,
      decide: (fleet) => createPort(fleet, command),
      answer: ({ after }) =>
        renderCommitted(PORT_REPRESENTATION, after, { id, status: 201, location: `${PORTS.path}/${id}` }),
    };
  },
});

const edit = editRoute(PORTS, {
  about: 'Edit the name, the security groups, the QoS policy or the DNS name of a port; null clears one',
  access: 'operator',
  forProjects: true,
  body: strictObject(
    {
      name: Type.Optional(Type.Union([name, Type.Null()])),
      securityGroups: Type.Optional(securityGroups),
      qosPolicy: Type.Optional(Type.Union([qosPolicy, Type.Null()])),
      dnsName: Type.Optional(Type.Union([dnsName, Type.Null()])),
    },
    { minProperties: 1 },
  ),
  decide: (fleet, command, { by, nowMs }) => editPort(fleet, { ...command, by, nowMs }),
});

const deletePortRoute = write({
  method: 'DELETE',
  path: `${PORTS.path}/:id`,
  tag: 'ports',
  about: 'Delete a port that no instance has; a back end outside Muster deletes it first',
  access: 'operator',
  forProjects: true,
  params: BY_ID,
  answers: {
    200: { about: 'the port as it was', schema: PORT_REPRESENTATION.schema },
    202: {
      about: 'the operation to follow: the port is deleted once its back end has deleted it',
      schema: Type.Object({ operation: Type.String() }),
    },
  },
  handle: ({ params, caller }, { clock, ids }) => {
    const operation = idOf(OPERATION, ids.next('op'));
    const command = { id: params.id, operation, by: caller.name, nowMs: clock.nowMs() };
    return {
      target: { representation: PORT_REPRESENTATION, id: params.id },
      why: `delete port ${params.id}`,
      decide: (fleet) => deletePort(fleet, command),
      answer: ({ result: { port, operation: operationId }, after: { redactor } }) =>
        operationId === undefined
          ? {
              kind: 'answer',
              status: 200,
              text: PORT_REPRESENTATION.toJsonText(port, redactor),
              shown: documentRef(PORT_REPRESENTATION, port),
            }
          : {
              kind: 'answer',
              status: 202,
              body: { operation: operationId },
              headers: { location: `/api/v1/operations/${operationId}` },
            },
    };
  },
});

export const portRoutes: readonly Route[] = [
  ...readRoutes(PORTS, { listing: LISTING, scope: 'site', forProjects: true }),
  create,
  edit,
  deletePortRoute,
];

// The HTTP surface of floating addresses: create, associate, disassociate, delete.
import { Type } from 'typebox';
import {
  BY_ID,
  strictObject,
  deleteRoute,
  denyOtherProject,
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
  type Write,
} from '../../access/index.ts';
import type { FleetReader } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import {
  associateFloatingAddress,
  createFloatingAddress,
  deleteFloatingAddress,
  disassociateFloatingAddress,
} from './decide-floating-address.ts';
import { IP } from '../model.ts';
import {
  FLOATING_ADDRESS_SCHEMA,
  FLOATING_ADDRESSES_BY_NETWORK,
  FLOATING_ADDRESSES_BY_PORT,
  FLOATING_ADDRESSES_BY_ROUTER,
  type FloatingAddress,
} from './model.ts';
import { FLOATING_ADDRESS_REPRESENTATION } from '../representations.ts';

const PATH = '/api/v1/floating-addresses';
const FLOATING: Resource<'floating-address', FloatingAddress> = {
  path: PATH,
  plural: 'floating addresses',
  singular: 'floating address',
  tag: 'floating-addresses',
  representation: FLOATING_ADDRESS_REPRESENTATION,
};
const { project } = FLOATING_ADDRESS_SCHEMA.properties;
const PORT_IP = Type.Unsafe<string>({ ...IP, description: 'which address of the port, if it has more than one' });

const LISTING: Listing<'floating-address', FloatingAddress> = {
  representation: FLOATING_ADDRESS_REPRESENTATION,
  filters: {
    project: { schema: project, valuesOf: (doc) => [doc.project] },
    network: { schema: ID, valuesOf: (doc) => [doc.network], index: FLOATING_ADDRESSES_BY_NETWORK },
    router: { schema: ID, valuesOf: (doc) => [doc.inside?.router], index: FLOATING_ADDRESSES_BY_ROUTER },
    port: { schema: ID, valuesOf: (doc) => [doc.inside?.port], index: FLOATING_ADDRESSES_BY_PORT },
    address: { schema: IP, valuesOf: (doc) => [doc.outside.ip] },
    associated: { schema: Type.Boolean(), valuesOf: (doc) => [doc.inside !== undefined] },
  },
  sorts: { network: (doc) => doc.network, project: (doc) => doc.project, changedAtMs: (doc) => doc.changedAtMs },
};

const create = write({
  method: 'POST',
  path: PATH,
  tag: 'floating-addresses',
  about: 'Allocate an address of an external network, and associate it with a port if one is named',
  access: 'operator',
  forProjects: true,
  body: strictObject({
    network: ID,
    project: Type.Optional(project),
    ip: Type.Optional(Type.Unsafe<string>({ ...IP, description: 'this address; the lowest free one by default' })),
    port: Type.Optional(ID),
    portIp: Type.Optional(PORT_IP),
  }),
  answers: { 201: { about: 'the floating address', schema: FLOATING_ADDRESS_REPRESENTATION.schema } },
  handle: ({ body, caller }, { clock, ids }) => {
    const id = ids.next('floating');
    const other = denyOtherProject(caller, body.project);
    if (other !== undefined) return refusalAnswer(other);
    const who = { admin: permits(caller, 'admin'), by: caller.name, ...readRequestedProject(caller, body.project) };
    const command = { ...body, id, portId: ids.next('port'), nowMs: clock.nowMs(), ...who };
    return {
      why: `create floating address ${id}`,
      decide: (fleet) => createFloatingAddress(fleet, command),
      answer: ({ after }) =>
        renderCommitted(FLOATING_ADDRESS_REPRESENTATION, after, { id, status: 201, location: `${PATH}/${id}` }),
    };
  },
});

/** An edit of an existing one. */
function changeWrite(
  id: string,
  why: string,
  decide: (fleet: FleetReader) => Decision<{ readonly id: string }>,
): Write<{ readonly id: string }> {
  return {
    target: { representation: FLOATING_ADDRESS_REPRESENTATION, id },
    why,
    decide,
    answer: ({ after }) => renderCommitted(FLOATING_ADDRESS_REPRESENTATION, after, { id }),
  };
}

const associate = write({
  method: 'POST',
  path: `${PATH}/:id/associate`,
  tag: 'floating-addresses',
  about: 'Associate a floating address with a port behind a router; an existing association is replaced',
  access: 'operator',
  forProjects: true,
  params: BY_ID,
  body: strictObject({ port: ID, portIp: Type.Optional(PORT_IP) }),
  answers: { 200: { about: 'the floating address', schema: FLOATING_ADDRESS_REPRESENTATION.schema } },
  handle: ({ params, body, caller }, { clock }) => {
    const isProjectScoped = caller.project !== undefined;
    const command = { id: params.id, ...body, isProjectScoped, by: caller.name, nowMs: clock.nowMs() };
    return changeWrite(params.id, `associate with port ${body.port}`, (fleet) =>
      associateFloatingAddress(fleet, command),
    );
  },
});

const disassociate = write({
  method: 'POST',
  path: `${PATH}/:id/disassociate`,
  tag: 'floating-addresses',
  about: 'Disassociate a floating address; it stays with its project',
  access: 'operator',
  forProjects: true,
  params: BY_ID,
  answers: { 200: { about: 'the floating address', schema: FLOATING_ADDRESS_REPRESENTATION.schema } },
  handle: ({ params, caller }, { clock }) => {
    const command = { id: params.id, by: caller.name, nowMs: clock.nowMs() };
    return changeWrite(params.id, 'disassociate', (fleet) => disassociateFloatingAddress(fleet, command));
  },
});

export const floatingAddressRoutes: readonly Route[] = [
  ...readRoutes(FLOATING, { listing: LISTING, forProjects: true }),
  create,
  associate,
  disassociate,
  deleteRoute(FLOATING, {
    about: 'Delete a floating address without an association; the address is free again',
    access: 'operator',
    forProjects: true,
    decide: deleteFloatingAddress,
  }),
];

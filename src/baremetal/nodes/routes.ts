// The HTTP surface of nodes: list, show, create one or many, edit, maintenance, confirm that one is clean, delete. No decisions here.
import { Type } from 'typebox';
import {
  BY_ID,
  bulk,
  editRoute,
  ID,
  listAnswer,
  listQuery,
  listResources,
  optionalFields,
  read,
  refusalAnswer,
  renderCommitted,
  findVisible,
  noSuch,
  scansFleet,
  strictObject,
  write,
  type Listing,
  type Redactor,
  type Resource,
  type Route,
  type Committed,
} from '../../access/index.ts';
import type { FleetReader, ChangeNote } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { NAME } from '../../sites/index.ts';
import { NODE_COUNTERS } from '../capacity/counters.ts';
import {
  bucketOf,
  BUCKETS,
  INVENTORY_NAMES,
  NODE_HARDWARE,
  NODE_PLACE,
  NODE_STATES,
  NODES_BY_INSTANCE,
  NODES_BY_MANAGER,
  NODES_BY_SITE,
  POWER_STATES,
  type Node,
} from '../model.ts';
import { NODE_REPRESENTATION } from '../representations.ts';
import { enrolNodes } from './bulk.ts';
import { confirmNodeClean, createNode, deleteNode, editNode, enterMaintenance, leaveMaintenance } from './decide.ts';
import { denyOtherSite } from './enrol.ts';
import { lastSeenOf } from '../inventories/last-seen.ts';
import type { StoredNode } from './transitions.ts';

const LISTING: Listing<'node', Node> = {
  representation: NODE_REPRESENTATION,
  filters: {
    site: { schema: ID, valuesOf: (doc) => [doc.site], index: NODES_BY_SITE },
    manager: { schema: ID, valuesOf: (doc) => [doc.manager], index: NODES_BY_MANAGER, names: 'manager' },
    instance: { schema: ID, valuesOf: (doc) => [doc.instance], index: NODES_BY_INSTANCE, names: 'reservation' },
    // Without indexes: a node changes its state with every reservation, and hundreds of thousands may share one.
    state: { schema: Type.Enum(NODE_STATES), valuesOf: (doc) => [doc.state] },
    bucket: { schema: Type.Enum(BUCKETS), valuesOf: (doc) => [bucketOf(doc)] },
    resourceClass: { schema: Type.String({ minLength: 1, maxLength: 80 }), valuesOf: (doc) => [doc.resourceClass] },
    trait: { schema: Type.String({ minLength: 1, maxLength: 100 }), valuesOf: (doc) => doc.traits },
    inventory: { schema: Type.Enum(INVENTORY_NAMES), valuesOf: (doc) => [doc.inventory] },
    power: { schema: Type.Enum(POWER_STATES), valuesOf: (doc) => [doc.power] },
    maintenance: { schema: Type.Boolean(), valuesOf: (doc) => [doc.maintenance !== undefined] },
    removed: {
      schema: Type.Boolean({ description: 'false by default, unless a state is requested' }),
      valuesOf: (doc) => [doc.state === 'removed'],
    },
  },
  sorts: {
    resourceClass: (doc) => doc.resourceClass ?? '',
    site: (doc) => doc.site ?? '',
    state: (doc) => doc.state,
    memoryMiB: (doc) => doc.memoryMiB,
    changedAtMs: (doc) => doc.changedAtMs,
  },
  text: renderRow,
};

/** With when its inventory showed it last, which is known of all its nodes together. */
function renderRow(stored: StoredNode, fleet: FleetReader, sight?: Redactor): string {
  const text = NODE_REPRESENTATION.toJsonText(stored, sight);
  const lastSeenAtMs = lastSeenOf(fleet, stored.doc);
  return lastSeenAtMs === undefined ? text : `${text.slice(0, -1)},"lastSeenAtMs":${lastSeenAtMs}}`;
}

const NODES: Resource<'node', Node> = {
  path: '/api/v1/nodes',
  plural: 'nodes',
  singular: 'node',
  representation: NODE_REPRESENTATION,
};

const REASON = Type.String({ minLength: 1, maxLength: 500 });
const { site: _site, ...OTHER_PLACE } = NODE_PLACE;
const FACTS = { ...optionalFields(NODE_HARDWARE), ...optionalFields(OTHER_PLACE), site: Type.Optional(ID) };
const Spec = strictObject({ name: NAME, ...FACTS, power: Type.Optional(Type.Enum(POWER_STATES)) });

const allowNull = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) =>
  Type.Optional(Type.Union([schema, Type.Null()]));
const Edit = strictObject(
  {
    ...FACTS,
    resourceClass: allowNull(NODE_HARDWARE.resourceClass),
    cpuArch: allowNull(NODE_HARDWARE.cpuArch),
    capabilities: allowNull(NODE_HARDWARE.capabilities),
    site: allowNull(ID),
    owner: allowNull(NODE_PLACE.owner),
    lessee: allowNull(NODE_PLACE.lessee),
  },
  { minProperties: 1 },
);

/** A call enrols a machine room, not a fleet of all sites: the values of a call are in memory until it is answered. */
const BULK = {
  bodyBytesMax: 64 * 1024 * 1024,
  bodyTimeMs: 120_000,
  answerTimeMs: 120_000,
  lines: { countMax: 100_000, bytesMax: 16 * 1024 },
};

const BulkAnswer = Type.Object({
  lines: Type.Integer({ description: 'lines with a node' }),
  created: Type.Integer(),
  revived: Type.Integer({ description: 'removed before: they keep their epochs' }),
  changed: Type.Integer({ description: 'there before, and described otherwise' }),
  unchanged: Type.Integer({ description: 'there before as their lines say' }),
  warnings: Type.Array(Type.Object({ line: Type.Integer(), node: Type.String(), message: Type.String() }), {
    description: 'what of the lines means nothing; at most 100',
  }),
});

export const nodeRoutes: readonly Route[] = [
  read({
    method: 'GET',
    path: NODES.path,
    tag: NODES.plural,
    about: 'List nodes',
    access: 'viewer',
    scope: 'site',
    forProjects: true,
    query: listQuery(LISTING),
    scansFleet: (call) => scansFleet(LISTING, call),
    answers: { 200: { about: 'a page of nodes', schema: listAnswer(NODE_REPRESENTATION.schema) } },
    handle: (call, { journal: { fleet }, redactorFor }) =>
      listResources(fleet, LISTING, excludeRemoved(fleet, call), redactorFor(call.caller, fleet)),
  }),
  read({
    method: 'GET',
    path: `${NODES.path}/:id`,
    tag: NODES.plural,
    about: 'Show a node',
    access: 'viewer',
    scope: 'site',
    forProjects: true,
    params: BY_ID,
    answers: { 200: { about: 'the node', schema: NODE_REPRESENTATION.schema } },
    handle: ({ params: { id }, caller }, { journal: { fleet }, redactorFor }) => {
      const stored = findVisible(fleet, NODE_REPRESENTATION, { caller, id });
      if (stored === undefined) return refusalAnswer(noSuch('node', id, caller));
      const text = renderRow(stored, fleet, redactorFor(caller, fleet));
      return { kind: 'answer', status: 200, text, etag: stored.revision };
    },
  }),
  write({
    method: 'POST',
    path: NODES.path,
    tag: NODES.plural,
    about: 'Create a node: enrol a machine, which is free from then on',
    access: 'operator',
    scope: 'site',
    asksForNames: true,
    body: Spec,
    answers: { 201: { about: 'the node', schema: NODE_REPRESENTATION.schema } },
    handle: ({ body, caller }, { clock }) => {
      const denied = denyOtherSite(body, caller.site);
      if (denied !== undefined) return refusalAnswer(denied);
      const { name } = body;
      const enroller = { by: caller.name, nowMs: clock.nowMs(), callerSite: caller.site };
      return {
        creates: { representation: NODE_REPRESENTATION, names: [name], fieldOf: () => '/name' },
        why: `create node ${name}`,
        decide: (fleet) => createNode(fleet, body, enroller),
        answer: ({ after }) =>
          renderCommitted(NODE_REPRESENTATION, after, { id: name, status: 201, location: `${NODES.path}/${name}` }),
      };
    },
  }),
  bulk({
    method: 'POST',
    path: `${NODES.path}/bulk`,
    tag: NODES.plural,
    about:
      'Create or change many nodes, one JSON object a line; each is as its line says afterwards. Repeating a call that was interrupted completes it',
    access: 'operator',
    scope: 'site',
    asksForNames: true,
    ...BULK,
    body: Spec,
    answers: { 200: { about: 'what became of the lines', schema: BulkAnswer } },
    handle: enrolNodes,
  }),
  editRoute(NODES, {
    about: 'Edit a node; only the given fields change, and null clears one',
    access: 'operator',
    scope: 'site',
    body: Edit,
    decide: (fleet, { id, edit }, { callerSite, by, nowMs }) => editNode(fleet, { id, edit, callerSite, by, nowMs }),
  }),
  write({
    ...nodeCommand('PUT', '/maintenance', 'Put a node into maintenance: it is not offered; whoever has it keeps it'),
    body: strictObject({ reason: REASON }),
    handle: ({ params, body: { reason }, caller }, { clock }) =>
      nodeWrite({ params, caller, clock }, `maintenance: ${reason}`, (fleet, command) =>
        enterMaintenance(fleet, { ...command, reason }),
      ),
  }),
  write({
    ...nodeCommand('DELETE', '/maintenance', 'Take a node out of maintenance'),
    handle: ({ params, caller }, { clock }) =>
      nodeWrite({ params, caller, clock }, 'end of maintenance', leaveMaintenance),
  }),
  write({
    ...nodeCommand('POST', '/confirm-clean', 'State that there is no data on a node that could not be cleaned'),
    body: strictObject({ reason: REASON }),
    handle: ({ params, body: { reason }, caller }, { clock }) =>
      nodeWrite({ params, caller, clock }, `confirm clean: ${reason}`, confirmNodeClean),
  }),
  write({
    ...nodeCommand('DELETE', '', 'Delete a node that no instance has; its id and its epoch are kept'),
    handle: ({ params, caller }, { clock }) => nodeWrite({ params, caller, clock }, 'delete', deleteNode),
  }),
];

/** Removed nodes are kept to be recognised, and are listed only on request. Where there is none, no filter runs. */
function excludeRemoved<C extends { readonly query: object }>(fleet: FleetReader, call: C): C {
  const { state, removed } = call.query as { readonly state?: string; readonly removed?: boolean };
  const isRequested = state !== undefined || removed !== undefined;
  if (isRequested || fleet.projection(NODE_COUNTERS).removed === 0) return call;
  return { ...call, query: { ...call.query, removed: false } };
}

function nodeCommand<M extends 'POST' | 'PUT' | 'DELETE'>(method: M, path: string, about: string) {
  return {
    method,
    path: `${NODES.path}/:id${path}`,
    tag: NODES.plural,
    about,
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    answers: { 200: { about: 'the node', schema: NODE_REPRESENTATION.schema } },
  } as const;
}

interface NodeCall {
  readonly params: { readonly id: string };
  readonly caller: { readonly name: string };
  readonly clock: { readonly nowMs: () => number };
}

function nodeWrite(
  { params, caller, clock }: NodeCall,
  why: string,
  decide: (fleet: FleetReader, command: ChangeNote & { readonly id: string }) => Decision<Node>,
) {
  const command = { id: params.id, by: caller.name, nowMs: clock.nowMs() };
  return {
    target: { representation: NODE_REPRESENTATION, id: params.id },
    why,
    decide: (fleet: FleetReader) => decide(fleet, command),
    answer: ({ after }: Committed<Node>) => renderCommitted(NODE_REPRESENTATION, after, params),
  };
}

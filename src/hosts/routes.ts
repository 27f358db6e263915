// The HTTP surface of hosts: list, show, edit, maintenance, force-down, re-admit. No decisions here.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  strictObject,
  editRoute,
  ID,
  listAnswer,
  listQuery,
  listResources,
  optionalFields,
  read,
  readResource,
  renderCommitted,
  scansFleet,
  write,
  type Listing,
  type Resource,
  type Route,
} from '../access/index.ts';
import type { FleetReader } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import { clearForceDown, disableHost, editHost, enableHost, forceDownHost, type AuditedCommand } from './decide.ts';
import { HOST_REPRESENTATION } from './host-representation.ts';
import { requesterOf, joinRoutes } from './join/routes.ts';
import { reAdmitHost } from './join/re-admit.ts';
import { scaleOutRoute } from './join/scale-out-routes.ts';
import { CONNECTION_STATES, HOST_FACTS, HOST_STATES, HOSTS_BY_SITE, HOSTS_BY_STATE, type Host } from './model.ts';

const LISTING: Listing<'host', Host> = {
  representation: HOST_REPRESENTATION,
  filters: {
    site: { schema: ID, valuesOf: (doc) => [doc.site], index: HOSTS_BY_SITE },
    state: {
      schema: Type.Enum(HOST_STATES),
      valuesOf: (doc) => [doc.state],
      index: HOSTS_BY_STATE,
      keyOf: (value) => `state:${value}`,
    },
    connection: {
      schema: Type.Enum(CONNECTION_STATES),
      valuesOf: (doc) => [doc.connection.state],
      index: HOSTS_BY_STATE,
      keyOf: (value) => `connection:${value}`,
    },
    zone: { schema: HOST_FACTS.zone, valuesOf: (doc) => [doc.zone] },
    enabled: { schema: Type.Boolean(), valuesOf: (doc) => [doc.disabled === undefined] },
    aggregate: { schema: HOST_FACTS.zone, valuesOf: (doc) => doc.aggregates },
    trait: { schema: HOST_FACTS.zone, valuesOf: (doc) => doc.traits },
    serviceVersion: { schema: Type.Integer({ minimum: 0 }), valuesOf: (doc) => [doc.serviceVersion] },
    transportZone: { schema: HOST_FACTS.zone, valuesOf: (doc) => [doc.transportZone] },
    quarantined: { schema: Type.Boolean(), valuesOf: (doc) => [doc.quarantined !== undefined] },
    degraded: { schema: Type.Boolean(), valuesOf: (doc) => [doc.degraded !== undefined] },
    removed: {
      schema: Type.Boolean({ description: 'false by default, unless a state is requested' }),
      valuesOf: (doc) => [doc.state === 'removed'],
    },
  },
  nameIsId: true,
  sorts: {
    name: (doc) => doc.name,
    site: (doc) => doc.site,
    zone: (doc) => doc.zone,
    state: (doc) => doc.state,
    connection: (doc) => doc.connection.state,
    changedAtMs: (doc) => doc.changedAtMs,
  },
};

const REASON = Type.String({ minLength: 1, maxLength: 500 });
const HOSTS: Resource<'host', Host> = {
  path: '/api/v1/hosts',
  plural: 'hosts',
  singular: 'host',
  representation: HOST_REPRESENTATION,
};

const Edit = strictObject(
  {
    ...optionalFields(HOST_FACTS),
    tunnelAddress: Type.Optional(Type.Union([HOST_FACTS.tunnelAddress, Type.Null()])),
    transportZone: Type.Optional(Type.Union([HOST_FACTS.transportZone, Type.Null()])),
  },
  { minProperties: 1 },
);

/** A service that this host cannot provide yet, in its agent's words. */
export interface ServiceNotReady {
  readonly service: string;
  readonly because: string;
  /** The operation that waits for it. */
  readonly operation: string;
}

export interface HostRouteParts {
  /** What handovers wait for at a host. Costs O(services of the host). */
  readonly findUnreadyServices: (fleet: FleetReader, host: string) => readonly ServiceNotReady[];
}

const SHOWN = Type.Object({
  ...HOST_REPRESENTATION.schema.properties,
  unready: Type.Optional(
    Type.Array(Type.Object({ service: Type.String(), because: Type.String(), operation: Type.String() }), {
      description: 'services that it takes over and cannot provide yet, with the reason from its agent',
    }),
  ),
});

function showHostRoute({ findUnreadyServices }: HostRouteParts): Route {
  return read({
    method: 'GET',
    path: `${HOSTS.path}/:id`,
    tag: HOSTS.plural,
    params: BY_ID,
    about: 'Show a host',
    access: 'viewer',
    scope: 'site',
    answers: { 200: { about: 'the host', schema: SHOWN } },
    handle: (call, { journal: { fleet }, redactorFor }) => {
      const found = readResource(fleet, HOST_REPRESENTATION, call, redactorFor(call.caller, fleet));
      const unready = found.kind === 'refuse' ? [] : findUnreadyServices(fleet, call.params.id);
      if (found.kind === 'refuse' || unready.length === 0) return found;
      // Without an ETag: readiness changes while the host's document does not.
      return answer({ ...(JSON.parse(found.text ?? '{}') as object), unready });
    },
  });
}

export const hostRoutes = (parts: HostRouteParts): readonly Route[] => [
  read({
    method: 'GET',
    path: '/api/v1/hosts',
    tag: 'hosts',
    about: 'List hosts',
    access: 'viewer',
    scope: 'site',
    query: strictObject({
      ...listQuery(LISTING).properties,
      all: Type.Optional(Type.Boolean({ description: 'removed hosts too' })),
    }),
    scansFleet: (call) => scansFleet(LISTING, call),
    answers: { 200: { about: 'a page of hosts', schema: listAnswer(HOST_REPRESENTATION.schema) } },
    handle: (call, { journal: { fleet }, redactorFor }) =>
      listResources(fleet, LISTING, excludeRemoved(fleet, call), redactorFor(call.caller, fleet)),
  }),
  showHostRoute(parts),
  editRoute(HOSTS, {
    about: 'Edit the operator fields of a host; only the given fields change',
    access: 'operator',
    scope: 'site',
    // Tunnel addresses are unique in the whole fleet, as names are.
    asksForNames: true,
    body: Edit,
    decide: (fleet, command, { by, nowMs, callerSite }) => editHost(fleet, { ...command, by, nowMs, callerSite }),
  }),
  commandWithReason('disable', 'Put a host into maintenance: it gets nothing new, what runs on it stays', disableHost),
  commandWithReason(
    'force-down',
    'Force a host down: state that it is off, whatever its heartbeats say',
    forceDownHost,
  ),
  commandWithOptionalReason('enable', 'Take a host out of maintenance', enableHost),
  commandWithOptionalReason('clear-force-down', 'Clear the force-down of a host', clearForceDown),
  commandWithReason('re-admit', 'Re-admit a host from quarantine', reAdmitHost),
  ...joinRoutes(),
  scaleOutRoute,
];

interface HostsQuery {
  readonly all?: boolean;
  readonly state?: string;
  readonly removed?: boolean;
}

/** Removed hosts are kept to be recognised, and are listed only on request. Where there is none, no filter runs. */
function excludeRemoved<C extends { readonly query: object }>(fleet: FleetReader, call: C): C {
  const { all = false, state, removed } = call.query as HostsQuery;
  const isRequested = all || state !== undefined || removed !== undefined;
  if (isRequested || fleet.countOf(HOSTS_BY_STATE, 'state:removed') === 0) return call;
  return { ...call, query: { ...call.query, removed: false } };
}

function commandWithReason(
  verb: string,
  about: string,
  decide: (fleet: FleetReader, command: AuditedCommand) => Decision<Host>,
): Route {
  return write({
    ...commandFace(verb, about),
    body: strictObject({ reason: REASON }),
    handle: ({ params, body, caller }, { clock }) => {
      const command = { id: params.id, reason: body.reason, ...requesterOf(caller), nowMs: clock.nowMs() };
      return {
        target: { representation: HOST_REPRESENTATION, id: params.id },
        why: `${verb}: ${body.reason}`,
        decide: (fleet) => decide(fleet, command),
        answer: ({ after }) => renderCommitted(HOST_REPRESENTATION, after, params),
      };
    },
  });
}

type Undo = (fleet: FleetReader, command: Omit<AuditedCommand, 'reason'>) => Decision<Host>;

function commandWithOptionalReason(verb: string, about: string, decide: Undo): Route {
  return write({
    ...commandFace(verb, about),
    body: strictObject({ reason: Type.Optional(REASON) }),
    handle: ({ params, body, caller }, { clock }) => {
      const command = { id: params.id, by: caller.name, nowMs: clock.nowMs() };
      return {
        target: { representation: HOST_REPRESENTATION, id: params.id },
        why: body.reason === undefined ? verb : `${verb}: ${body.reason}`,
        decide: (fleet) => decide(fleet, command),
        answer: ({ after }) => renderCommitted(HOST_REPRESENTATION, after, params),
      };
    },
  });
}

function commandFace(verb: string, about: string) {
  return {
    method: 'POST',
    path: `${HOSTS.path}/:id/${verb}`,
    tag: 'hosts',
    about,
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    answers: { 200: { about: 'the host', schema: HOST_REPRESENTATION.schema } },
  } as const;
}

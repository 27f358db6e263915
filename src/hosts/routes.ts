// The HTTP surface of hosts: join them, look at them, edit them, take them in and out of maintenance.
import { Type, type TSchema } from 'typebox';
import {
  answer,
  BY_ID,
  closed,
  createToken,
  ID,
  listAnswer,
  listQuery,
  listResources,
  newSecret,
  read,
  readResource,
  refused,
  resourceAfter,
  TOKEN_VIEW,
  viewOf,
  write,
  type Caller,
  type Listing,
  type Route,
} from '../access/index.ts';
import { idOf, type FleetReader, type Refusal } from '../fleet/index.ts';
import { refuse, type Decision } from '../journal/index.ts';
import { OPERATION } from '../operations/index.ts';
import { NAME_PATTERN } from '../sites/index.ts';
import {
  clearForcedDown,
  disableHost,
  editHost,
  enableHost,
  findHost,
  forceDownHost,
  joinHosts,
  unknownHost,
  type Decree,
} from './decide.ts';
import { JOIN_DEADLINE_MS } from './join.ts';
import {
  CAPACITY,
  CONNECTION_STATES,
  HOST,
  HOST_FACTS,
  HOST_STATES,
  HOSTS_BY_SITE,
  HOSTS_BY_STATE,
  isTombstoned,
  type Host,
} from './model.ts';

/** A join is one commit and one page of items for a person to look over. */
const JOIN_AT_ONCE_MAX = 1000;
const JOIN_DEADLINE_MAX_MS = 7 * 24 * 3600 * 1000;
/** Long enough to install a machine, short enough that a forgotten one is worthless. */
const JOIN_TOKEN_MS = 24 * 3600 * 1000;

const Said = Type.Object({ reason: Type.String(), by: Type.String(), atMs: Type.Integer() });

export const HOST_VIEW = viewOf<'host', Host>({
  kind: HOST,
  siteOf: (doc) => doc.site,
  show: ({ credential: _, ...doc }) => ({
    ...doc,
    enabled: doc.disabled === undefined,
    tombstoned: isTombstoned(doc),
  }),
  fields: {
    name: Type.String(),
    site: Type.String(),
    ...HOST_FACTS,
    tunnelAddress: Type.Optional(HOST_FACTS.tunnelAddress),
    enabled: Type.Boolean({ description: 'false while in maintenance: it takes nothing new' }),
    disabled: Type.Optional(Said),
    forcedDown: Type.Optional(Said),
    state: Type.Enum(HOST_STATES),
    tombstoned: Type.Boolean({ description: 'leaving: chosen for nothing' }),
    connection: Type.Object({ state: Type.Enum(CONNECTION_STATES), sinceMs: Type.Integer() }),
    serviceVersion: Type.Integer(),
    joinedAtMs: Type.Optional(Type.Integer()),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
});

const LISTING: Listing<'host', Host> = {
  view: HOST_VIEW,
  filters: {
    site: { schema: ID, of: (doc) => [doc.site], index: HOSTS_BY_SITE },
    state: {
      schema: Type.Enum(HOST_STATES),
      of: (doc) => [doc.state],
      index: HOSTS_BY_STATE,
      keyOf: (value) => `state:${value}`,
    },
    connection: {
      schema: Type.Enum(CONNECTION_STATES),
      of: (doc) => [doc.connection.state],
      index: HOSTS_BY_STATE,
      keyOf: (value) => `connection:${value}`,
    },
    zone: { schema: HOST_FACTS.zone, of: (doc) => [doc.zone] },
    enabled: { schema: Type.Boolean(), of: (doc) => [doc.disabled === undefined] },
    aggregate: { schema: HOST_FACTS.zone, of: (doc) => doc.aggregates },
    trait: { schema: HOST_FACTS.zone, of: (doc) => doc.traits },
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
const ONE = { 200: { about: 'the host', schema: HOST_VIEW.schema } };

/** The fields of an object, each of them optional. */
function optional<F extends Readonly<Record<string, TSchema>>>(
  fields: F,
): { [K in keyof F]: ReturnType<typeof Type.Optional<F[K]>> } {
  const entries = Object.entries(fields).map(([name, field]) => [name, Type.Optional(field)]);
  return Object.fromEntries(entries) as { [K in keyof F]: ReturnType<typeof Type.Optional<F[K]>> };
}

const { capacity: _capacity, ...PLAIN_FACTS } = HOST_FACTS;
const { ratios: RATIOS, ...SIZES } = CAPACITY.properties;

const Spec = closed({
  name: Type.String({ pattern: NAME_PATTERN }),
  site: Type.Optional(ID),
  ...optional(PLAIN_FACTS),
  capacity: Type.Optional(closed({ ...optional(SIZES), ratios: Type.Optional(closed(optional(RATIOS.properties))) })),
});

const Join = closed({
  hosts: Type.Array(Spec, { minItems: 1, maxItems: JOIN_AT_ONCE_MAX }),
  reason: Type.Optional(REASON),
  deadlineMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: JOIN_DEADLINE_MAX_MS })),
});

const Edit = closed(
  { ...optional(HOST_FACTS), tunnelAddress: Type.Optional(Type.Union([HOST_FACTS.tunnelAddress, Type.Null()])) },
  { minProperties: 1 },
);

export const hostRoutes: readonly Route[] = [
  read({
    method: 'GET',
    path: '/api/v1/hosts',
    tag: 'hosts',
    about: 'List hosts',
    access: 'viewer',
    scope: 'site',
    query: listQuery(LISTING),
    answers: { 200: { about: 'a page of hosts', schema: listAnswer(HOST_VIEW) } },
    handle: (call, { journal }) => listResources(journal.fleet, LISTING, call),
  }),
  read({
    method: 'GET',
    path: '/api/v1/hosts/:id',
    tag: 'hosts',
    about: 'Show a host',
    access: 'viewer',
    scope: 'site',
    params: BY_ID,
    answers: ONE,
    handle: (call, { journal }) => readResource(journal.fleet, HOST_VIEW, call),
  }),
  write({
    method: 'POST',
    path: '/api/v1/hosts',
    tag: 'hosts',
    about: 'Join hosts: register them all, or none, and start the operation that brings them into service',
    access: 'operator',
    scope: 'site',
    body: Join,
    answers: {
      202: {
        about: 'the operation to follow',
        schema: Type.Object({ operation: Type.String(), hosts: Type.Array(Type.String()) }),
      },
    },
    handle: ({ body, caller }, { clock, ids }) => {
      const hosts = body.hosts.map((spec) => ({ ...(caller.site !== undefined && { site: caller.site }), ...spec }));
      const away = hosts.findIndex((spec) => caller.site !== undefined && spec.site !== caller.site);
      if (away !== -1) return refused(otherSite(caller, `/hosts/${away}/site`));
      const operation = idOf(OPERATION, ids.next('op'));
      const { reason: why, deadlineMs = JOIN_DEADLINE_MS } = body;
      const asked = { by: caller.name, nowMs: clock.nowMs(), ...(why !== undefined && { why }) };
      return {
        why: why ?? 'join hosts',
        operation,
        decide: (fleet) => joinHosts(fleet, { hosts, operation, deadlineMs, ...asked }),
        answer: () => ({
          ...answer({ operation, hosts: hosts.map((spec) => spec.name) }, 202),
          headers: { location: `/api/v1/operations/${operation}` },
        }),
      };
    },
  }),
  write({
    method: 'PATCH',
    path: '/api/v1/hosts/:id',
    tag: 'hosts',
    about: 'Edit what operators say of a host; only the fields given change',
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    body: Edit,
    answers: ONE,
    handle: ({ params, body, caller }, { clock }) => {
      const command = { id: params.id, edit: body, by: caller.name, nowMs: clock.nowMs() };
      return {
        target: { view: HOST_VIEW, id: params.id },
        why: `edit ${Object.keys(body).join(', ')}`,
        decide: (fleet) => editHost(fleet, command),
        answer: (_, after) => resourceAfter(HOST_VIEW, after, params),
      };
    },
  }),
  withReason('disable', 'Put a host into maintenance: it takes nothing new, what runs on it stays', disableHost),
  withReason('force-down', 'Vouch for a host being off, whatever is heard of it', forceDownHost),
  withoutReason('enable', 'Take a host out of maintenance', enableHost),
  withoutReason('clear-force-down', 'Stop vouching for a host being off', clearForcedDown),
  joinTokenRoute(),
];

function withReason(
  verb: string,
  about: string,
  decide: (fleet: FleetReader, decree: Decree) => Decision<Host>,
): Route {
  return write({
    ...commandFace(verb, about),
    body: closed({ reason: REASON }),
    handle: ({ params, body, caller }, { clock }) => {
      const decree = { id: params.id, reason: body.reason, by: caller.name, nowMs: clock.nowMs() };
      return {
        target: { view: HOST_VIEW, id: params.id },
        why: `${verb}: ${body.reason}`,
        decide: (fleet) => decide(fleet, decree),
        answer: (_, after) => resourceAfter(HOST_VIEW, after, params),
      };
    },
  });
}

type Undo = (fleet: FleetReader, decree: Omit<Decree, 'reason'>) => Decision<Host>;

function withoutReason(verb: string, about: string, decide: Undo): Route {
  return write({
    ...commandFace(verb, about),
    body: closed({ reason: Type.Optional(REASON) }),
    handle: ({ params, body, caller }, { clock }) => {
      const decree = { id: params.id, by: caller.name, nowMs: clock.nowMs() };
      return {
        target: { view: HOST_VIEW, id: params.id },
        why: body.reason === undefined ? verb : `${verb}: ${body.reason}`,
        decide: (fleet) => decide(fleet, decree),
        answer: (_, after) => resourceAfter(HOST_VIEW, after, params),
      };
    },
  });
}

function commandFace(verb: string, about: string) {
  return {
    method: 'POST',
    path: `/api/v1/hosts/:id/${verb}`,
    tag: 'hosts',
    about,
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    answers: ONE,
  } as const;
}

/** A token with which the agent of one host gets its own credential, once. */
function joinTokenRoute(): Route {
  const { schema } = TOKEN_VIEW;
  return write({
    ...commandFace('join-token', 'Make a one-time token for the agent of a host; its secret is in this answer only'),
    body: closed({ lifetimeMs: Type.Optional(Type.Integer({ minimum: 60_000, maximum: JOIN_DEADLINE_MAX_MS })) }),
    answers: {
      201: {
        about: 'the token and, once, its secret',
        schema: Type.Object({
          ...schema.properties,
          secret: Type.Optional(Type.String()),
          note: Type.Optional(Type.String()),
        }),
      },
    },
    handle: ({ params, body, caller }, world) => {
      const { id, secret, hash } = newSecret(world);
      const nowMs = world.clock.nowMs();
      const token = {
        name: `join ${params.id}`.slice(0, 100),
        role: 'join' as const,
        host: params.id,
        hash,
        createdAtMs: nowMs,
        createdBy: caller.name,
        expiresAtMs: nowMs + (body.lifetimeMs ?? JOIN_TOKEN_MS),
      };
      return {
        target: { view: HOST_VIEW, id: params.id },
        why: `make a join token for ${params.id}`,
        decide: (fleet) => joinable(fleet, params.id) ?? createToken(fleet, { id, ...token }),
        answer: (made, after) => ({
          ...resourceAfter(TOKEN_VIEW, after, { id: made, status: 201 }),
          secrets: { secret },
        }),
      };
    },
  });
}

function joinable(fleet: FleetReader, id: string): Decision<never> | undefined {
  const host = findHost(fleet, id);
  if (host === undefined) return refuse(unknownHost(id));
  if (host.doc.state !== 'removed') return undefined;
  const message = `Host "${id}" was removed. Join it again first.`;
  return refuse({ kind: 'conflict', code: 'host-removed', message, facts: { host: id } });
}

function otherSite({ site }: Caller, field: string): Refusal {
  const message = `Your token is bound to site "${site}": hosts of another site are not yours to join.`;
  return { kind: 'forbidden', code: 'other-site', message, field };
}

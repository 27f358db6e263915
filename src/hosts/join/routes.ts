// The HTTP surface of joining: register hosts, and make one-time join tokens for their agents. No decisions here.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  strictObject,
  createToken,
  ID,
  newSecret,
  optionalFields,
  refusalAnswer,
  renderCommitted,
  TOKEN_REPRESENTATION,
  write,
  type Caller,
  type NewNames,
  type Route,
} from '../../access/index.ts';
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { refuse, type Decision } from '../../journal/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { NAME } from '../../sites/index.ts';
import { findHost, joinHosts, removedHost, unknownHost } from '../decide.ts';
import { HOST_REPRESENTATION } from '../host-representation.ts';
import { JOIN_DEADLINE_MS } from './join.ts';
import { CAPACITY, HOST_FACTS } from '../model.ts';

/** A join is one commit, and one page of items in the answer. */
const JOIN_AT_ONCE_MAX = 1000;
const JOIN_DEADLINE_MAX_MS = 7 * 24 * 3600 * 1000;
/** Long enough to install a machine, short enough that a forgotten one is worthless. */
const JOIN_TOKEN_MS = 24 * 3600 * 1000;

const { capacity: _capacity, ...PLAIN_FACTS } = HOST_FACTS;
const { ratios: RATIOS, ...SIZES } = CAPACITY.properties;

const Spec = strictObject({
  name: NAME,
  site: Type.Optional(ID),
  ...optionalFields(PLAIN_FACTS),
  capacity: Type.Optional(
    strictObject({ ...optionalFields(SIZES), ratios: Type.Optional(strictObject(optionalFields(RATIOS.properties))) }),
  ),
});

/** The fields of joining hosts. */
export const JOIN = {
  hosts: Type.Array(Spec, { minItems: 1, maxItems: JOIN_AT_ONCE_MAX }),
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
  deadlineMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: JOIN_DEADLINE_MAX_MS })),
};

/** The specs of a request, in the caller's own site by default; refused when they name another. */
export function specsOf<S extends { readonly site?: string | undefined }>(
  hosts: readonly S[],
  caller: Caller,
): readonly S[] | Refusal {
  if (caller.site === undefined) return hosts;
  const { site } = caller;
  const away = hosts.findIndex((spec) => spec.site !== undefined && spec.site !== site);
  return away === -1 ? hosts.map((spec) => ({ ...spec, site })) : otherSite(caller, `/hosts/${away}/site`);
}

/** The caller, and which hosts may be named in the answer. */
export function requesterOf({ name, site }: Caller): { readonly by: string; readonly callerSite: string | undefined } {
  return { by: name, callerSite: site };
}

/** The names of the new hosts. */
export function hostNames(hosts: readonly { readonly name: string }[]): NewNames {
  return {
    representation: HOST_REPRESENTATION,
    names: hosts.map(({ name }) => name),
    fieldOf: (at) => `/hosts/${at}/name`,
  };
}

export function joinRoutes(): Route[] {
  return [joinRoute, joinTokenRoute()];
}

const joinRoute = write({
  method: 'POST',
  path: '/api/v1/hosts',
  tag: 'hosts',
  about: 'Join hosts: register them all, or none, and start the operation that brings them into service',
  access: 'operator',
  scope: 'site',
  asksForNames: true,
  body: strictObject(JOIN),
  answers: {
    202: {
      about: 'the operation to follow',
      schema: Type.Object({ operation: Type.String(), count: Type.Integer() }),
    },
  },
  handle: ({ body, caller }, { clock, ids }) => {
    const hosts = specsOf(body.hosts, caller);
    if ('code' in hosts) return refusalAnswer(hosts);
    const operation = idOf(OPERATION, ids.next('op'));
    const { reason: why, deadlineMs = JOIN_DEADLINE_MS } = body;
    const command = { ...requesterOf(caller), nowMs: clock.nowMs(), ...(why !== undefined && { why }) };
    return {
      why: why ?? 'join hosts',
      operation,
      creates: hostNames(hosts),
      decide: (fleet) => joinHosts(fleet, { hosts, operation, deadlineMs, ...command }),
      answer: () => ({
        // Small for any number of hosts, so that it can be stored for a repeated request.
        ...answer({ operation, count: hosts.length }, 202),
        headers: { location: `/api/v1/operations/${operation}` },
      }),
    };
  },
});

/** A token with which the agent of one host gets its own credential, once. */
function joinTokenRoute(): Route {
  const { schema } = TOKEN_REPRESENTATION;
  return write({
    method: 'POST',
    path: '/api/v1/hosts/:id/join-token',
    tag: 'hosts',
    about: 'Make a one-time token for the agent of a host; its secret is in this answer only',
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    body: strictObject({ lifetimeMs: Type.Optional(Type.Integer({ minimum: 60_000, maximum: JOIN_DEADLINE_MAX_MS })) }),
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
        target: { representation: HOST_REPRESENTATION, id: params.id },
        why: `make a join token for ${params.id}`,
        decide: (fleet) => denyRemovedHost(fleet, params.id) ?? createToken(fleet, { id, ...token }),
        answer: ({ result: made, after }) => ({
          ...renderCommitted(TOKEN_REPRESENTATION, after, { id: made, status: 201 }),
          secrets: { secret },
        }),
      };
    },
  });
}

function denyRemovedHost(fleet: FleetReader, id: string): Decision<never> | undefined {
  const host = findHost(fleet, id);
  if (host === undefined) return refuse(unknownHost(id));
  if (host.doc.state !== 'removed') return undefined;
  return refuse(removedHost(id));
}

function otherSite({ site }: Caller, field: string): Refusal {
  const message = `Your token is bound to site "${site}": you cannot join hosts of another site. Leave the site out, or use a token that is bound to no site.`;
  return { kind: 'forbidden', code: 'other-site', message, field };
}

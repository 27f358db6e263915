// Parses a request for instances into a command. What a schema cannot express is refused here: a minimum above the count, a name that leaves no
// characters for the numbers, a site that is not the caller's.
import { Type, type Static } from 'typebox';
import { answer, strictObject, denyOtherProject, HOST_REF, ID, type Answer, type Caller } from '../../access/index.ts';
import type { Refusal } from '../../fleet/index.ts';
import { DEFAULT_PROJECT, REQUESTED_NETWORKS } from '../../network/index.ts';
import type { OperationId } from '../../operations/index.ts';
import { BUILD_DEADLINE_MS } from './operation.ts';
import type { CreateInstances } from './create.ts';
import { ATTEMPTS_MAX, INSTANCE_SCHEMA, PLACE, WORD, type Instance } from '../model.ts';

/** Each is placed with its ports in the one commit that accepts the request. */
const COUNT_MAX = 200;
const SECURITY_GROUPS_MAX = 32;
const NAME_LENGTH_MAX = 63;
const DEADLINE_MAX_MS = 7 * 24 * 3600 * 1000;

/** The deadline of an operation, and its reason. */
export const OPERATION_FIELDS = {
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'why, for the history' })),
  deadlineMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: DEADLINE_MAX_MS })),
};

/** The answer of every request that starts an operation. */
export const STARTED_FIELDS = { operation: Type.String({ description: 'follow it at /api/v1/operations/{id}' }) };

export function answerStarted(body: { readonly operation: string; readonly instances?: readonly string[] }): Answer {
  return { ...answer(body, 202), headers: { location: `/api/v1/operations/${body.operation}` } };
}

const { name, image, imageProperties, project } = INSTANCE_SCHEMA.properties;
const { onlyHost: _onlyHost, site: _site, group: _group, ...WHERE } = PLACE;

export const NEW_INSTANCES = strictObject({
  name: Type.Optional(name),
  count: Type.Optional(
    Type.Integer({ minimum: 1, maximum: COUNT_MAX, description: 'with more than one they are numbered: web-1, web-2' }),
  ),
  minCount: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: COUNT_MAX,
      description: 'with fewer than this, none is created; all of them by default',
    }),
  ),
  flavor: ID,
  image,
  imageProperties,
  project: Type.Optional(project),
  networks: Type.Optional(REQUESTED_NETWORKS),
  securityGroups: Type.Optional(Type.Array(WORD, { maxItems: SECURITY_GROUPS_MAX, uniqueItems: true })),
  site: Type.Optional(ID),
  ...WHERE,
  group: Type.Optional(ID),
  host: Type.Optional(
    Type.String({ ...HOST_REF, description: 'only this host, by any id of it: nothing else is tried' }),
  ),
  attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: ATTEMPTS_MAX, description: 'hosts tried at most' })),
  ...OPERATION_FIELDS,
});
export type NewInstances = Static<typeof NEW_INSTANCES>;

/** Values from outside: the caller, the time, and fresh ids. */
export interface RequestContext {
  readonly caller: Caller;
  readonly nowMs: number;
  readonly hasCredentials: boolean;
  readonly operation: OperationId;
  readonly newId: (prefix: string) => string;
}

export function toCreateCommand(body: NewInstances, context: RequestContext): CreateInstances | Refusal {
  const {
    count = 1,
    minCount = count,
    networks = 'auto',
    flavor,
    image: from,
    securityGroups,
    attempts,
    reason,
  } = body;
  const { caller, nowMs, hasCredentials, operation, newId } = context;
  const instanceName = body.name ?? generateName(flavor, newId('i'));
  const problem =
    countProblem(instanceName, count, minCount) ??
    siteProblem(caller, body.site) ??
    denyOtherProject(caller, body.project);
  if (problem !== undefined) return problem;
  const nics = typeof networks === 'string' ? 1 : Math.max(1, networks.length);
  return {
    name: instanceName,
    count,
    minCount,
    isMinimumNamed: body.minCount !== undefined,
    flavor,
    image: from,
    imageProperties: body.imageProperties,
    project: body.project ?? caller.project ?? DEFAULT_PROJECT,
    place: placeOf(body, caller),
    networks,
    securityGroups,
    attemptsMax: attempts,
    operation,
    portIds: Array.from({ length: count * nics }, () => newId('port')),
    by: caller.name,
    why: reason,
    admin: caller.role === 'admin',
    siteLimit: caller.site,
    isProjectScoped: caller.project !== undefined,
    hasCredentials,
    nowMs,
    deadlineMs: body.deadlineMs ?? BUILD_DEADLINE_MS,
  };
}

/** A site-bound caller's instances stay in its site, also when they are moved later. */
function placeOf(body: NewInstances, caller: Caller): CreateInstances['place'] {
  const { zone, aggregates, requiredTraits, forbiddenTraits, group, host } = body;
  const site = body.site ?? caller.site;
  const place: Instance['place'] = {};
  if (site !== undefined) place.site = site;
  if (zone !== undefined) place.zone = zone;
  if (aggregates !== undefined) place.aggregates = aggregates;
  if (requiredTraits !== undefined) place.requiredTraits = requiredTraits;
  if (forbiddenTraits !== undefined) place.forbiddenTraits = forbiddenTraits;
  if (group !== undefined) place.group = group;
  if (host !== undefined) place.onlyHost = host;
  return place;
}

/** The flavor, and a unique part of an id. */
function generateName(flavor: string, id: string): string {
  const unique = id.slice(id.indexOf('-') + 1);
  // The flavor may not exist, or not even be a valid name: then the request is refused for that.
  return `${flavor.toLowerCase().slice(0, NAME_LENGTH_MAX - 5 - unique.length)}-${unique}`;
}

function countProblem(called: string, count: number, minCount: number): Refusal | undefined {
  if (minCount > count) {
    const message = `At least ${minCount} of ${count} instances is impossible. Raise count, or lower minCount.`;
    return { kind: 'invalid', code: 'minimum-above-count', message, field: '/minCount', facts: { count, minCount } };
  }
  const lastName = count === 1 ? called : `${called}-${count}`;
  if (lastName.length <= NAME_LENGTH_MAX) return undefined;
  const message = `The instances would be named up to "${lastName}", which is longer than ${NAME_LENGTH_MAX} characters. Choose a shorter name.`;
  return { kind: 'invalid', code: 'name-too-long', message, field: '/name', facts: { name: called, count } };
}

function siteProblem(caller: Caller, site: string | undefined): Refusal | undefined {
  if (caller.site === undefined || site === undefined || site === caller.site) return undefined;
  const message = `Your token is bound to site "${caller.site}": you cannot create instances in another site. Leave the site out, or use a token that is bound to no site.`;
  return { kind: 'forbidden', code: 'other-site', message, field: '/site', facts: { site } };
}

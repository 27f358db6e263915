// The HTTP surface of managers: the requests of managers for themselves, and those of operators about them. No decisions here. The name in a path
// is in any case, since names are compared in lower case; a manager's token speaks for its own name alone.
import { Type } from 'typebox';
import {
  answer,
  ID,
  listRoute,
  noSuch,
  read,
  refusalAnswer,
  renderCommitted,
  findVisible,
  write,
  type Call,
  type HandlerResult,
  type Listing,
  type Redactor,
  type Route,
  type RouteContext,
  type RouteFields,
  HOST_REF,
  type Committed,
} from '../../access/index.ts';
import type { FleetReader } from '../../fleet/index.ts';
import type { CertificateIssuer } from '../../link/index.ts';
import { manageableCapacity } from '../capacity/capacity.ts';
import { MANAGER_STATES, type Manager } from '../model.ts';
import { MANAGER_REPRESENTATION } from '../representations.ts';
import { forgetManager, managerId, type StoredManager } from './decide.ts';
import { drainRoutes } from './drain-routes.ts';
import { managerJoinRoutes } from './join-routes.ts';
import { pauseManager, resumeManager } from './pause.ts';
import type { GatewayReply, ManagerCaller, ManagerGateway } from './gateway.ts';
import {
  ACQUIRE_REQUEST,
  ACQUIRE_RESPONSE,
  ANSWER_REQUEST,
  ANSWER_RESPONSE,
  BY_MANAGER,
  LEASE_RESPONSE,
  REGISTER_REQUEST,
  RELEASE_RESPONSE,
  TASKS_QUERY,
  TASKS_RESPONSE,
  TENURE_REQUEST,
  type AcquireResponse,
  type AnswerRequest,
  type AnswerResponse,
} from './messages.ts';

const PATH = '/api/v1/managers';
const ONE = `${PATH}/:manager`;
const TAG = 'managers';

/** For managers alone. A token of theirs is bound to no site: a manager acts on nodes of all of them. */
const BY_ITSELF = { tag: TAG, access: 'manager', params: BY_MANAGER } as const satisfies Partial<RouteFields>;

/** Without an issuer managers get no certificates. */
export function managerRoutes(gateway: ManagerGateway, issuer?: CertificateIssuer): Route[] {
  return [
    ...managerJoinRoutes(issuer),
    registerRoute(gateway),
    renewRoute(gateway),
    releaseRoute(gateway),
    acquireRoute(gateway),
    tasksRoute(gateway),
    answersRoute(gateway),
    listManagers(),
    showManager(),
    ...drainRoutes,
    verbRoute(PAUSE),
    verbRoute(RESUME),
    forgetRoute(),
  ];
}

type ManagerCall = Call<{ readonly manager: string }>;

function callerOf({ params, caller, authority }: ManagerCall, world: RouteContext): ManagerCaller {
  return {
    manager: managerId(params.manager),
    by: caller.name,
    submit: (request) => world.submit(authority, request),
  };
}

function toAnswer<A extends object>(reply: GatewayReply<A>): HandlerResult {
  return reply.kind === 'answer' ? answer(reply.answer) : refusalAnswer(reply.refusal);
}

function registerRoute(gateway: ManagerGateway): Route {
  return read({
    ...BY_ITSELF,
    method: 'PUT',
    path: ONE,
    onFollower: 'forward',
    about:
      'Register a manager of bare-metal nodes under a lease of its name; repeated by the same process, it renews it',
    submitsCommits: true,
    body: REGISTER_REQUEST,
    answers: { 200: { about: 'the lease', schema: LEASE_RESPONSE } },
    handle: async (call, world) => toAnswer(await gateway.register(callerOf(call, world), call.body)),
  });
}

/** At any server, also while none decides. */
function renewRoute(gateway: ManagerGateway): Route {
  return read({
    ...BY_ITSELF,
    method: 'POST',
    path: `${ONE}/renew`,
    onFollower: 'answer',
    about: "Renew a manager's lease; never journalled",
    body: TENURE_REQUEST,
    answers: { 200: { about: 'the lease', schema: LEASE_RESPONSE } },
    handle: async ({ params, body }) => toAnswer(await gateway.renew(managerId(params.manager), body)),
  });
}

function releaseRoute(gateway: ManagerGateway): Route {
  return read({
    ...BY_ITSELF,
    method: 'POST',
    path: `${ONE}/release`,
    onFollower: 'forward',
    about: "Release a manager's lease at the clean end of its process: others take its nodes over at once",
    submitsCommits: true,
    body: TENURE_REQUEST,
    answers: { 200: { about: 'whether there was one to release', schema: RELEASE_RESPONSE } },
    handle: async (call, world) => toAnswer(await gateway.release(callerOf(call, world), call.body)),
  });
}

function acquireRoute(gateway: ManagerGateway): Route {
  return write({
    ...BY_ITSELF,
    method: 'POST',
    path: `${ONE}/acquire`,
    about: 'Acquire a batch of nodes: those that were its own, then orphans, up to an even share',
    body: ACQUIRE_REQUEST,
    answers: { 200: { about: 'how many, and how many more there are', schema: ACQUIRE_RESPONSE } },
    handle: ({ params, body, caller }) => ({
      ...gateway.acquire({ manager: managerId(params.manager), by: caller.name }, body),
      answer: ({ result: acquired }: Committed<AcquireResponse>) => answer(acquired),
    }),
  });
}

function tasksRoute(gateway: ManagerGateway): Route {
  return read({
    ...BY_ITSELF,
    method: 'GET',
    path: `${ONE}/tasks`,
    onFollower: 'forward',
    about: "Get a manager's tasks as soon as they differ from those with this digest; long poll",
    query: TASKS_QUERY,
    answers: { 200: { about: 'the tasks, or `unchanged` after the wait', schema: TASKS_RESPONSE } },
    handle: async ({ params, query, caller: { token } }, { hash, closing }) =>
      toAnswer(await gateway.tasks(managerId(params.manager), query, { hash, closing, token })),
  });
}

function answersRoute(gateway: ManagerGateway): Route {
  return write({
    ...BY_ITSELF,
    method: 'POST',
    path: `${ONE}/answers`,
    about: 'Report the result of a task, with the right by which it was carried out; may be repeated',
    body: ANSWER_REQUEST,
    answers: { 200: { about: 'whether it was recorded', schema: ANSWER_RESPONSE } },
    handle: ({ params, body }) => ({
      ...gateway.answer(managerId(params.manager), body as AnswerRequest),
      answer: ({ result }: Committed<AnswerResponse>) => answer(result),
    }),
  });
}

/** What it has, and what is free for it to get: from counters; of its site, for a caller that sees that site alone. */
function renderRow(stored: StoredManager, fleet: FleetReader, sight?: Redactor): string {
  const text = MANAGER_REPRESENTATION.toJsonText(stored, sight);
  const capacity = JSON.stringify(manageableCapacity(fleet, stored.id, sight && stored.doc.site));
  return `${text.slice(0, -1)},${capacity.slice(1)}`;
}

function listManagers(): Route {
  const listing: Listing<'manager', Manager> = {
    representation: MANAGER_REPRESENTATION,
    filters: {
      state: { schema: Type.Enum(MANAGER_STATES), valuesOf: (doc) => [doc.state] },
      site: { schema: ID, valuesOf: (doc) => [doc.site] },
      host: { schema: HOST_REF, valuesOf: (doc) => [doc.host], names: 'host' },
    },
    nameIsId: true,
    sorts: { name: (doc) => doc.name, state: (doc) => doc.state },
    text: renderRow,
  };
  return listRoute({ path: PATH, plural: TAG }, { listing, about: 'List managers of bare-metal nodes', scope: 'site' });
}

function showManager(): Route {
  return read({
    method: 'GET',
    path: ONE,
    tag: TAG,
    about: 'Show a manager of bare-metal nodes',
    access: 'viewer',
    scope: 'site',
    params: BY_MANAGER,
    answers: { 200: { about: 'the manager', schema: MANAGER_REPRESENTATION.schema } },
    handle: ({ params, caller }, { journal: { fleet }, redactorFor }) => {
      const stored = findVisible(fleet, MANAGER_REPRESENTATION, { caller, id: managerId(params.manager) });
      if (stored === undefined) return refusalAnswer(noSuch('manager', params.manager, caller));
      const text = renderRow(stored, fleet, redactorFor(caller, fleet));
      return { kind: 'answer', status: 200, text, etag: stored.revision };
    },
  });
}

const BY_OPERATORS = { tag: TAG, access: 'operator', scope: 'site', params: BY_MANAGER } as const;

interface ManagerVerb {
  readonly verb: string;
  readonly about: string;
  readonly decide: typeof pauseManager;
}

function verbRoute({ verb, about, decide }: ManagerVerb): Route {
  return write({
    ...BY_OPERATORS,
    ...{ method: 'POST', path: `${ONE}/${verb}`, about },
    answers: { 200: { about: 'the manager', schema: MANAGER_REPRESENTATION.schema } },
    handle: ({ params, caller }, { clock }) => {
      const id = managerId(params.manager);
      const command = { manager: params.manager, by: caller.name, nowMs: clock.nowMs() };
      return {
        target: { representation: MANAGER_REPRESENTATION, id },
        why: `${verb} manager ${id}`,
        decide: (fleet) => decide(fleet, command),
        answer: ({ after }) => renderCommitted(MANAGER_REPRESENTATION, after, { id }),
      };
    },
  });
}

/** For trials: what the loss of a manager costs, and what comes of one that wakes, is seen without a second machine. */
const PAUSE: ManagerVerb = {
  verb: 'pause',
  about:
    'Halt a manager that runs inside a server, as SIGSTOP halts a process: its lease runs out, and it wakes with what it remembers',
  decide: pauseManager,
};
const RESUME: ManagerVerb = { verb: 'resume', about: 'Let a manager that was paused go on', decide: resumeManager };

function forgetRoute(): Route {
  return write({
    ...BY_OPERATORS,
    method: 'DELETE',
    path: ONE,
    about: 'Forget a manager that has stopped or is lost, and has no nodes left: its tokens are revoked',
    answers: { 200: { about: 'the manager as it was', schema: MANAGER_REPRESENTATION.schema } },
    handle: ({ params, caller }, { clock }) => {
      const id = managerId(params.manager);
      const command = { id, by: caller.name, nowMs: clock.nowMs() };
      return {
        target: { representation: MANAGER_REPRESENTATION, id },
        why: `forget manager ${id}`,
        decide: (fleet) => forgetManager(fleet, command),
        answer: ({ result: stored, after: { redactor } }) => ({
          kind: 'answer',
          status: 200,
          text: MANAGER_REPRESENTATION.toJsonText(stored, redactor),
          shown: { kind: 'manager', id, revision: stored.revision },
        }),
      };
    },
  });
}

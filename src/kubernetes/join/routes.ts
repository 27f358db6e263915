// The HTTP surface of new workers: request them, and read what the script on a machine wrote. No decisions here: ids and the token's secret are made before, and the
// secret is sealed.
import { Type, type Static } from 'typebox';
import {
  answer,
  BY_ID,
  findVisible,
  noSuch,
  read,
  refusalAnswer,
  strictObject,
  write,
  type Call,
  type Route,
  type RouteContext,
} from '../../access/index.ts';
import { idOf, type Refusal } from '../../fleet/index.ts';
import { NEW_INSTANCES, toCreateCommand } from '../../instances/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { CLUSTER_REPRESENTATION, WORKER_REPRESENTATION } from '../representations.ts';
import { REASON } from '../workers/request-fields.ts';
import type { WorkerLifecycle } from '../workers/lifecycle.ts';
import { answerAccepted, WORKERS_ACCEPTED } from '../workers/accepted.ts';
import { WORKERS_ADDED_MAX, type AddWorkers } from './decide.ts';
import { MACHINE_LOG, WORKER_JOIN } from './model.ts';
import { composeToken } from './new-token.ts';

export interface JoinRouteOptions {
  readonly lifecycle: WorkerLifecycle;
  /** Whether this server has the credentials of the network back ends that need some. */
  readonly hasCredentials: () => boolean;
}

const {
  name: _name,
  count: _count,
  minCount: _minCount,
  reason: _reason,
  deadlineMs: _deadlineMs,
  attempts: _attempts,
  ...INSTANCE_FIELDS
} = NEW_INSTANCES.properties;

const Body = strictObject({
  count: Type.Optional(Type.Integer({ description: `1 to ${WORKERS_ADDED_MAX}; 1 unless said` })),
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 63,
      description: 'what the names of Nodes and instances begin with; that of the cluster unless said',
    }),
  ),
  ...INSTANCE_FIELDS,
  joinDeadlineMs: Type.Optional(
    Type.Integer({
      minimum: 1000,
      maximum: 3600 * 1000,
      description: 'for each worker, from its turn on, install included; 30 minutes unless said',
    }),
  ),
  reason: REASON,
});

export function addRoute(options: JoinRouteOptions): Route {
  return write({
    method: 'POST',
    path: '/api/v1/clusters/:id/workers/add',
    tag: 'workers',
    about: 'Build instances and have them join as workers, until each Node is Ready',
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    body: Body,
    answers: { 202: { about: 'the operation, and the workers that it is about', schema: WORKERS_ACCEPTED } },
    handle: (call, world) => {
      const request = toRequest(call, world, options.hasCredentials());
      if ('code' in request) return refusalAnswer(request);
      return {
        target: { representation: CLUSTER_REPRESENTATION, id: request.cluster },
        why: request.why ?? `add ${request.count} workers to cluster ${request.cluster}`,
        operation: request.operation,
        decide: (fleet) => options.lifecycle.join(fleet, request),
        answer: ({ result }) => answerAccepted(result),
      };
    },
  });
}

function toRequest(
  { params, body, caller }: Call<{ readonly id: string }, unknown, Static<typeof Body>>,
  { clock, ids, seal }: RouteContext,
  hasCredentials: boolean,
): AddWorkers | Refusal {
  const { count = 1, name: base, joinDeadlineMs, reason: why, ...instance } = body;
  const operation = idOf(OPERATION, ids.next('op'));
  const nowMs = clock.nowMs();
  const command = toCreateCommand(
    { ...instance, name: params.id },
    { caller, nowMs, hasCredentials, operation, newId: (prefix) => ids.next(prefix) },
  );
  if ('code' in command) return command;
  // Refused by the decision: the answer to a caller that may not see the cluster says nothing about keys.
  const token = composeToken(ids, (secret) => seal({ kind: WORKER_JOIN.name, id: operation }, secret));
  const { name: _, count: __, minCount: ___, portIds: ____, deadlineMs: _____, ...template } = command;
  const isInRange = count >= 1 && count <= WORKERS_ADDED_MAX;
  return {
    ...{ cluster: params.id, operation, by: caller.name, why, nowMs, count, base, template, token, joinDeadlineMs },
    project: body.project,
    ids: Array.from({ length: isInRange ? count : 0 }, () => ids.next('worker')),
  };
}

const Log = strictObject({
  worker: Type.String(),
  operation: Type.String(),
  text: Type.String({ description: 'the last 16 KiB of what it wrote; secrets are masked' }),
  isCut: Type.Boolean({ description: 'there was more before it' }),
  exitCode: Type.Optional(Type.Integer({ description: 'absent when it did not end by itself' })),
  atMs: Type.Integer(),
});

export const machineLogRoute: Route = read({
  method: 'GET',
  path: '/api/v1/workers/:id/log',
  tag: 'workers',
  about: 'Show what the script on the machine of a worker wrote last',
  access: 'operator',
  scope: 'site',
  params: BY_ID,
  answers: { 200: { about: 'its output', schema: Log } },
  handle: ({ params: { id }, caller }, { journal: { fleet }, redactorFor }) => {
    if (findVisible(fleet, WORKER_REPRESENTATION, { caller, id }) === undefined)
      return refusalAnswer(noSuch('worker', id, caller));
    const log = fleet.get(MACHINE_LOG, idOf(MACHINE_LOG, id))?.doc;
    if (log === undefined) return refusalAnswer(noLog(id));
    const { cluster: _, operation, ...shown } = log;
    const redacted = redactorFor(caller, fleet)?.redactText(operation) ?? operation;
    return answer({ worker: id, operation: redacted, ...shown });
  },
});

function noLog(worker: string): Refusal {
  const message = `No script was run on the machine of worker "${worker}" yet. "muster workers show ${worker}" says what it waits for.`;
  return { kind: 'not-found', code: 'no-machine-log', message, facts: { worker } };
}

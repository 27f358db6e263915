// The HTTP surface of workers: list and show them and their drains, and request drains, removals and returns. No decisions here.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  ID,
  readRoutes,
  strictObject,
  write,
  type Call,
  type Listing,
  type Route,
  type RouteContext,
} from '../../access/index.ts';
import { idOf, type FleetReader } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { OPERATION } from '../../operations/index.ts';
import {
  READINESS,
  WORKER_STATES,
  WORKERS_BY_CLUSTER,
  WORKERS_BY_INSTANCE,
  type DrainReport,
  type Worker,
} from '../model.ts';
import { CLUSTER_REPRESENTATION, DRAIN_REPORT_REPRESENTATION, WORKER_REPRESENTATION } from '../representations.ts';
import { answerAccepted, WORKERS_ACCEPTED } from './accepted.ts';
import { returnWorkers, type WorkersAnswer, type WorkersRequest } from './decide.ts';
import { wholeName } from './chosen-workers.ts';
import { forgetWorkers } from './forget.ts';
import type { WorkerLifecycle } from './lifecycle.ts';
import { readChosenWorkers, POLICY_FIELDS, REASON, WORKERS, WORKERS_FIELDS } from './request-fields.ts';

const TAG = 'workers';

const LISTING: Listing<'worker', Worker> = {
  representation: WORKER_REPRESENTATION,
  filters: {
    cluster: { schema: ID, valuesOf: (doc) => [doc.cluster], index: WORKERS_BY_CLUSTER, names: 'cluster' },
    instance: { schema: ID, valuesOf: (doc) => [doc.instance], index: WORKERS_BY_INSTANCE, names: 'instance' },
    state: { schema: Type.Enum(WORKER_STATES), valuesOf: (doc) => [doc.state] },
    readiness: { schema: Type.Enum(READINESS), valuesOf: (doc) => [doc.readiness] },
  },
  sorts: {
    state: (doc) => doc.state,
    readiness: (doc) => doc.readiness,
    createdAtMs: (doc) => doc.createdAtMs,
  },
};

const REPORTS: Listing<'drain-report', DrainReport> = {
  representation: DRAIN_REPORT_REPRESENTATION,
  filters: { cluster: { schema: ID, valuesOf: (doc) => [doc.cluster], names: 'cluster' } },
  sorts: { left: (doc) => doc.left },
};

/** What is left out of the policy is as the cluster has it. */
const DrainBody = strictObject({ ...WORKERS_FIELDS, ...POLICY_FIELDS, reason: REASON });
const RemoveBody = strictObject({
  ...{ ...WORKERS_FIELDS, ...POLICY_FIELDS, reason: REASON },
  keepInstances: Type.Optional(
    Type.Boolean({ description: 'their machines leave the cluster, and their instances stay; false unless said' }),
  ),
});
const ReturnBody = strictObject({ workers: WORKERS, reason: REASON });

const forgetRoute: Route = write({
  method: 'POST',
  path: '/api/v1/clusters/:id/workers/forget',
  tag: TAG,
  about: 'Have adopted Nodes be workers no more; nothing is changed in the cluster',
  access: 'operator',
  scope: 'site',
  params: BY_ID,
  body: strictObject({ workers: WORKERS }),
  answers: { 200: { about: 'those that are forgotten', schema: strictObject({ workers: Type.Array(Type.String()) }) } },
  handle: ({ params: { id: cluster }, body: { workers: nodes } }) => ({
    target: { representation: CLUSTER_REPRESENTATION, id: cluster },
    why: `forget workers of cluster ${cluster}`,
    decide: (fleet) => forgetWorkers(fleet, { cluster, nodes }),
    answer: ({ result: workers }) => ({ ...answer({ workers }, 200), memo: '' }),
    recompose: () => answer({ workers: nodes.map((node) => wholeName(cluster, node)) }, 200),
  }),
});

export const workerRoutes = (lifecycle: WorkerLifecycle): readonly Route[] => [
  ...readRoutes(
    { path: '/api/v1/workers', plural: TAG, singular: 'worker', representation: WORKER_REPRESENTATION },
    { listing: LISTING, scope: 'site' },
  ),
  ...readRoutes(
    {
      ...{ path: '/api/v1/drain-reports', plural: 'drain reports', singular: 'drain report', tag: TAG },
      representation: DRAIN_REPORT_REPRESENTATION,
    },
    { listing: REPORTS, scope: 'site' },
  ),
  drainRoute(lifecycle),
  removeRoute(lifecycle),
  returnRoute(),
  forgetRoute,
];

function drainRoute(lifecycle: WorkerLifecycle): Route {
  return write({
    method: 'POST',
    path: '/api/v1/clusters/:id/workers/drain',
    tag: TAG,
    about: 'Bring all pods off workers within their budgets, and leave them cordoned',
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    body: DrainBody,
    answers: ACCEPTED,
    handle: (call, world) => {
      const { workers, count, reason, ...policy } = call.body;
      const request = { ...requestOf(call, world), why: reason, policy, workers: readChosenWorkers(workers, count) };
      return beginWork('drain', request, (fleet) => lifecycle.drain(fleet, request));
    },
  });
}

function removeRoute(lifecycle: WorkerLifecycle): Route {
  return write({
    method: 'POST',
    path: '/api/v1/clusters/:id/workers/remove',
    tag: TAG,
    about: 'Drain workers, then take their Nodes and their instances away',
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    body: RemoveBody,
    answers: ACCEPTED,
    handle: (call, world) => {
      const { workers, count, reason, keepInstances: keepsInstances, ...policy } = call.body;
      const chosen = { workers: readChosenWorkers(workers, count), keepsInstances };
      const request = { ...requestOf(call, world), why: reason, policy, ...chosen };
      return beginWork('remove', request, (fleet) => lifecycle.leave(fleet, request));
    },
  });
}

const ACCEPTED = { 202: { about: 'the operation, and the workers that it is about', schema: WORKERS_ACCEPTED } };

const answerWork = ({ result }: { readonly result: WorkersAnswer }) => answerAccepted(result);

function beginWork(
  verb: string,
  { cluster, operation, why }: WorkersRequest,
  decide: (fleet: FleetReader) => Decision<WorkersAnswer>,
) {
  const target = { representation: CLUSTER_REPRESENTATION, id: cluster };
  return { target, why: why ?? `${verb} workers of cluster ${cluster}`, operation, decide, answer: answerWork };
}

function returnRoute(): Route {
  return write({
    method: 'POST',
    path: '/api/v1/clusters/:id/workers/return',
    tag: TAG,
    about: 'Take the cordons of drained workers back and put them in service again',
    access: 'operator',
    scope: 'site',
    params: BY_ID,
    body: ReturnBody,
    answers: ACCEPTED,
    handle: (call, world) => {
      const { workers: nodes, reason } = call.body;
      const request = { ...requestOf(call, world), why: reason, nodes };
      return {
        target: { representation: CLUSTER_REPRESENTATION, id: request.cluster },
        why: reason ?? `return workers of cluster ${request.cluster}`,
        operation: request.operation,
        decide: (fleet) => returnWorkers(fleet, request),
        answer: ({ result }) => answerAccepted(result),
      };
    },
  });
}

function requestOf({ params, caller }: Call<{ readonly id: string }>, { clock, ids }: RouteContext) {
  const operation = idOf(OPERATION, ids.next('op'));
  return { cluster: params.id, operation, by: caller.name, nowMs: clock.nowMs() };
}

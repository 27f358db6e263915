// Decides on requests for workers that are there: drain them, remove them, give them back. The victims are fixed here, in the commit that accepts the request, and
// all of a request are of one cluster. Repeating a request that is under way answers its operation.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { newOperation, OPERATION, type OperationId } from '../../operations/index.ts';
import { WORKER_DRAIN } from '../drain/drain-operation.ts';
import { REMOVAL_MS, WORKER_REMOVE } from '../drain/remove-operation.ts';
import { beginReturn, nameWorkers, WORKER_RETURN } from '../drain/return-operation.ts';
import { CLUSTER, WORKER, type Cluster, type DrainPolicy, type WorkerState } from '../model.ts';
import { isBusy } from './busy.ts';
import { assignWork, endLeaving, type StoredWorker } from './transitions.ts';
import { chooseWorkers, type ChosenWorkers } from './chosen-workers.ts';

export interface WorkersRequest {
  readonly cluster: string;
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string | undefined;
  readonly nowMs: number;
}

export interface DrainRequest extends WorkersRequest {
  readonly workers: ChosenWorkers;
  /** What is not said is as the cluster has it. */
  readonly policy?: Partial<DrainPolicy> | undefined;
}

export interface RemoveRequest extends DrainRequest {
  /** Their machines leave the cluster, and run as before. */
  readonly keepsInstances?: boolean | undefined;
}

export interface WorkersAnswer {
  readonly operation: OperationId;
  readonly workers: readonly string[];
}

export function drainWorkers(fleet: FleetReader, request: DrainRequest): Decision<WorkersAnswer> {
  return beginDrain(fleet, request, { kind: WORKER_DRAIN, verb: 'drain', states: DRAINABLE, extraMs: 0 });
}

export function removeWorkers(fleet: FleetReader, request: RemoveRequest): Decision<WorkersAnswer> {
  const how = { kind: WORKER_REMOVE, verb: 'remove', states: REMOVABLE, extraMs: REMOVAL_MS };
  return beginDrain(fleet, request, { ...how, ...(request.keepsInstances === true && { keepsInstance: true }) });
}

const DRAINABLE: readonly WorkerState[] = ['in-service', 'draining', 'drained'];
const REMOVABLE: readonly WorkerState[] = ['building', 'joining', 'in-service', 'draining', 'drained', 'removing'];
const RETURNABLE: readonly WorkerState[] = ['draining', 'drained'];

interface DrainVerb {
  readonly kind: string;
  readonly verb: string;
  readonly states: readonly WorkerState[];
  /** Beside the deadline of the drain itself. */
  readonly extraMs: number;
  readonly keepsInstance?: true;
}

function beginDrain(
  fleet: FleetReader,
  request: DrainRequest,
  { kind, verb, states, extraMs, keepsInstance }: DrainVerb,
): Decision<WorkersAnswer> {
  const found = resolveRequest(fleet, request, { kind, verb, states });
  if ('code' in found) return refuse(found);
  if ('underWay' in found) return accept([], found.underWay);
  const { workers, cluster } = found;
  const { operation, by, why, nowMs } = request;
  const policy = { ...cluster.drainPolicy, ...request.policy };
  const work = { operation, policy, by, nowMs, ...(keepsInstance !== undefined && { keepsInstance }) };
  const items = workers.map(({ id }) => ({ key: id, target: { kind: WORKER.name, id }, step: 'inspect' }));
  const changes: Change[] = [
    // From here on it is not drained because of its host: it is not given back when it runs elsewhere.
    ...workers.map(({ id, doc }) => put(WORKER, id, assignWork(endLeaving(doc), work))),
    ...newOperation({
      ...{ id: operation, kind, title: `${verb} ${nameWorkers(workers)}`, by, why },
      ...{ site: cluster.site, project: cluster.project, nowMs, deadlineMs: policy.deadlineMs + extraMs, items },
    }),
  ];
  return accept(changes, { operation, workers: workers.map(({ id }) => id) });
}

export function returnWorkers(
  fleet: FleetReader,
  request: WorkersRequest & { readonly nodes: readonly string[] },
): Decision<WorkersAnswer> {
  const { nodes, operation, by, why, nowMs } = request;
  const how = { kind: WORKER_RETURN, verb: 'return', states: RETURNABLE };
  const found = resolveRequest(fleet, { ...request, workers: { nodes } }, how);
  if ('code' in found) return refuse(found);
  if ('underWay' in found) return accept([], found.underWay);
  const { workers } = found;
  const lost = workers.find(({ doc }) => doc.forced?.disruption === 'delete');
  if (lost !== undefined) return refuse(denyLost(lost));
  const changes = beginReturn(fleet, { operation, why, workers, by, nowMs });
  return accept(changes, { operation, workers: workers.map(({ id }) => id) });
}

/** The workers that a drain with this request would be about, and its policy. */
export function chooseForDrain(
  fleet: FleetReader,
  { cluster: name, workers: wanted, policy }: Pick<DrainRequest, 'cluster' | 'workers' | 'policy'>,
): { readonly workers: readonly StoredWorker[]; readonly policy: DrainPolicy } | Refusal {
  const cluster = findCluster(fleet, name);
  if ('code' in cluster) return cluster;
  const workers = chooseWorkers(fleet, { cluster: name, states: REMOVABLE }, wanted);
  return 'code' in workers ? workers : { workers, policy: { ...cluster.drainPolicy, ...policy } };
}

interface FoundWorkers {
  readonly workers: readonly StoredWorker[];
  readonly cluster: Cluster;
}

type Resolved = FoundWorkers | { readonly underWay: WorkersAnswer } | Refusal;

function resolveRequest(
  fleet: FleetReader,
  { cluster: name, workers: wanted }: Pick<DrainRequest, 'cluster' | 'workers'>,
  how: Omit<DrainVerb, 'extraMs'>,
): Resolved {
  const cluster = findCluster(fleet, name);
  if ('code' in cluster) return cluster;
  const takesControlPlane = how.kind === WORKER_RETURN;
  const workers = chooseWorkers(fleet, { cluster: name, states: how.states, takesControlPlane }, wanted);
  if ('code' in workers) return workers;
  const underWay = findUnderWay(fleet, workers, how.kind);
  if (underWay !== undefined) return { underWay };
  for (const worker of workers) {
    if (isBusy(fleet, worker.doc)) return denyBusy(worker);
    if (!how.states.includes(worker.doc.state)) return denyState(worker, how.verb);
  }
  return { workers, cluster };
}

/** The operation that does the same with exactly these already. */
function findUnderWay(fleet: FleetReader, workers: readonly StoredWorker[], kind: string): WorkersAnswer | undefined {
  const [id, ...others] = new Set(workers.map(({ doc }) => doc.work?.operation));
  const [first] = workers;
  if (id === undefined || others.length > 0 || first === undefined || !isBusy(fleet, first.doc)) return undefined;
  const operation = fleet.get(OPERATION, idOf(OPERATION, id));
  if (operation?.doc.kind !== kind) return undefined;
  return { operation: operation.id, workers: workers.map((worker) => worker.id) };
}

export function findCluster(fleet: FleetReader, name: string): Cluster | Refusal {
  return fleet.get(CLUSTER, idOf(CLUSTER, name))?.doc ?? unknownCluster(name);
}

export function unknownCluster(name: string): Refusal {
  const message = `There is no cluster "${name}". List them with "muster clusters list".`;
  return { kind: 'not-found', code: 'unknown-cluster', message, facts: { cluster: name } };
}

export function denyBusy({ id, doc }: StoredWorker): Refusal {
  const operation = doc.work?.operation ?? '';
  const message = `Worker "${id}" is in the hands of operation ${operation}. Wait for it, or cancel it with "muster operations cancel ${operation}".`;
  return { kind: 'conflict', code: 'worker-busy', message, facts: { worker: id, operation } };
}

/** No machine is behind it any more. */
function denyLost({ id }: StoredWorker): Refusal {
  const message = `The instance of worker "${id}" was deleted by force: there is nothing to give back. Take it out with "muster workers remove ${id}".`;
  return { kind: 'conflict', code: 'worker-instance-deleted', message, facts: { worker: id } };
}

const STATE_ADVICE: Readonly<Record<string, string>> = {
  drain: 'Only one that is in service, or was drained before, can be: remove it instead if it is not wanted.',
  remove: 'Look at it with "muster workers show".',
  return: 'Only one that is drained, or whose drain failed, can be given back.',
};

const PARTICIPLES: Readonly<Record<string, string>> = { drain: 'drained', remove: 'removed', return: 'given back' };

function denyState({ id, doc: { state } }: StoredWorker, verb: string): Refusal {
  const message = `Worker "${id}" is ${state} and cannot be ${PARTICIPLES[verb]}. ${STATE_ADVICE[verb]}`;
  return { kind: 'conflict', code: 'wrong-state', message, facts: { worker: id, state } };
}

// Decides on requests for new workers: instances are built for them, or are there already, and join a cluster. Names and instances are fixed here, in the commit
// that accepts the request; nothing is built yet.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { INSTANCE, refuseInstances, type Builders, type CreateInstances } from '../../instances/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { newOperation, type OperationId } from '../../operations/index.ts';
import { CLUSTER, WORKER, WORKERS_BY_INSTANCE, type Cluster, type Worker } from '../model.ts';
import { denyTwice } from '../workers/chosen-workers.ts';
import { unknownCluster, type WorkersAnswer, type WorkersRequest } from '../workers/decide.ts';
import { assignWork, nameProvider, type StoredWorker } from '../workers/transitions.ts';
import { WORKER_JOIN, type InstanceTemplate } from './model.ts';
import { composeNodeName } from './node-names.ts';

export const WORKER_ADD = 'worker-add';

/** As many instances are built by one request at most. */
export const WORKERS_ADDED_MAX = 200;
/** More at once would only be slower together: they fetch the same packages. */
export const JOINS_AT_ONCE = 10;
/** For each worker, install included. */
const JOIN_DEADLINE_MS = 30 * 60 * 1000;
const BUILD_MS = 3600 * 1000;
/** Beside builds and joins: looks, the token, an API that is away for a while. */
const MARGIN_MS = 10 * 60 * 1000;

/** Made before the decision: a secret is sealed, and an id drawn. */
export interface NewBootstrapToken {
  readonly id: string;
  readonly sealedSecret: string;
}

interface WorkerJoinRequest extends WorkersRequest {
  /** Refused when the server that took the request has no key to seal it by. */
  readonly token: NewBootstrapToken | Refusal;
  readonly joinDeadlineMs?: number | undefined;
}

export interface AddWorkers extends WorkerJoinRequest {
  readonly count: number;
  /** What their names begin with; that of the cluster unless said. */
  readonly base?: string | undefined;
  /** Fresh ids, one for each. */
  readonly ids: readonly string[];
  readonly template: InstanceTemplate;
  /** Whose instances they are; as the cluster has it unless said. */
  readonly project?: string | undefined;
}

export interface JoiningInstance {
  readonly node: string;
  readonly instance: string;
}

/** For instances that are there: they stay whatever becomes of the join. */
export interface JoinInstances extends WorkerJoinRequest {
  readonly workers: readonly JoiningInstance[];
}

export function addWorkers(fleet: FleetReader, request: AddWorkers, builders: Builders): Decision<WorkersAnswer> {
  const { count, cluster: name } = request;
  const cluster = findJoinable(fleet, name);
  if ('code' in cluster) return refuse(cluster);
  const template = completeTemplate(cluster, request);
  if (count < 1 || count > WORKERS_ADDED_MAX) return refuse(denyCount(count));
  const nodes = composeNames(fleet, request);
  if ('code' in nodes) return refuse(nodes);
  const denied = refuseInstances(
    fleet,
    composeCommand(template, { ...request, name: nodes[0] ?? '', count }),
    builders,
  );
  if (denied !== undefined) return refuse(denied);
  const workers = nodes.map((node) => ({ node }));
  return acceptJoin({ cluster, request, workers, template, buildMs: BUILD_MS });
}

export function joinInstances(fleet: FleetReader, request: JoinInstances): Decision<WorkersAnswer> {
  const { cluster: name, workers } = request;
  const cluster = findJoinable(fleet, name);
  if ('code' in cluster) return refuse(cluster);
  if (workers.length < 1 || workers.length > WORKERS_ADDED_MAX) return refuse(denyCount(workers.length));
  for (const key of ['node', 'instance'] as const) {
    const twice = workers.find((one, nth) => workers.findIndex((other) => other[key] === one[key]) !== nth);
    if (twice !== undefined) return refuse(denyTwice(twice[key], '/workers'));
  }
  for (const one of workers) {
    const denied = denyInstance(fleet, name, one);
    if (denied !== undefined) return refuse(denied);
  }
  return acceptJoin({ cluster, request, workers, buildMs: 0 });
}

/** What the request does not say is as the cluster has it. */
function completeTemplate({ site, project }: Cluster, request: AddWorkers): InstanceTemplate {
  const { template } = request;
  return {
    ...template,
    project: request.project ?? project ?? template.project,
    place: { ...(site !== undefined && { site }), ...template.place },
  };
}

export interface JoinAgain {
  readonly worker: StoredWorker;
  readonly operation: OperationId;
  readonly token: NewBootstrapToken;
  readonly by: string;
  readonly nowMs: number;
}

/** A worker whose instance was built anew joins as a new one does; the instance stays whatever becomes of it. */
export function composeJoinAgain(fleet: FleetReader, { worker, operation, token, by, nowMs }: JoinAgain): Change[] {
  const { id, doc } = worker;
  const cluster = fleet.get(CLUSTER, idOf(CLUSTER, doc.cluster))?.doc;
  return [
    put(WORKER_JOIN, idOf(WORKER_JOIN, operation), {
      ...{ cluster: doc.cluster, operation, joinDeadlineMs: JOIN_DEADLINE_MS, changedBy: by, changedAtMs: nowMs },
      token: { id: token.id, secret: token.sealedSecret, state: 'unmade' },
    }),
    put(WORKER, id, assignWork(nameProvider(doc), { operation, keepsInstance: true, by, nowMs })),
    ...newOperation({
      ...{ id: operation, kind: WORKER_ADD, title: `join worker ${id} again`, by, nowMs },
      ...{ site: cluster?.site, project: cluster?.project, deadlineMs: JOIN_DEADLINE_MS + MARGIN_MS },
      items: [{ key: id, target: { kind: WORKER.name, id }, step: 'build' }],
    }),
  ];
}

interface AcceptedJoin {
  readonly cluster: Cluster;
  readonly request: WorkerJoinRequest;
  readonly workers: readonly { readonly node: string; readonly instance?: string }[];
  readonly template?: InstanceTemplate;
  readonly buildMs: number;
}

function acceptJoin({ cluster, request, workers, template, buildMs }: AcceptedJoin): Decision<WorkersAnswer> {
  const { operation, by, why, nowMs, token, joinDeadlineMs = JOIN_DEADLINE_MS } = request;
  if ('code' in token) return refuse(token);
  const ids = workers.map(({ node }) => `${cluster.name}.${node}`);
  const waves = Math.ceil(workers.length / JOINS_AT_ONCE);
  const title = workers.length === 1 ? `add worker ${ids[0]}` : `add ${workers.length} workers to ${cluster.name}`;
  const changes: Change[] = [
    put(WORKER_JOIN, idOf(WORKER_JOIN, operation), {
      ...{ cluster: cluster.name, operation, joinDeadlineMs, changedBy: by, changedAtMs: nowMs },
      token: { id: token.id, secret: token.sealedSecret, state: 'unmade' },
      ...(template !== undefined && { template: omitUndefined(template) }),
    }),
    ...workers.map((one) =>
      put(WORKER, idOf(WORKER, `${cluster.name}.${one.node}`), composeWorker(cluster, one, request)),
    ),
    ...newOperation({
      ...{ id: operation, kind: WORKER_ADD, title, by, why, site: cluster.site, project: cluster.project, nowMs },
      deadlineMs: buildMs + waves * joinDeadlineMs + MARGIN_MS,
      items: ids.map((id) => ({ key: id, target: { kind: WORKER.name, id }, step: 'build' })),
    }),
  ];
  return accept(changes, { operation, workers: ids });
}

function composeWorker(
  { name }: Cluster,
  { node, instance }: { readonly node: string; readonly instance?: string },
  { operation, by, nowMs }: WorkerJoinRequest,
): Worker {
  return {
    ...{ cluster: name, node, providerId: `muster:///${name}/${node}` },
    ...(instance !== undefined && { instance }),
    ...{ state: 'building', stateSinceMs: nowMs, readiness: 'missing', readinessSinceMs: nowMs },
    work: { operation, ...(instance !== undefined && { keepsInstance: true as const }) },
    ...{ createdAtMs: nowMs, changedBy: by, changedAtMs: nowMs },
  };
}

/** What a request for one worker's instance is; also of all of them, to try it out. */
export function composeCommand(
  template: InstanceTemplate,
  how: {
    readonly name: string;
    readonly operation: OperationId;
    readonly by: string;
    readonly nowMs: number;
    readonly count?: number;
  },
): CreateInstances {
  const { name, operation, by, nowMs, count = 1 } = how;
  return {
    ...template,
    ...{ name, count, minCount: count, operation, by, nowMs, deadlineMs: BUILD_MS },
    // Their ports are named after their instances.
    portIds: [],
  };
}

function findJoinable(fleet: FleetReader, name: string): Cluster | Refusal {
  const cluster = fleet.get(CLUSTER, idOf(CLUSTER, name))?.doc;
  if (cluster === undefined) return unknownCluster(name);
  return denyJoin(cluster) ?? cluster;
}

function denyJoin(cluster: Cluster): Refusal | undefined {
  const { name, reach, caPin, joinEndpoint, publishedEndpoint } = cluster;
  if (reach === 'none') {
    const message = `Cluster "${name}" takes adopted workers only: nothing says how the machines of new ones are reached. Say so with "muster clusters set ${name} --reach ssh …".`;
    return { kind: 'conflict', code: 'cluster-not-joinable', message, facts: { cluster: name } };
  }
  if (reach === 'simulated') return undefined;
  if (caPin === undefined) {
    const message = `The authority of cluster "${name}" is not known, so that new workers could not tell it from another one. Register it with a kubeconfig that has its certificate authority, and wait until it has answered ("muster clusters show ${name}").`;
    return { kind: 'conflict', code: 'ca-pin-unknown', message, facts: { cluster: name } };
  }
  if ((joinEndpoint ?? publishedEndpoint) !== undefined) return undefined;
  const message = `Cluster "${name}" does not publish where new workers connect to (ConfigMap cluster-info in kube-public). Say it with "muster clusters set ${name} --join-endpoint HOST:PORT".`;
  return { kind: 'conflict', code: 'join-endpoint-unknown', message, facts: { cluster: name } };
}

function composeNames(
  fleet: FleetReader,
  { cluster, base = cluster, ids, count }: AddWorkers,
): readonly string[] | Refusal {
  const names = new Set<string>();
  const isTaken = (name: string): boolean => names.has(name) || isNameTaken(fleet, cluster, name);
  for (const id of ids.slice(0, count)) {
    const name = composeNodeName({ base, id, isTaken });
    if (name === undefined) return denyNames(base);
    names.add(name);
  }
  return [...names];
}

function isNameTaken(fleet: FleetReader, cluster: string, name: string): boolean {
  const worker = fleet.get(WORKER, idOf(WORKER, `${cluster}.${name}`));
  return worker !== undefined || fleet.get(INSTANCE, idOf(INSTANCE, name)) !== undefined;
}

function denyInstance(fleet: FleetReader, cluster: string, { node, instance }: JoiningInstance): Refusal | undefined {
  if (fleet.get(WORKER, idOf(WORKER, `${cluster}.${node}`)) !== undefined) {
    const message = `Cluster "${cluster}" has a worker "${node}" already. Choose another name.`;
    return { kind: 'conflict', code: 'worker-exists', message, field: '/workers', facts: { cluster, worker: node } };
  }
  if (fleet.get(INSTANCE, idOf(INSTANCE, instance)) === undefined) {
    const message = `There is no instance "${instance}". List them with "muster instances list".`;
    return { kind: 'invalid', code: 'unknown-instance', message, field: '/workers', facts: { instance } };
  }
  const [worker] = fleet.find(WORKERS_BY_INSTANCE, instance);
  if (worker === undefined) return undefined;
  const message = `Instance "${instance}" is worker "${worker.id}" already. Name one that is none.`;
  return { kind: 'conflict', code: 'instance-is-worker', message, field: '/workers', facts: { instance } };
}

function denyCount(count: number): Refusal {
  const message = `${count} workers cannot be added: one request adds 1 to ${WORKERS_ADDED_MAX}. Give a number in that range.`;
  return { kind: 'invalid', code: 'wrong-worker-count', message, field: '/count', facts: { count } };
}

function denyNames(base: string): Refusal {
  const message = `Every name that begins with "${base}" is taken for one of the workers. Choose another one.`;
  return { kind: 'conflict', code: 'name-taken', message, field: '/name', facts: { name: base } };
}

/** A document has no fields that say nothing. */
function omitUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}

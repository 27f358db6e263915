// Which workers a request is about: those that it names, or as many as it says. A name is that of a Node, or the whole one of a worker.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { WORKER, type WorkerState } from '../model.ts';
import type { StoredWorker } from './transitions.ts';
import { chooseVictims } from './victims.ts';

/** More in one operation would make each of its steps look at as many. */
export const WORKERS_AT_ONCE_MAX = 500;

/** By their names, or a number of those that go first: exactly one of both. */
export interface ChosenWorkers {
  readonly nodes?: readonly string[];
  readonly count?: number;
}

interface WorkerChoice {
  readonly cluster: string;
  /** Whether a Node of the control plane may be among them. */
  readonly takesControlPlane?: boolean;
  /** A number is of workers in these; a name is taken in any state. */
  readonly states: readonly WorkerState[];
}

const FIELD = '/workers';

export function chooseWorkers(
  fleet: FleetReader,
  choice: WorkerChoice,
  { nodes, count }: ChosenWorkers,
): readonly StoredWorker[] | Refusal {
  if (nodes !== undefined && count === undefined) return findWorkers(fleet, choice, nodes);
  if (nodes === undefined && count !== undefined) return chooseCount(fleet, choice, count);
  const message = 'Name the workers, or say how many: exactly one of "workers" and "count".';
  return { kind: 'invalid', code: 'workers-or-count', message, field: FIELD };
}

function chooseCount(
  fleet: FleetReader,
  { cluster, states }: WorkerChoice,
  count: number,
): readonly StoredWorker[] | Refusal {
  if (count < 1 || count > WORKERS_AT_ONCE_MAX) return denyCount(count);
  const chosen = chooseVictims(fleet, { cluster, count, states });
  return chosen.length === count ? chosen : denyTooMany(cluster, count, chosen.length);
}

function findWorkers(
  fleet: FleetReader,
  { cluster, takesControlPlane = false }: WorkerChoice,
  names: readonly string[],
): readonly StoredWorker[] | Refusal {
  const found: StoredWorker[] = [];
  for (const [nth, name] of names.entries()) {
    const field = `${FIELD}/${nth}`;
    const [node, owner] = name.split('.').toReversed();
    if (owner !== undefined && owner !== cluster) return denyOtherCluster(cluster, name, field);
    const worker = fleet.get(WORKER, idOf(WORKER, `${cluster}.${node}`));
    if (worker === undefined) return unknownWorker(cluster, name, field);
    if (found.some(({ id }) => id === worker.id)) return denyTwice(name, field);
    if (worker.doc.isControlPlane === true && !takesControlPlane) return denyControlPlane(worker.doc.node, field);
    found.push(worker);
  }
  return found;
}

/** Of a worker, where it may be named by its Node alone. */
export function wholeName(cluster: string, name: string): string {
  return name.includes('.') ? name : `${cluster}.${name}`;
}

function unknownWorker(cluster: string, worker: string, field: string): Refusal {
  const message = `Cluster "${cluster}" has no worker "${worker}". List them with "muster workers list --cluster ${cluster}".`;
  return { kind: 'not-found', code: 'unknown-worker', message, field, facts: { cluster, worker } };
}

/** By its name alone: whether it is there is not said. */
function denyOtherCluster(cluster: string, worker: string, field: string): Refusal {
  const message = `"${worker}" is no name of a worker of cluster "${cluster}". One request is about the workers of one cluster: ask for those of another one by themselves.`;
  return { kind: 'invalid', code: 'worker-of-other-cluster', message, field, facts: { cluster, worker } };
}

export function denyTwice(worker: string, field: string): Refusal {
  const message = `Worker "${worker}" is named more than once. Name each worker once.`;
  return { kind: 'invalid', code: 'duplicate-worker', message, field, facts: { worker } };
}

export function denyControlPlane(node: string, field: string): Refusal {
  const message = `Node "${node}" is of the control plane: such nodes are not drained or removed here. Name workers only.`;
  return { kind: 'invalid', code: 'control-plane-node', message, field, facts: { node } };
}

function denyCount(count: number): Refusal {
  const message = `${count} workers cannot be chosen: one request is about 1 to ${WORKERS_AT_ONCE_MAX}. Give a number in that range.`;
  return { kind: 'invalid', code: 'wrong-worker-count', message, field: '/count', facts: { count } };
}

function denyTooMany(cluster: string, count: number, free: number): Refusal {
  const message = `Cluster "${cluster}" has ${free} workers of which that can be asked and that no other operation has in hand, and ${count} were asked for. Ask for fewer, or wait for the other operations.`;
  return { kind: 'conflict', code: 'too-few-workers', message, field: '/count', facts: { cluster, count, free } };
}

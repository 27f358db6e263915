// Which workers are drained because their hosts leave, and which of them may be evicted from now: facts from documents alone, for the evacuator, the hold of their
// instances and the operation. No more of one cluster than its `drainsAtOnce` are out of service for this at a time.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { findHost, isBeingEmptied, isTombstoned } from '../../hosts/index.ts';
import { INSTANCE, INSTANCES_BY_HOST, isFencedOrRemoved, type Instance } from '../../instances/index.ts';
import {
  CLUSTER,
  LEAVING_WORKERS_BY_CLUSTER,
  WORKER,
  WORKERS_BY_CLUSTER,
  WORKERS_BY_INSTANCE,
  type Cluster,
  type Worker,
} from '../model.ts';
import { isBusy } from '../workers/busy.ts';
import type { StoredWorker } from '../workers/transitions.ts';

export function clusterOf(fleet: FleetReader, { cluster }: Pick<Worker, 'cluster'>): Cluster {
  const stored = fleet.get(CLUSTER, idOf(CLUSTER, cluster));
  if (stored === undefined) throw new Error(`a worker is of cluster ${cluster}, which is not there`);
  return stored.doc;
}

export function findWorkerOn(fleet: FleetReader, instance: string): StoredWorker | undefined {
  const [worker] = fleet.find(WORKERS_BY_INSTANCE, instance);
  return worker;
}

export function findInstanceOf(fleet: FleetReader, { instance }: Worker): Instance | undefined {
  return instance === undefined ? undefined : fleet.get(INSTANCE, idOf(INSTANCE, instance))?.doc;
}

/** Workers with pods on a host, whose pods leave them before their instances leave the host. Sorted by id. */
export function listDrainedFirst(fleet: FleetReader, host: string): StoredWorker[] {
  // A fleet without workers pays nothing for them.
  if (fleet.count(WORKER) === 0 || isFencedOrRemoved(fleet, host)) return [];
  const workers = [...fleet.find(INSTANCES_BY_HOST, host)].flatMap(({ id }) => findWorkerOn(fleet, id) ?? []);
  return workers.filter((worker) => isDrainedFirst(fleet, worker.doc)).sort((a, b) => (a.id < b.id ? -1 : 1));
}

export function isDrainedFirst(fleet: FleetReader, worker: Worker): boolean {
  const hasPods = worker.state === 'in-service' || worker.state === 'draining';
  return hasPods && clusterOf(fleet, worker).whenHostLeaves === 'drain';
}

/**
 * `leaving`: a scale-in empties its host. `ended`: its host leaves, and nothing is moved off it any more. `lost`: its host is dead. `stays`: neither; it was
 * brought back, or the worker runs elsewhere.
 */
export type WorkerPlace = 'leaving' | 'ended' | 'lost' | 'stays';

export function findPlace(fleet: FleetReader, worker: Worker): WorkerPlace {
  const host = findInstanceOf(fleet, worker)?.host;
  if (host === undefined) return 'stays';
  if (isFencedOrRemoved(fleet, host)) return 'lost';
  if (isBeingEmptied(fleet, host)) return 'leaving';
  return isOnLeavingHost(fleet, worker) ? 'ended' : 'stays';
}

function isOnLeavingHost(fleet: FleetReader, worker: Worker): boolean {
  const host = findHost(fleet, findInstanceOf(fleet, worker)?.host ?? '');
  return host !== undefined && isTombstoned(host.doc);
}

/**
 * Whether all leaving workers of a cluster are cordoned before the first of them is evicted from, so that no pod goes to one that leaves next. Only while some
 * worker stays to take the pods, and while no drain of them has failed: otherwise pods would have nowhere to go, and each worker is cordoned at its turn.
 * Costs O(leaving workers), unless hardly any stays.
 */
export function cordonsAhead(fleet: FleetReader, cluster: string): boolean {
  for (const { doc } of fleet.find(LEAVING_WORKERS_BY_CLUSTER, cluster)) if (hasFailed(fleet, doc)) return false;
  for (const { doc } of fleet.find(WORKERS_BY_CLUSTER, cluster)) if (takesPods(fleet, doc)) return true;
  return false;
}

/** Its drain has failed, now or before: that is kept until it is given back elsewhere. */
function hasFailed(fleet: FleetReader, worker: Worker): boolean {
  const isBegunAgain = (worker.leaving?.attempts ?? 0) > 1;
  return isBegunAgain || (worker.state !== 'drained' && !isBusy(fleet, worker));
}

function takesPods(fleet: FleetReader, worker: Worker): boolean {
  const { state, readiness, leaving } = worker;
  return state === 'in-service' && readiness === 'ready' && leaving === undefined && !isOnLeavingHost(fleet, worker);
}

/** Out of service at its turn: from then until it is given back, unless its drain has failed or its instance is lost. */
function hasTurn(fleet: FleetReader, { doc }: StoredWorker): boolean {
  if (doc.leaving?.turnAtMs === undefined) return false;
  const state = findInstanceOf(fleet, doc)?.state;
  if (state !== 'active' && state !== 'moving') return false;
  return doc.state === 'drained' || isBusy(fleet, doc);
}

/** Those of a cluster whose turn it is. */
export function listTurns(fleet: FleetReader, cluster: string): StoredWorker[] {
  return [...fleet.find(LEAVING_WORKERS_BY_CLUSTER, cluster)].filter((worker) => hasTurn(fleet, worker));
}

/** A worker whose host is emptied as well, and has other things to do first, such as handovers. Costs O(workers of the cluster). */
export function findUnbegun(fleet: FleetReader, cluster: string): StoredWorker | undefined {
  for (const worker of fleet.find(WORKERS_BY_CLUSTER, cluster)) {
    const isToBegin = worker.doc.leaving === undefined && isDrainedFirst(fleet, worker.doc);
    if (isToBegin && !isBusy(fleet, worker.doc) && findPlace(fleet, worker.doc) === 'leaving') return worker;
  }
  return undefined;
}

/** A leaving worker whose cordon has to be there before any other of its cluster is evicted from, and is not yet. */
export function findUncordoned(fleet: FleetReader, cluster: string): StoredWorker | undefined {
  const ahead = cordonsAhead(fleet, cluster);
  for (const worker of fleet.find(LEAVING_WORKERS_BY_CLUSTER, cluster)) {
    const { leaving, state, cordon } = worker.doc;
    const isToBeCordoned = (ahead || leaving?.turnAtMs !== undefined) && state !== 'drained';
    if (isToBeCordoned && cordon?.isConfirmed !== true && isBusy(fleet, worker.doc)) return worker;
  }
  return undefined;
}

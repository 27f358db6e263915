// Why a worker whose host leaves is not drained yet, or not now: said of the worker, and of the instance that it holds.
import { idOf, type FleetReader, type Reason } from '../../fleet/index.ts';
import { findHost, type StoredHost } from '../../hosts/index.ts';
import { isFencedOrRemoved, type InstanceHold } from '../../instances/index.ts';
import { ITEM, OPERATION, type StoredItem } from '../../operations/index.ts';
import type { Worker } from '../model.ts';
import { isBusy } from '../workers/busy.ts';
import type { StoredWorker } from '../workers/transitions.ts';
import { WORKER_EVACUATE } from './evacuate-operation.ts';
import { clusterOf, findWorkerOn, findInstanceOf, isDrainedFirst } from './leaving-workers.ts';

const BACKOFF_MIN_MS = 10_000;
const BACKOFF_MAX_MS = 10 * 60_000;
/** These are over as soon as the host leaves again. */
const WITHOUT_BACKOFF: readonly string[] = ['scale-in-ended', 'worker-turn-later', 'worker-superseded'];

/** It is being drained because its host leaves. */
export function isEvacuated(fleet: FleetReader, worker: Worker): boolean {
  return isBusy(fleet, worker) && kindOfWork(fleet, worker) === WORKER_EVACUATE;
}

function kindOfWork(fleet: FleetReader, { work }: Worker): string | undefined {
  return work === undefined ? undefined : fleet.get(OPERATION, idOf(OPERATION, work.operation))?.doc.kind;
}

/** Undefined while its drain may begin, or continues. */
export function explainWorker(fleet: FleetReader, worker: StoredWorker, nowMs: number): Reason | undefined {
  const { doc } = worker;
  const item = itemOf(fleet, worker);
  if (isEvacuated(fleet, doc)) return item === undefined ? undefined : explainWait(item);
  if (isBusy(fleet, doc)) return explainBusy(worker);
  const { state, name } = clusterOf(fleet, doc);
  if (state === 'silent') return { code: 'cluster-silent', cluster: name };
  return explainFailure(fleet, worker, nowMs);
}

function explainBusy({ id, doc }: StoredWorker): Reason {
  return { code: 'worker-in-hand', worker: id, operation: doc.work?.operation ?? '' };
}

/** Of the operation that has it in hand, or had it last. */
function itemOf(fleet: FleetReader, { id, doc }: StoredWorker): StoredItem | undefined {
  return doc.work === undefined ? undefined : fleet.get(ITEM, idOf(ITEM, `${doc.work.operation}.${id}`));
}

/** Pods on their way out are no wait of its own. */
function explainWait({ doc: { state, reason } }: StoredItem): Reason | undefined {
  return state === 'waiting' && reason?.code !== 'pods-leaving' ? reason : undefined;
}

/** A drain that failed is begun again after a while, each time about twice as long; at once when the scale-in itself is begun again. */
function explainFailure(fleet: FleetReader, worker: StoredWorker, nowMs: number): Reason | undefined {
  const { doc } = worker;
  const item = itemOf(fleet, worker);
  if (item?.doc.state !== 'failed' || doc.leaving === undefined || kindOfWork(fleet, doc) !== WORKER_EVACUATE)
    return undefined;
  const { reason, sinceMs: failedAtMs } = item.doc;
  if (reason === undefined || WITHOUT_BACKOFF.includes(reason.code)) return undefined;
  if (failedAtMs < scaleInStartMs(fleet, findHost(fleet, findInstanceOf(fleet, doc)?.host ?? ''))) return undefined;
  const pauseMs = Math.min(BACKOFF_MAX_MS, Math.max(BACKOFF_MIN_MS, failedAtMs - doc.leaving.sinceMs));
  const untilMs = failedAtMs + pauseMs;
  return nowMs >= untilMs ? undefined : { ...reason, untilMs };
}

/** Of the scale-in of a host: its start, or its last retry. */
function scaleInStartMs(fleet: FleetReader, host: StoredHost | undefined): number {
  const operation = fleet.get(OPERATION, idOf(OPERATION, host?.doc.leaving?.operation ?? ''))?.doc;
  return operation === undefined ? 0 : operation.deadlineAtMs - operation.deadlineMs;
}

/** An instance stays until the worker on it is drained; and while anything else is done with the worker. */
export const holdInstance: InstanceHold = (fleet, { id, doc: { host: home } }, host) => {
  const worker = home === host ? findWorkerOn(fleet, id) : undefined;
  if (worker === undefined || clusterOf(fleet, worker.doc).whenHostLeaves === 'move' || isFencedOrRemoved(fleet, host))
    return undefined;
  const { doc } = worker;
  // One that has not joined yet has no pods, whatever is done with it.
  if (!isDrainedFirst(fleet, doc) && doc.state !== 'drained') return undefined;
  if (isBusy(fleet, doc) && !isEvacuated(fleet, doc)) return explainBusy(worker);
  if (doc.state === 'drained') return undefined;
  const item = itemOf(fleet, worker);
  const ended = item?.doc.state === 'failed' && doc.leaving !== undefined ? item.doc.reason : undefined;
  const reason = isEvacuated(fleet, doc) && item !== undefined ? explainWait(item) : ended;
  return reason ?? { code: 'worker-leaves-first', worker: worker.id, instance: id };
};

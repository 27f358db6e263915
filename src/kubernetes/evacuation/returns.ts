// Which workers that were drained because their hosts left are given back: those that run on a host that stays, where they moved to or where their host was brought back, and
// whose Node is Ready there. Decided from documents alone, so that it is found again after a restart.
import { idOf, type Change, type FleetReader } from '../../fleet/index.ts';
import { OPERATION } from '../../operations/index.ts';
import { beginReturn } from '../drain/return-operation.ts';
import { CLUSTER, LEAVING_WORKERS_BY_CLUSTER, type Readiness, type Worker } from '../model.ts';
import { isBusy } from '../workers/busy.ts';
import type { StoredWorker } from '../workers/transitions.ts';
import { clusterOf, cordonsAhead, findPlace, findInstanceOf, listTurns } from './leaving-workers.ts';

export const RETURNER = 'workers';

export function listReturnable(fleet: FleetReader): StoredWorker[] {
  return [...fleet.all(CLUSTER)].flatMap(({ doc: { name } }) =>
    [...fleet.find(LEAVING_WORKERS_BY_CLUSTER, name)].filter((worker) => isReturnable(fleet, worker)),
  );
}

/** Each by an operation of its own: a Node that does not answer holds up no other. */
export function returnMoved(fleet: FleetReader, nowMs: number): Change[] {
  return listReturnable(fleet).flatMap((worker) => {
    // Inside a commit the revision makes it unique.
    const operation = idOf(OPERATION, `moved-${fleet.revision}.${worker.id}`);
    return beginReturn(fleet, { operation, workers: [worker], by: RETURNER, nowMs });
  });
}

function isReturnable(fleet: FleetReader, { doc }: StoredWorker): boolean {
  if (isBusy(fleet, doc) || clusterOf(fleet, doc).state === 'silent') return false;
  const place = findPlace(fleet, doc);
  if (place === 'leaving') return isInTheWay(fleet, doc);
  return place === 'stays' && isSettled(fleet, doc);
}

/** Its drain has failed, and it is the turn of another: pods of that one need its room. */
function isInTheWay(fleet: FleetReader, worker: Worker): boolean {
  const { cluster, state, cordon } = worker;
  const isCordoned = state === 'draining' && cordon !== undefined;
  return isCordoned && !cordonsAhead(fleet, cluster) && listTurns(fleet, cluster).length > 0;
}

const SETTLED: readonly Readiness[] = ['ready', 'missing', 'replaced'];

function isSettled(fleet: FleetReader, doc: Worker): boolean {
  const instance = findInstanceOf(fleet, doc);
  // It moves still, or has no host.
  if (instance !== undefined && (instance.state !== 'active' || instance.host === undefined)) return false;
  // Where its Node is gone, so is its cordon.
  return SETTLED.includes(doc.readiness) || doc.cordon === undefined;
}

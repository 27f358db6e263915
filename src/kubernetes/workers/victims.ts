// Which workers go when only a number is said: those that serve nobody first (their Node is missing or not Ready), then the newest, ties by id. Workers that
// another operation has in hand are left out. Control-plane nodes are never workers.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import { WORKERS_BY_CLUSTER, type Worker } from '../model.ts';
import { isBusy } from './busy.ts';
import type { StoredWorker } from './transitions.ts';

/** As many as there are, up to `count`. */
export function chooseVictims(fleet: FleetReader, cluster: string, count: number): StoredWorker[] {
  const free = [...fleet.find(WORKERS_BY_CLUSTER, cluster)].filter(({ doc }) => !isBusy(fleet, doc));
  return free.toSorted((a, b) => compareVictims(fleet, a, b)).slice(0, count);
}

function compareVictims(fleet: FleetReader, a: StoredWorker, b: StoredWorker): number {
  const byHealth = Number(isReady(a.doc)) - Number(isReady(b.doc));
  const byAge = serverSinceMs(fleet, b.doc) - serverSinceMs(fleet, a.doc);
  const byId = a.id < b.id ? -1 : 1;
  return byHealth || byAge || byId;
}

function isReady({ readiness }: Worker): boolean {
  return readiness === 'ready';
}

/** Of its server; of the worker itself where Muster has no server of it. */
function serverSinceMs(fleet: FleetReader, { instance, createdAtMs }: Worker): number {
  if (instance === undefined) return createdAtMs;
  return fleet.get(INSTANCE, idOf(INSTANCE, instance))?.doc.createdAtMs ?? createdAtMs;
}

// Which workers go when only a number is said: those that serve no pods first (their Node is missing or not Ready), then the newest, ties by id. Workers that
// another operation has in hand are left out, and so are Nodes of the control plane, as they were seen last.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import { WORKERS_BY_CLUSTER, type Worker, type WorkerState } from '../model.ts';
import { isBusy } from './busy.ts';
import type { StoredWorker } from './transitions.ts';

export interface VictimCount {
  readonly cluster: string;
  readonly count: number;
  readonly states: readonly WorkerState[];
}

/** As many as there are, up to `count`. */
export function chooseVictims(fleet: FleetReader, { cluster, count, states }: VictimCount): StoredWorker[] {
  const workers = [...fleet.find(WORKERS_BY_CLUSTER, cluster)];
  const free = workers.filter(
    ({ doc }) => doc.isControlPlane !== true && states.includes(doc.state) && !isBusy(fleet, doc),
  );
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

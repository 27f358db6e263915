// The instance that a worker runs on, where it has one and that is there.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { INSTANCE, type Instance } from '../../instances/index.ts';
import type { StoredWorker } from './transitions.ts';

export function instanceOf(found: {
  readonly fleet: FleetReader;
  readonly worker: StoredWorker;
}): Instance | undefined {
  const { instance } = found.worker.doc;
  return instance === undefined ? undefined : found.fleet.get(INSTANCE, idOf(INSTANCE, instance))?.doc;
}

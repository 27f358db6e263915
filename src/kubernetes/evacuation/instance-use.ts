// Keeps requests from cutting a worker off by its instance: deleting, moving or stopping it without a drain. The refusal names the command that is right. What is forced all
// the same is kept with the worker.
import { mark, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import type { Disruption, InstanceUse } from '../../instances/index.ts';
import { WORKER } from '../model.ts';
import { isBusy } from '../workers/busy.ts';
import { recordForced, type StoredWorker } from '../workers/transitions.ts';
import { clusterOf, findWorkerOn } from './leaving-workers.ts';
import { beginRejoin } from './rejoin-operation.ts';

export const workerUse: InstanceUse = {
  denyDisruption: (fleet, { id }, disruption) => {
    const worker = findWorkerOn(fleet, id);
    if (worker === undefined || !isCut(fleet, worker, disruption)) return undefined;
    return denyCut(worker, id, disruption);
  },
  recordForced: (fleet, { id }, { disruption, by, nowMs }) => {
    const worker = findWorkerOn(fleet, id);
    if (worker === undefined) return [];
    mark('worker-cut-off-by-force');
    const forced = recordForced(worker.doc, { disruption, by, nowMs });
    // Its disk is not kept.
    if (disruption === 'shelve') return beginRejoin(fleet, { id: worker.id, doc: forced }, { by, nowMs });
    return [put(WORKER, worker.id, forced)];
  },
  recordLoss: (fleet, { id }, note): Change[] => {
    const worker = findWorkerOn(fleet, id);
    return worker === undefined ? [] : beginRejoin(fleet, worker, note);
  },
};

/** A removal has its own way with the instance; a worker that is drained, or has not joined, has no pods. */
function isCut(fleet: FleetReader, { doc }: StoredWorker, disruption: Disruption): boolean {
  if (doc.state === 'removing') return false;
  if (disruption === 'delete' || disruption === 'shelve') return true;
  if (disruption === 'move' && clusterOf(fleet, doc).whenHostLeaves === 'move') return false;
  return doc.state === 'in-service' || doc.state === 'draining' || (doc.state === 'drained' && isBusy(fleet, doc));
}

const PARTICIPLES: Readonly<Record<Disruption, string>> = {
  delete: 'deleted',
  move: 'moved',
  shelve: 'shelved',
  'power-off': 'switched off',
};

function denyCut(
  { id: worker, doc: { cluster, node } }: StoredWorker,
  instance: string,
  disruption: Disruption,
): Refusal {
  const isRemoval = disruption === 'delete' || disruption === 'shelve';
  const remedy = isRemoval
    ? `Take it out with "muster workers remove ${node} --cluster ${cluster}": its pods leave within their budgets, then its Node and its instance go.`
    : `Drain it first with "muster workers drain ${node} --cluster ${cluster}", and give it back afterwards with "muster workers return ${node} --cluster ${cluster}".`;
  const message = `Instance "${instance}" is worker "${worker}" and is not ${PARTICIPLES[disruption]} with pods on it. ${remedy} Or use --force to have it ${PARTICIPLES[disruption]} all the same.`;
  return { kind: 'conflict', code: 'instance-runs-worker', message, facts: { instance, worker, disruption } };
}

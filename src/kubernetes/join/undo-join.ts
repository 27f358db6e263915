// What becomes of a worker whose join is cancelled: it is removed, with the instance that was built for it. One that is in service stays, and one that another
// operation has in hand is left to that.
import { idOf, put, type FleetReader } from '../../fleet/index.ts';
import { expectUnchanged, newOperation, OPERATION, type RecordStep, type StoredItem } from '../../operations/index.ts';
import { REMOVAL_MS, WORKER_REMOVE } from '../drain/remove-operation.ts';
import { findVictim } from '../drain/victim-steps.ts';
import { CLUSTER, DEFAULT_DRAIN_POLICY, WORKER } from '../model.ts';
import { assignWork } from '../workers/transitions.ts';
import { WORKER_ADD } from './decide.ts';

export function undoJoin(fleet: FleetReader, item: StoredItem, nowMs: number): Pick<RecordStep, 'changes' | 'expects'> {
  const worker = findVictim(fleet, item);
  if (worker === undefined) return { changes: [], expects: [] };
  const cluster = fleet.get(CLUSTER, idOf(CLUSTER, worker.doc.cluster))?.doc;
  const policy = cluster?.drainPolicy ?? DEFAULT_DRAIN_POLICY;
  const operation = idOf(OPERATION, `${item.id}.undo`);
  const by = `operation:${WORKER_ADD}`;
  const { keepsInstance } = worker.doc.work ?? {};
  const how = { operation, policy, by, nowMs, ...(keepsInstance !== undefined && { keepsInstance }) };
  const changes = [
    put(WORKER, worker.id, assignWork(worker.doc, how)),
    ...newOperation({
      ...{ id: operation, kind: WORKER_REMOVE, title: `remove worker ${worker.id}`, by, nowMs },
      ...{ site: cluster?.site, project: cluster?.project, deadlineMs: policy.deadlineMs + REMOVAL_MS },
      items: [{ key: worker.id, target: { kind: WORKER.name, id: worker.id }, step: 'inspect' }],
    }),
  ];
  return { changes, expects: [expectUnchanged(WORKER, worker)] };
}

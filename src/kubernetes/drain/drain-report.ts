// How far the drain of a worker is, and what blocks it: a document of its own, since items are small. It is there from the first look to the end of the drain's
// consequences: until the worker is back in service, or gone.
import { idOf, put, remove, type Change, type FleetReader } from '../../fleet/index.ts';
import { DRAIN_REPORT, type DrainReport } from '../model.ts';
import type { StoredWorker } from '../workers/transitions.ts';
import type { NodeProgress } from './node-order.ts';

export interface ReportedLook {
  readonly operation: string;
  readonly progress: NodeProgress;
  readonly nowMs: number;
}

/** Nothing when it says the same already. */
export function recordProgress(fleet: FleetReader, { id, doc }: StoredWorker, look: ReportedLook): Change[] {
  const { operation, progress, nowMs } = look;
  const { left, terminating, blockers, moreBlockers } = progress;
  const facts = { cluster: doc.cluster, operation, left, terminating, blockers: [...blockers], moreBlockers };
  const before = fleet.get(DRAIN_REPORT, reportId(id))?.doc;
  if (before !== undefined && JSON.stringify(factsOf(before)) === JSON.stringify(facts)) return [];
  return [put(DRAIN_REPORT, reportId(id), { ...facts, atMs: nowMs })];
}

function factsOf({ atMs: _, ...facts }: DrainReport): Omit<DrainReport, 'atMs'> {
  return facts;
}

export function removeReport(fleet: FleetReader, worker: string): Change[] {
  const id = reportId(worker);
  return fleet.get(DRAIN_REPORT, id) === undefined ? [] : [remove(DRAIN_REPORT, id)];
}

function reportId(worker: string) {
  return idOf(DRAIN_REPORT, worker);
}

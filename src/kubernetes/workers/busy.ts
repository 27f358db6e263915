// Whether an operation has a worker in hand. One that failed or ended has not: another may take the worker over.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { isUnfinished, OPERATION } from '../../operations/index.ts';
import type { Worker } from '../model.ts';

export function isBusy(fleet: FleetReader, { work }: Worker): boolean {
  if (work === undefined) return false;
  const operation = fleet.get(OPERATION, idOf(OPERATION, work.operation));
  return operation !== undefined && isUnfinished(operation.doc);
}

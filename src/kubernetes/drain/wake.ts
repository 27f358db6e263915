// Which items with another target a change lets continue: victims wait for the others of their batch, and a removal waits for its instance to be gone.
import { idOf, type AppliedChange, type FleetReader } from '../../fleet/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import {
  isOpen,
  ITEM,
  ITEMS_BY_OPERATION,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  targetKey,
  type Item,
  type StoredItem,
} from '../../operations/index.ts';
import { WORKER, WORKERS_BY_INSTANCE } from '../model.ts';

export function itemsToWake(fleet: FleetReader, change: AppliedChange): Iterable<StoredItem> {
  if (change.kind === ITEM.name) return siblingsOf(fleet, change);
  return change.kind === INSTANCE.name ? itemsOfInstance(fleet, change) : [];
}

/** One of a batch took a step: those that wait for it look again. */
function siblingsOf(fleet: FleetReader, { before, after }: AppliedChange): StoredItem[] {
  const [was, is] = [before?.doc as Item | undefined, after?.doc as Item | undefined];
  if (is?.target.kind !== WORKER.name || (was?.step === is.step && was.state === is.state)) return [];
  const siblings = fleet.find(ITEMS_BY_OPERATION, idOf(OPERATION, is.operation));
  return [...siblings].filter((item) => isOpen(item.doc) && item.doc.state === 'waiting' && item.id !== after?.id);
}

function itemsOfInstance(fleet: FleetReader, { before, after }: AppliedChange): StoredItem[] {
  const id = (after ?? before)?.id;
  if (id === undefined || fleet.countOf(WORKERS_BY_INSTANCE, id) === 0) return [];
  return [...fleet.find(WORKERS_BY_INSTANCE, id)].flatMap((worker) => [
    ...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(WORKER.name, worker.id)),
  ]);
}

// Deletes instances on hosts by the operation `instance-delete`: open operations end first, the host destroys the copy, the ports are deleted or handed back, and
// everything else is released in one commit. A delete wins over a build.
import { idOf, mark, put, remove, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { CLAIM, claimId } from '../../network/index.ts';
import {
  expectUnchanged,
  newOperation,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  record,
  targetKey,
  wait,
  type PlannedStep,
  type OperationId,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { beginSweep, isSweep, uniqueSweepKey, itemsOfHost } from './clean.ts';
import {
  handleDestroyAnswer,
  composeDestroyTask,
  handleReleaseOutcome,
  planDestroy,
  planRelease,
  type ReleaseFinisher,
} from './release-steps.ts';
import { releaseHoldings } from '../build/failure.ts';
import { INSTANCE } from '../model.ts';
import type { StoredInstance } from '../build/placement.ts';
import type { DeleteInstances } from '../builder.ts';
import { beginInstanceOperation, resolveInstances } from '../instance-operation.ts';

export const DELETE_DEADLINE_MS = 24 * 3600 * 1000;

export function deleteFromHosts(
  fleet: FleetReader,
  command: DeleteInstances,
): Decision<{ readonly operation: OperationId }> {
  const { ids, operation, by, nowMs } = command;
  const running = findRunningDeletion(fleet, ids);
  if (running !== undefined) return accept([], { operation: running });
  // A deletion that failed, by its deadline, is started again.
  const instances = resolveInstances(fleet, ids, 'among-them');
  if ('code' in instances) return refuse(instances);
  const started = beginInstanceOperation(fleet, instances, command, {
    kind: 'instance-delete',
    title: (what) => `delete ${what}`,
    step: 'stop',
  });
  return accept([...instances.map((one) => markDeleting(one, by, nowMs)), ...started], { operation });
}

/** The operation that deletes all of these already: a repeated request answers it. */
function findRunningDeletion(fleet: FleetReader, ids: readonly string[]): OperationId | undefined {
  const operations = new Set(
    ids.map((id) => {
      const open = [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, id))];
      return open.find((item) => isDeletion(fleet, item))?.doc.operation;
    }),
  );
  const [operation] = operations;
  return operations.size === 1 && operation !== undefined ? idOf(OPERATION, operation) : undefined;
}

function isDeletion(fleet: FleetReader, item: StoredItem): boolean {
  return fleet.get(OPERATION, idOf(OPERATION, item.doc.operation))?.doc.kind === instanceDelete.name;
}

function markDeleting({ id, doc }: StoredInstance, by: string, nowMs: number): Change {
  return put(INSTANCE, id, { ...doc, state: 'deleting', changedBy: by, changedAtMs: nowMs });
}

/** The changes that start the deletion of an instance whose build is cancelled. */
export function beginDeletion(instance: StoredInstance, key: string, nowMs: number): Change[] {
  const by = 'operation:instance-build';
  return [
    markDeleting(instance, by, nowMs),
    ...newOperation({
      id: `delete-${key}` as OperationId,
      kind: 'instance-delete',
      title: `delete instance ${instance.id}`,
      by,
      nowMs,
      deadlineMs: DELETE_DEADLINE_MS,
      items: [{ key: instance.id, target: { kind: INSTANCE.name, id: instance.id }, step: 'stop' }],
    }),
  ];
}

export const instanceDelete: OperationKind = {
  name: 'instance-delete',
  steps: ['stop', 'destroy', 'release'],
  cancel: { kind: 'none', because: 'the instance may be half gone already' },
  retry: { kind: 'does', what: 'instances that could not be deleted in time are tried again' },

  plan: (fleet, items, nowMs) =>
    items.flatMap((item) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
      // An instance that is not being deleted is another one of the same name: a failed deletion may be retried long after.
      if (instance?.doc.state !== 'deleting') return [record(item, { state: 'done', step: item.doc.step })];
      // A retry starts from the present state: host and open operations may have changed. Attempts are counted over all steps: the task of a
      // retry has an id of its own, and an answer to an earlier one does not count for it.
      if (item.doc.state === 'pending' && item.doc.step !== 'stop')
        return [record(item, { state: 'running', step: 'stop', host: null, attempt: item.doc.attempt })];
      return planItem(fleet, item, instance, nowMs);
    }),

  observe: (item, outcome, { fleet, nowMs }) => handleReleaseOutcome(fleet, item, { outcome, nowMs, finish }),
  task: (item, { fleet }) => composeDestroyTask(fleet, item),
  handleTaskAnswer: (item, answer, { fleet, nowMs }) => handleDestroyAnswer(fleet, item, answer, nowMs),

  itemsToWake: (fleet, { kind, before, after }) => itemsOfHost(fleet, kind, (after ?? before)?.id),
};

/** It is deleted, with everything that it held. */
const finish: ReleaseFinisher = (fleet, { id, doc }, nowMs) => ({
  changes: [remove(INSTANCE, id), ...releaseHoldings(fleet, id, doc, { by: 'operation:instance-delete', nowMs })],
  progress: { state: 'done' },
});

function planItem(
  fleet: FleetReader,
  item: StoredItem,
  instance: StoredInstance,
  nowMs: number,
): readonly PlannedStep[] {
  switch (item.doc.step) {
    case 'stop':
      return [planStop(fleet, item, instance, nowMs)];
    case 'destroy':
      return planDestroy(fleet, item, instance, nowMs);
    case 'release':
      return planRelease(fleet, item, { instance, nowMs, finish });
    default:
      throw new Error(`instance-delete has no step "${item.doc.step}"`);
  }
}

/** Of several deletions that have done nothing yet, later ones wait for the first: if each waited for all others, none would end. */
function isLaterDeletion(fleet: FleetReader, item: StoredItem, other: StoredItem): boolean {
  if (other.doc.step !== 'stop' || !isDeletion(fleet, other)) return false;
  const [mine, theirs] = [item, other].map((one) => readStartMs(fleet, one));
  return mine === theirs ? item.id < other.id : (mine ?? 0) < (theirs ?? 0);
}

function readStartMs(fleet: FleetReader, { doc }: StoredItem): number | undefined {
  return fleet.get(OPERATION, idOf(OPERATION, doc.operation))?.doc.createdAtMs;
}

/** Other open operations see that the instance is leaving, and end. */
function planStop(fleet: FleetReader, item: StoredItem, instance: StoredInstance, nowMs: number): RecordStep {
  const others = [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, instance.id))].filter(
    (other) => other.id !== item.id && !isSweep(fleet, other) && !isLaterDeletion(fleet, item, other),
  );
  if (others.length > 0) {
    mark('delete-waits-for-work');
    return wait(item, { code: 'other-work-ends-first', instance: instance.id });
  }
  const { host } = instance.doc;
  const { attempt } = item.doc;
  const changes = sweepMoveEnds(fleet, item, instance, nowMs);
  const expects = [expectUnchanged(INSTANCE, instance)];
  if (host === undefined) return record(item, { state: 'running', step: 'release', attempt }, { changes, expects });
  return record(item, { state: 'running', step: 'destroy', attempt, host }, { changes, expects });
}

/** An open move may leave a copy at its other end: its target, or its source. */
function sweepMoveEnds(fleet: FleetReader, item: StoredItem, { id, doc }: StoredInstance, nowMs: number): Change[] {
  const ends = [fleet.get(CLAIM, claimId(id, 'move'))?.doc.host, doc.move?.from];
  const other = ends.find((end) => end !== undefined && end !== doc.host && findHost(fleet, end) !== undefined);
  return other === undefined ? [] : beginSweep(id, other, uniqueSweepKey(fleet, `${item.id}:move`, nowMs), nowMs);
}

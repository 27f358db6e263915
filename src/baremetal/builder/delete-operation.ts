// The operation `baremetal-delete` takes an instance off its node and deletes it; `baremetal-release` does the same for a build that passed its deadline,
// and leaves the instance in error. What is under way on the machine is waited for. The name is free when the node is clean, or out of service.
import { idOf, mark, put, remove, type Change, type FleetReader, type ChangeNote } from '../../fleet/index.ts';
import {
  beginInstanceOperation,
  INSTANCE,
  NO_DEADLINE_MS,
  releaseHoldings,
  type DeleteInstances,
  type StoredInstance,
} from '../../instances/index.ts';
import { accept, type Decision } from '../../journal/index.ts';
import {
  decideLater,
  ITEM,
  newOperation,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  operationOf,
  record,
  targetKey,
  wait,
  type OperationId,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { RESERVATION } from '../model.ts';
import { BUILD_KIND, DELETE_KIND, RELEASE_KIND } from './names.ts';
import {
  beginTeardown,
  composeTeardownTask,
  handleTeardownAnswer,
  planTeardown,
  TEARDOWN_STEPS,
  type Teardown,
  type TeardownFinisher,
} from './teardown.ts';

const STOP_STEP = 'stop';

export function deleteFromNodes(
  fleet: FleetReader,
  command: DeleteInstances,
): Decision<{ readonly operation: OperationId }> {
  const { ids, operation, by, nowMs } = command;
  const running = findRunningDeletion(fleet, ids);
  if (running !== undefined) return accept([], { operation: running });
  const instances = ids.flatMap((id) => fleet.get(INSTANCE, idOf(INSTANCE, id)) ?? []);
  // Remembered until it is done: a machine that is without a manager for days is cleaned once it has one.
  const request = { ...command, deadlineMs: NO_DEADLINE_MS };
  const started = beginInstanceOperation(fleet, instances, request, {
    kind: DELETE_KIND,
    title: (what) => `delete ${what}`,
    step: STOP_STEP,
  });
  return accept([...instances.map((one) => markDeleting(one, { by, nowMs })), ...started], { operation });
}

/** The operation that deletes all of these already: a repeated request answers it. */
function findRunningDeletion(fleet: FleetReader, ids: readonly string[]): OperationId | undefined {
  const operations = new Set(
    ids.map((id) => openItems(fleet, id).find((item) => isDeletion(fleet, item))?.doc.operation),
  );
  const [operation] = operations;
  return operations.size === 1 && operation !== undefined ? idOf(OPERATION, operation) : undefined;
}

function openItems(fleet: FleetReader, instance: string): StoredItem[] {
  return [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, instance))];
}

function isDeletion(fleet: FleetReader, item: StoredItem): boolean {
  return operationOf(fleet, item).doc.kind === DELETE_KIND;
}

function markDeleting({ id, doc }: StoredInstance, { by, nowMs }: ChangeNote): Change {
  return put(INSTANCE, id, { ...doc, state: 'deleting', changedBy: by, changedAtMs: nowMs });
}

/** The changes that start the deletion of an instance whose build is cancelled. */
export function beginDeletion(instance: StoredInstance, key: string, { by, nowMs }: ChangeNote): Change[] {
  return [
    markDeleting(instance, { by, nowMs }),
    ...newOperation({
      ...{ id: `delete-${key}` as OperationId, kind: DELETE_KIND, title: `delete instance ${instance.id}` },
      ...{ by, nowMs, deadlineMs: NO_DEADLINE_MS, project: instance.doc.project },
      items: [{ key: instance.id, target: { kind: INSTANCE.name, id: instance.id }, step: STOP_STEP }],
    }),
  ];
}

/** A build that passed its deadline: the instance is in error, and what it holds is released by an operation of its own. */
export function failOverdue(fleet: FleetReader, instance: StoredInstance, key: string, nowMs: number): Change[] {
  const { id, doc } = instance;
  const by = `operation:${BUILD_KIND}`;
  const message = 'The build passed its deadline. Delete the instance and create it again.';
  const fault = { code: 'deadline-passed', message, atMs: nowMs };
  const failed = { ...doc, state: 'error' as const, fault, changedBy: by, changedAtMs: nowMs };
  if (fleet.get(RESERVATION, idOf(RESERVATION, id)) === undefined) {
    mark('baremetal-overdue-without-node');
    return [put(INSTANCE, id, { ...failed, nics: [] }), ...releaseHoldings(fleet, id, doc, { by, nowMs })];
  }
  return [
    put(INSTANCE, id, failed),
    ...newOperation({
      id: `release-${key}` as OperationId,
      ...{ kind: RELEASE_KIND, title: `release what the build of instance ${id} holds` },
      ...{ by: 'muster', nowMs, deadlineMs: NO_DEADLINE_MS, project: doc.project },
      items: [{ key: id, target: { kind: INSTANCE.name, id }, step: STOP_STEP }],
    }),
  ];
}

export const baremetalDelete = teardownKind(DELETE_KIND, 'the instance may be half gone already');
export const baremetalRelease = teardownKind(RELEASE_KIND, 'the node of the build would never be free again');

function teardownKind(name: string, because: string): OperationKind {
  const by = `operation:${name}`;
  const teardownOf = (item: StoredItem, nowMs: number): Teardown => {
    return {
      item,
      instance: item.doc.target.id,
      by,
      nowMs,
      finish: (fleet, at, atMs) => finish(fleet, at, { by, nowMs: atMs }),
    };
  };
  return {
    name,
    steps: [STOP_STEP, ...TEARDOWN_STEPS],
    cancel: { kind: 'none', because },
    retry: { kind: 'does', what: 'the machine is cleaned again, and what is left is released' },
    plan: (fleet, items, nowMs) =>
      items.flatMap((item): readonly PlannedStep[] => {
        const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
        // An instance in another state is another one of the same name: a failed deletion may be retried long after.
        if (instance?.doc.state !== 'deleting' && instance?.doc.state !== 'error')
          return [record(item, { state: 'done', step: item.doc.step })];
        if (item.doc.step !== STOP_STEP && item.doc.state !== 'pending')
          return planTeardown(fleet, teardownOf(item, nowMs));
        return planStop(fleet, item, teardownOf);
      }),
    task: (item) => composeTeardownTask(item),
    handleTaskAnswer: (item, answer, { fleet, nowMs }) => handleTeardownAnswer(fleet, teardownOf(item, nowMs), answer),
  };
}

/** Other open operations see that the instance is leaving, and end when the machine has done what it is doing. */
function planStop(
  fleet: FleetReader,
  item: StoredItem,
  teardownOf: (item: StoredItem, nowMs: number) => Teardown,
): readonly PlannedStep[] {
  const { id } = item.doc.target;
  const others = openItems(fleet, id).filter((other) => other.id !== item.id && !isLaterDeletion(fleet, item, other));
  if (others.length > 0) {
    mark('baremetal-delete-waits-for-work');
    return [wait(item, { code: 'other-work-ends-first', instance: id })];
  }
  return [
    decideLater(item, (at, nowMs): readonly RecordStep[] => {
      const current = at.get(ITEM, item.id);
      const instance = at.get(INSTANCE, idOf(INSTANCE, id));
      if (current === undefined || instance === undefined) return [];
      return [beginTeardown(at, { ...teardownOf(current, nowMs), isConnected: instance.doc.nics.length > 0 })];
    }),
  ];
}

/** Of several that have done nothing yet, later ones wait for the first: if each waited for all others, none would end. */
function isLaterDeletion(fleet: FleetReader, item: StoredItem, other: StoredItem): boolean {
  if (other.doc.step !== STOP_STEP) return false;
  const [mine, theirs] = [item, other].map((one) => operationOf(fleet, one).doc.createdAtMs) as [number, number];
  return mine === theirs ? item.id < other.id : mine < theirs;
}

/** It is deleted, with all that it held; or, in error, keeps nothing but why. */
function finish(fleet: FleetReader, item: StoredItem, { by, nowMs }: ChangeNote): ReturnType<TeardownFinisher> {
  const progress = { state: 'done', step: item.doc.step, assignee: null } as const;
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  if (instance === undefined) return { progress, changes: [] };
  const { id, doc } = instance;
  const released = releaseHoldings(fleet, id, doc, { by, nowMs });
  // A deletion waits for a release of the same instance, and ends it itself.
  if (doc.state === 'deleting')
    return {
      progress,
      changes: operationOf(fleet, item).doc.kind === DELETE_KIND ? [remove(INSTANCE, id), ...released] : [],
    };
  const { node: _, site: __, power: ___, ...rest } = doc;
  const failed = { ...rest, nics: [], changedBy: by, changedAtMs: nowMs };
  return { progress, changes: [put(INSTANCE, id, failed), ...released] };
}

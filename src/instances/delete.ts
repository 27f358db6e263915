// Deleting instances, and the operation `instance-delete`: what is under way for it ends first, its host destroys it, its
// ports are deleted or handed back, and everything it held is gone in one commit. A delete wins over a build.
import { idOf, mark, put, remove, type Change, type FleetReader } from '../fleet/index.ts';
import { findHost } from '../hosts/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { CLAIM, claimId, unasked } from '../network/index.ts';
import {
  againAfterMs,
  decideLater,
  expecting,
  newOperation,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  record,
  targetKey,
  wait,
  type ActionOutcome,
  type Next,
  type OperationId,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../operations/index.ts';
import { endNics } from './build-answers.ts';
import { cleaningOf, itemsOfHost } from './clean.ts';
import { released } from './give-up.ts';
import { INSTANCE } from './model.ts';
import { endOrder, outsidePorts } from './orders.ts';
import { isConfirmedGone, portsOf, type StoredInstance } from './place.ts';
import { beginWork, instancesNamed, type Work } from './work.ts';

export const DELETE_DEADLINE_MS = 24 * 3600 * 1000;
/** The host that made the ports has destroyed the instance and released them. */
const HOST_RELEASED = 'released-by-host';

export interface DeleteInstances extends Work {
  readonly ids: readonly string[];
}

export function deleteInstances(
  fleet: FleetReader,
  command: DeleteInstances,
): Decision<{ readonly operation: OperationId }> {
  const { ids, operation, by, nowMs } = command;
  const instances = instancesNamed(fleet, ids);
  if ('code' in instances) return refuse(instances);
  const begun = beginWork(fleet, instances, command, {
    kind: 'instance-delete',
    title: (what) => `delete ${what}`,
    step: 'stop',
  });
  return accept([...instances.map((one) => leaving(one, by, nowMs)), ...begun], { operation });
}

function leaving({ id, doc }: StoredInstance, by: string, nowMs: number): Change {
  return put(INSTANCE, id, { ...doc, state: 'deleting', changedBy: by, changedAtMs: nowMs });
}

/** The changes that begin the deletion of an instance whose build is cancelled. */
export function deletionOf(instance: StoredInstance, key: string, nowMs: number): Change[] {
  const by = 'operation:instance-build';
  return [
    leaving(instance, by, nowMs),
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
  rollback: { kind: 'none', because: 'what is deleted does not come back' },

  plan: (fleet, _operation, items, nowMs) =>
    items.flatMap((item) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
      if (instance === undefined) return [record(item, { state: 'done', step: item.doc.step })];
      return nextStep(fleet, item, instance, nowMs);
    }),

  observe: (fleet, item, outcome, nowMs) => observed(fleet, item, outcome, nowMs),

  task: (fleet, item) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    if (item.doc.step !== 'destroy' || item.doc.state !== 'running' || instance === undefined) return undefined;
    // A host that made the ports by itself also deletes those that are Muster's.
    const ports = instance.doc.path.create === 'host' ? 'delete-own' : 'leave';
    return { kind: 'destroy', args: { instance: instance.id, nics: endNics(fleet, instance), ports } };
  },

  answered: (fleet, item, answer, nowMs) => {
    const path = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id))?.doc.path;
    const told = path?.create === 'host' ? { reason: { code: HOST_RELEASED } } : {};
    if (answer.outcome === 'done') return record(item, { state: 'running', step: 'release', host: null, ...told });
    const problems = answer.problems ?? [];
    return wait(
      item,
      { code: 'not-destroyed', instance: item.doc.target.id, problems },
      nowMs + againAfterMs(item.doc.attempt),
    );
  },

  wakes: (fleet, { kind, before, after }) => itemsOfHost(fleet, kind, (after ?? before)?.id),
};

function nextStep(fleet: FleetReader, item: StoredItem, instance: StoredInstance, nowMs: number): readonly Next[] {
  switch (item.doc.step) {
    case 'stop':
      return [stopped(fleet, item, instance, nowMs)];
    case 'destroy':
      return toDestroy(fleet, item, instance, nowMs);
    case 'release':
      return toRelease(fleet, item, instance, nowMs);
    default:
      throw new Error(`instance-delete has no step "${item.doc.step}"`);
  }
}

/** Whatever else is under way for the instance sees that it is leaving, and ends. */
function stopped(fleet: FleetReader, item: StoredItem, instance: StoredInstance, nowMs: number): RecordStep {
  const others = [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, instance.id))].filter(
    (other) => other.id !== item.id && !isSweep(fleet, other),
  );
  if (others.length > 0) {
    mark('delete-waits-for-work');
    return wait(item, { code: 'other-work-ends-first', instance: instance.id });
  }
  const { host } = instance.doc;
  const changes = sweepsOfMove(fleet, item, instance, nowMs);
  const expects = [expecting(INSTANCE, instance)];
  if (host === undefined) return record(item, { state: 'running', step: 'release' }, { changes, expects });
  return record(item, { state: 'running', step: 'destroy', host }, { changes, expects });
}

/** A move that was under way may leave a copy at its other end: where it was going, or where it came from. */
function sweepsOfMove(fleet: FleetReader, item: StoredItem, { id, doc }: StoredInstance, nowMs: number): Change[] {
  const ends = [fleet.get(CLAIM, claimId(id, 'move'))?.doc.host, doc.move?.from];
  const other = ends.find((end) => end !== undefined && end !== doc.host && findHost(fleet, end) !== undefined);
  return other === undefined ? [] : cleaningOf(id, other, `${item.id}:move`, nowMs);
}

function isSweep(fleet: FleetReader, item: StoredItem): boolean {
  return fleet.get(OPERATION, idOf(OPERATION, item.doc.operation))?.doc.kind === 'instance-clean';
}

function toDestroy(fleet: FleetReader, item: StoredItem, instance: StoredInstance, nowMs: number): readonly Next[] {
  const host = item.doc.host ?? '';
  const stored = findHost(fleet, host);
  if (isConfirmedGone(fleet, host)) {
    // The host is off for certain: its addresses can be used again. Should it come back, it is swept first.
    const sweep = stored === undefined ? [] : cleaningOf(instance.id, host, item.id, nowMs);
    return [record(item, { state: 'running', step: 'release', host: null }, { changes: sweep })];
  }
  // A host that is only silent may still run it: its addresses are not given to anybody else.
  if (stored?.doc.connection.state !== 'up') {
    mark('delete-waits-for-silent-host');
    return [wait(item, { code: 'host-silent', host, instance: instance.id })];
  }
  if (item.doc.state === 'running' || nowMs < (item.doc.retryAtMs ?? 0)) return [];
  return [record(item, { state: 'running', step: 'destroy', attempt: item.doc.attempt + 1 })];
}

function toRelease(fleet: FleetReader, item: StoredItem, instance: StoredInstance, nowMs: number): readonly Next[] {
  const outside = outsidePorts(fleet, portsOf(fleet, instance.doc));
  if (outside.length === 0) return [decideLater(item, (at, atMs) => [goneNow(at, item, atMs)])];
  if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
  const args = endOrder(fleet, 'release', instance, outside) as unknown as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step: 'release', attempt: item.doc.attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

/** One port's fault does not stop the others: the back end has gone through all of them, and is asked again for the rest. */
function observed(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  if (instance === undefined) return record(item, { state: 'done', step: 'release' });
  const answers = outcome.kind === 'applied' || outcome.kind === 'already' ? outcome.facts?.['ports'] : undefined;
  const ports = answers as readonly { readonly port: string; readonly outcome: string }[] | undefined;
  const left = ports?.filter((port) => port.outcome !== 'ok' && port.outcome !== 'not-found');
  if (left?.length === 0) return gone(fleet, item, instance, nowMs);
  // Without credentials the back end was not even asked: what the host made by itself it has let go of by itself.
  if (unasked(outcome) !== undefined && item.doc.reason?.code === HOST_RELEASED)
    return gone(fleet, item, instance, nowMs);
  const unreleased = left?.map(({ port }) => port) ?? instance.doc.nics.map(({ port }) => port);
  const reason = unasked(outcome) ?? { code: 'ports-not-released', instance: instance.id, ports: unreleased };
  const again = wait(item, reason, nowMs + againAfterMs(item.doc.attempt));
  return { ...again, progress: { ...again.progress, attempt: item.doc.attempt + 1 } };
}

/** Whatever it holds when it goes, also what it got since it was looked at. */
function goneNow(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  if (instance === undefined) return record(item, { state: 'done', step: 'release' });
  return gone(fleet, item, instance, nowMs);
}

function gone(fleet: FleetReader, item: StoredItem, { id, doc }: StoredInstance, nowMs: number): RecordStep {
  const end = { by: 'operation:instance-delete', nowMs };
  const changes = [remove(INSTANCE, id), ...released(fleet, id, doc, end)];
  return record(item, { state: 'done', step: 'release', host: null }, { changes });
}

// Decides on shelving and unshelving: a shelved instance has no host and keeps its ports with their addresses, so that it can be built again later on any
// host with capacity. Its disk is not kept: that needs an image store, which does not exist yet.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { isMissingCredentials, updateCredentialsAlarm, NETWORK } from '../../network/index.ts';
import { newOperation, type OperationId } from '../../operations/index.ts';
import { pathOf } from '../gates.ts';
import { commonSiteOf } from '../scope.ts';
import { INSTANCE, type Instance } from '../model.ts';
import type { StoredInstance } from '../build/placement.ts';
import { beginInstanceOperation, resolveInstance, type OperationRequest } from '../instance-operation.ts';

export interface ShelveInstance extends OperationRequest {
  readonly id: string;
  /** Whether this server has the credentials of the back ends that need some: decides who creates and binds ports. */
  readonly hasCredentials: boolean;
}

/** A host that is away for a day finds the task outdated when it is back. */
const SHELVE_DEADLINE_MS = 24 * 3600 * 1000;

export function shelveInstance(
  fleet: FleetReader,
  command: ShelveInstance,
): Decision<{ readonly operation: OperationId }> {
  const { id, operation, by, why, nowMs, deadlineMs } = command;
  const instance = resolveInstance(fleet, id);
  if ('code' in instance) return refuse(instance);
  if (instance.doc.state !== 'active') return refuse(notActive(instance, 'shelved'));
  const said = { ...(why !== undefined && { why }), ...commonSiteOf(fleet, [instance]), project: instance.doc.project };
  const began = { id: operation, by, ...said, nowMs, deadlineMs };
  return accept(beginShelving(instance, began), { operation });
}

interface ShelveOperation {
  readonly id: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly site?: string;
  readonly project?: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

function beginShelving({ id, doc }: StoredInstance, began: ShelveOperation): Change[] {
  const { by, nowMs } = began;
  const target = { kind: INSTANCE.name, id };
  const { host } = doc;
  const item =
    host === undefined
      ? { key: id, target, step: 'unbind' }
      : { key: id, target, step: 'destroy', host, state: 'running' as const };
  return [
    put(INSTANCE, id, { ...doc, state: 'shelving', changedBy: by, changedAtMs: nowMs }),
    ...newOperation({ ...began, kind: 'instance-shelve', title: `shelve instance ${id}`, items: [item] }),
  ];
}

/** The changes that put an instance back on the shelf when its unshelve is cancelled. */
export function returnToShelf(instance: StoredInstance, key: string, nowMs: number): Change[] {
  const by = 'operation:instance-build';
  return beginShelving(instance, { id: `shelve-${key}` as OperationId, by, nowMs, deadlineMs: SHELVE_DEADLINE_MS });
}

/** Placed again: earlier tries no longer count, and its last host is as good as any. */
export function unshelveInstance(
  fleet: FleetReader,
  command: ShelveInstance,
): Decision<{ readonly operation: OperationId }> {
  const { id, operation, by, nowMs, hasCredentials } = command;
  const instance = resolveInstance(fleet, id);
  if ('code' in instance) return refuse(instance);
  if (instance.doc.state !== 'shelved') return refuse(notShelved(instance));
  const backEnds = instance.doc.nics.flatMap(
    ({ network }) => fleet.get(NETWORK, idOf(NETWORK, network))?.doc.backEnd ?? [],
  );
  const lacking = isMissingCredentials(backEnds, hasCredentials);
  const doc: Instance = {
    ...resetPlacement(instance.doc),
    state: 'building',
    path: pathOf(fleet, !lacking),
    changedBy: by,
    changedAtMs: nowMs,
  };
  const began = beginInstanceOperation(fleet, [instance], command, {
    kind: 'instance-build',
    title: (what) => `unshelve ${what}`,
    step: 'schedule',
  });
  const alarm = isMissingCredentials(backEnds, false) ? updateCredentialsAlarm(fleet, lacking, nowMs) : [];
  return accept([put(INSTANCE, instance.id, doc), ...began, ...alarm], { operation });
}

/**
 * An instance before it is placed again. Its tries, its request's other instances and the host that was requested by name belong to its first
 * build: it has left that host.
 */
export function resetPlacement({ fault: _, move: __, together: ___, place, ...rest }: Instance): Instance {
  const { onlyHost: ____, ...where } = place;
  return { ...rest, place: where, attempts: [] };
}

export function notActive({ id, doc }: StoredInstance, verb: string): Refusal {
  const message = `Instance "${id}" cannot be ${verb}: it is ${doc.state}, and only active instances can. "muster instances show ${id}" says why.`;
  return { kind: 'conflict', code: 'not-active', message, facts: { instance: id, state: doc.state } };
}

function notShelved({ id, doc }: StoredInstance): Refusal {
  const message = `Instance "${id}" is not on the shelf: it is ${doc.state}. Only shelved instances can be unshelved; "muster instances list --state shelved" lists them.`;
  return { kind: 'conflict', code: 'not-shelved', message, facts: { instance: id, state: doc.state } };
}

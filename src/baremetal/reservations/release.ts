// Decides how a reservation ends: accepted in every state, remembered until it is done, and repeated without effect. A node to which nothing was deployed
// is free at once; any other is cleaned first; what was claimed at an inventory is given back there.
import { idOf, put, remove, type Change, type FleetReader, type ChangeNote } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { NO_DEADLINE_MS } from '../../instances/index.ts';
import { newOperation, OPERATION, type OperationId } from '../../operations/index.ts';
import { isOwnInstance } from '../builder/build-reservation.ts';
import { NODE, RESERVATION, type Reservation } from '../model.ts';
import { beginUnclaim, finishClean, releaseUnused, type StoredNode } from '../nodes/transitions.ts';
import { reservationId, type StoredReservation } from './documents.ts';
import { requireNode } from '../builder/node-of.ts';
import { instanceHasReservation } from './refusals.ts';

export const RESERVATION_RELEASE = 'reservation-release';

export interface ReleaseReservation extends ChangeNote {
  /** A fresh id, for what cannot be done in one commit; made from the node when there is none. */
  readonly operation?: OperationId;
}

export type Release =
  | { readonly kind: 'released'; readonly changes: readonly Change[] }
  | { readonly kind: 'releasing'; readonly changes: readonly Change[]; readonly operation: OperationId };

/** For whatever ends with its reservation. Its caller commits the changes with its own. */
export function beginRelease(fleet: FleetReader, stored: StoredReservation, command: ReleaseReservation): Release {
  const { id, doc } = stored;
  const { by, nowMs } = command;
  switch (doc.state) {
    case 'error':
      return { kind: 'released', changes: [remove(RESERVATION, id)] };
    case 'releasing':
      return { kind: 'releasing', changes: [], operation: doc.operation as OperationId };
    case 'allocating': {
      // What claims its node sees it, and gives back what it has claimed.
      const releasing: Reservation = { ...doc, state: 'releasing', changedBy: by, changedAtMs: nowMs };
      return { kind: 'releasing', changes: [put(RESERVATION, id, releasing)], operation: doc.operation as OperationId };
    }
    case 'active':
      return releaseActive(fleet, stored, command);
  }
}

function releaseActive(fleet: FleetReader, { id, doc }: StoredReservation, command: ReleaseReservation): Release {
  const node = fleet.get(NODE, idOf(NODE, doc.node ?? ''));
  if (node === undefined) throw new Error(`the node of reservation ${id} is not there`);
  if (node.doc.state === 'reserved') return endReservation(fleet, node, command);
  const { operation = operationFor(fleet, node), by, nowMs } = command;
  const releasing: Reservation = { ...doc, state: 'releasing', operation, changedBy: by, changedAtMs: nowMs };
  const begun = beginReleaseOperation(releasing, node, { operation, by, nowMs, step: 'stop' });
  return { kind: 'releasing', operation, changes: [put(RESERVATION, id, releasing), ...begun] };
}

interface ReleaseOperation extends ChangeNote {
  readonly operation: OperationId;
  /** `stop`: nothing more is begun on its machine. */
  readonly step: 'stop' | 'unclaim';
}

function beginReleaseOperation(
  { instance, project }: Reservation,
  node: StoredNode,
  { operation, step, by, nowMs }: ReleaseOperation,
): Change[] {
  return newOperation({
    id: operation,
    kind: RESERVATION_RELEASE,
    title: `release node ${node.id} of ${instance}`,
    by,
    project,
    site: node.doc.site,
    nowMs,
    // Managers and inventories may be away for long: a release is remembered until it is done.
    deadlineMs: NO_DEADLINE_MS,
    items: [{ key: instance, target: { kind: NODE.name, id: node.id }, step }],
  });
}

/**
 * The end of a reservation whose node is unused, or clean again. What was claimed at its inventory is given back there first: until then the node has
 * no instance, and is not offered.
 */
export function endReservation(fleet: FleetReader, node: StoredNode, command: ReleaseReservation): Release {
  const { operation = operationFor(fleet, node), by, nowMs } = command;
  const id = reservationId(node.doc.instance ?? '');
  const stored = fleet.get(RESERVATION, id);
  if (stored?.doc.claimed === undefined) {
    const end = node.doc.state === 'reserved' ? releaseUnused : finishClean;
    const free = requireNode(end(node, { isOffered: true, by, nowMs }));
    const gone = stored === undefined ? [] : [remove(RESERVATION, id)];
    return { kind: 'released', changes: [put(NODE, node.id, free), ...gone] };
  }
  const { node: _, ...rest } = stored.doc;
  const doc: Reservation = { ...rest, state: 'releasing', operation, changedBy: by, changedAtMs: nowMs };
  const held = requireNode(beginUnclaim(node, { by, nowMs }));
  const begun = beginReleaseOperation(doc, node, { operation, by, nowMs, step: 'unclaim' });
  return { kind: 'releasing', operation, changes: [put(NODE, node.id, held), put(RESERVATION, id, doc), ...begun] };
}

function operationFor(fleet: FleetReader, { id }: StoredNode): OperationId {
  return idOf(OPERATION, `release-${fleet.revision}.${id}`);
}

export interface ReleaseRequest extends ReleaseReservation {
  readonly instance: string;
}

/** By request. One that is gone, or never was, is released: a repetition is answered as the first request was. */
export function releaseReservation(
  fleet: FleetReader,
  stored: StoredReservation | undefined,
  { instance, ...command }: ReleaseRequest,
): Decision<Release> {
  if (stored === undefined) return accept([], { kind: 'released', changes: [] });
  if (stored.doc.state !== 'error' && isOwnInstance(fleet, instance)) return refuse(instanceHasReservation(instance));
  const release = beginRelease(fleet, stored, command);
  return accept(release.changes, release);
}

// What must never be untrue of reservations. Checked after every commit in tests and in the simulation, on the documents that the commit changed.
import { idOf, type AppliedChange, type FleetReader, type Invariant } from '../../fleet/index.ts';
import {
  NODE,
  NODES_BY_CLAIM,
  NODES_BY_INSTANCE,
  RESERVATION,
  RESERVATION_TRANSITIONS,
  type Node,
  type Reservation,
} from '../model.ts';
import { reservationId } from './documents.ts';

interface Pair {
  readonly id: string;
  readonly before: Reservation | undefined;
  readonly after: Reservation | undefined;
}

function reservationChanges(changed: readonly AppliedChange[]): Pair[] {
  return changed.flatMap(({ kind, before, after }) => {
    const id = (after ?? before)?.id;
    if (kind !== RESERVATION.name || id === undefined) return [];
    return [{ id, before: before?.doc as Reservation | undefined, after: after?.doc as Reservation | undefined }];
  });
}

/** The reservations that a commit may have brought apart from their nodes. */
function listConcernedReservations(changed: readonly AppliedChange[]): Set<string> {
  const ids = new Set(reservationChanges(changed).map(({ id }) => id));
  for (const { kind, before, after } of changed) {
    if (kind !== NODE.name) continue;
    for (const doc of [before?.doc, after?.doc] as (Node | undefined)[]) {
      for (const id of [doc?.instance, doc?.claimedFor]) if (id !== undefined) ids.add(id);
    }
  }
  return ids;
}

const legalTransitions: Invariant = {
  name: 'never: a reservation takes a step that its table does not have',
  check: (changed) =>
    reservationChanges(changed).flatMap(({ id, before, after }) => {
      if (before === undefined || after === undefined) return [];
      const isLegal = RESERVATION_TRANSITIONS[before.state].includes(after.state);
      return isLegal ? [] : [`reservation ${id}: ${before.state} to ${after.state}`];
    }),
};

/** Both say the same: so no node has two reservations, and no instance two nodes. */
const nodeAndReservationAgree: Invariant = {
  name: 'never: a reservation and its node disagree',
  check: (changed, fleet) => [...listConcernedReservations(changed)].flatMap((id) => disagreements(fleet, id)),
};

function disagreements(fleet: FleetReader, id: string): string[] {
  const doc = fleet.get(RESERVATION, reservationId(id))?.doc;
  const nodes = [...fleet.find(NODES_BY_INSTANCE, id)];
  const hasNode = doc?.state === 'active' || (doc?.state === 'releasing' && doc.node !== undefined);
  if (!hasNode)
    return nodes.map((node) => `node ${node.id} is reserved for ${id}, whose reservation is ${doc?.state ?? 'gone'}`);
  const node = fleet.get(NODE, idOf(NODE, doc.node ?? ''))?.doc;
  return [
    ...(node?.instance === id
      ? []
      : [`reservation ${id} has node ${doc.node}, which is reserved for ${node?.instance}`]),
    ...((node?.epoch ?? 0) >= (doc.nodeEpoch ?? 0) ? [] : [`reservation ${id} knows a later epoch of its node`]),
    ...(nodes.length > 1 ? [`instance ${id} has nodes ${nodes.map((one) => one.id).join(', ')}`] : []),
  ];
}

/** During a claim at an inventory the instance has no node, and has one such claim at a time. */
const oneClaimAtATime: Invariant = {
  name: 'never: a node is claimed for an instance that has another',
  check: (changed, fleet) =>
    [...listConcernedReservations(changed)].flatMap((id) => {
      const claimed = fleet.countOf(NODES_BY_CLAIM, id);
      const nodes = claimed + fleet.countOf(NODES_BY_INSTANCE, id);
      return claimed > 0 && nodes > 1 ? [`${nodes} nodes are claimed or reserved for ${id}`] : [];
    }),
};

const allocatingHasItsOperation: Invariant = {
  name: 'never: a reservation that allocates or releases is worked on by nothing',
  check: (changed) =>
    reservationChanges(changed).flatMap(({ id, after }) => {
      if (after === undefined || (after.state !== 'allocating' && after.state !== 'releasing')) return [];
      return after.operation === undefined ? [`reservation ${id} is ${after.state} without an operation`] : [];
    }),
};

export const RESERVATION_INVARIANTS: readonly Invariant[] = [
  legalTransitions,
  nodeAndReservationAgree,
  oneClaimAtATime,
  allocatingHasItsOperation,
];

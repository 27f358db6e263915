// The documents of a reservation as its steps leave them.
import {
  idOf,
  put,
  type Change,
  type FleetReader,
  type Refusal,
  type Stored,
  type ChangeNote,
} from '../../fleet/index.ts';
import { shortenText } from '../../operations/index.ts';
import { listRequestedTraits } from '../matching/match.ts';
import { nodeIndexOf } from '../matching/node-index.ts';
import type { HardwareRequirements } from '../matching/requirements.ts';
import { requireNode } from '../builder/node-of.ts';
import { NODE, RESERVATION, type Reservation, type ReservationId } from '../model.ts';
import { reserve, type StoredNode } from '../nodes/transitions.ts';

export type StoredReservation = Stored<'reservation', Reservation>;

/** An instance has at most one reservation: the id of one is the other's. */
export function reservationId(instance: string): ReservationId {
  return idOf(RESERVATION, instance);
}

export interface TakenNode extends ChangeNote {
  readonly node: StoredNode;
  readonly reservation: Reservation;
  readonly managerEpoch: number;
  readonly requirements: HardwareRequirements;
}

/** One commit: the reservation is active, and the node is the instance's and the manager's, under its next epoch. */
export function takeNode(fleet: FleetReader, taken: TakenNode): Change[] {
  const { node, reservation, managerEpoch, requirements, by, nowMs } = taken;
  const { instance, manager } = reservation;
  const reserved = requireNode(reserve(node, { instance, manager, managerEpoch, by, nowMs }));
  const traits = listRequestedTraits(requirements, nodeIndexOf(fleet).hardwareOf(node));
  const { allocation, operation: _, ...rest } = reservation;
  const doc: Reservation = {
    ...rest,
    state: 'active',
    node: node.id,
    nodeEpoch: reserved.epoch,
    ...(traits.length > 0 && { traits }),
    ...(allocation !== undefined && { claimed: true }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  return [put(NODE, node.id, reserved), put(RESERVATION, reservationId(instance), doc)];
}

const MESSAGE_MAX = 1000;

interface BuildFailure extends ChangeNote {
  readonly reason: Pick<Refusal, 'code' | 'message'>;
  readonly stages?: Reservation['stages'];
}

/** It can be read for a day, and gives way to the next request for its instance. */
export function failReservation(doc: Reservation, { reason, stages, by, nowMs }: BuildFailure): Reservation {
  const { allocation: _, operation: __, ...rest } = doc;
  return {
    ...rest,
    state: 'error',
    reason: { code: reason.code, message: shortenText(reason.message, MESSAGE_MAX) },
    ...(stages !== undefined && { stages }),
    failedAtMs: nowMs,
    changedBy: by,
    changedAtMs: nowMs,
  };
}

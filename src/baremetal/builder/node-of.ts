// The node of an instance, and whether a manager acts on it.
import { idOf, type FleetReader, type Reason } from '../../fleet/index.ts';
import type { StoredItem } from '../../operations/index.ts';
import { isOnDuty } from '../managers/right.ts';
import { MANAGER, NODES_BY_INSTANCE, RESERVATION, type Node, type Reservation } from '../model.ts';
import { isRefused, type StoredNode, type TransitionResult } from '../nodes/transitions.ts';

export function nodeOfInstance(fleet: FleetReader, instance: string): StoredNode | undefined {
  for (const node of fleet.find(NODES_BY_INSTANCE, instance)) return node;
  return undefined;
}

/** The reservation that this build requested. Another one under the name of its instance, which was made by hand, is never its own. */
export function reservationOfBuild(fleet: FleetReader, { id, doc }: StoredItem): Reservation | undefined {
  const reservation = fleet.get(RESERVATION, idOf(RESERVATION, doc.target.id))?.doc;
  return reservation !== undefined && buildOf(reservation) === id ? reservation : undefined;
}

/** The item that requested it; undefined when it was made by hand. */
export function buildOf({ request }: Pick<Reservation, 'request'>): string | undefined {
  const { build } = request;
  return typeof build === 'string' ? build : undefined;
}

/** The node that was reserved for this build. */
export function nodeOfBuild(fleet: FleetReader, item: StoredItem): StoredNode | undefined {
  return reservationOfBuild(fleet, item) && nodeOfInstance(fleet, item.doc.target.id);
}

/** Why no manager acts on a node now; undefined while its manager does. `epoch`: of the node when the step was recorded. */
export function unmanagedReason(fleet: FleetReader, { id, doc }: StoredNode, epoch: number): Reason | undefined {
  const { manager = '', instance } = doc;
  const known = fleet.get(MANAGER, idOf(MANAGER, manager))?.doc;
  if (known !== undefined && isOnDuty(known)) return undefined;
  return { code: 'node-unmanaged', node: id, instance, manager, epoch };
}

/** Of a node that this very decision looked at: what is refused now is a fault of the program. */
export function requireNode(result: TransitionResult): Node {
  if (isRefused(result)) throw new Error(result.message);
  return result;
}

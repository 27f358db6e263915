// The node of an instance, and whether somebody is there who acts on it.
import { idOf, type FleetReader, type Reason } from '../../fleet/index.ts';
import { isOnDuty } from '../managers/right.ts';
import { MANAGER, NODES_BY_INSTANCE, type Node } from '../model.ts';
import { isRefused, type StoredNode, type TransitionResult } from '../nodes/transitions.ts';

export function nodeOfInstance(fleet: FleetReader, instance: string): StoredNode | undefined {
  for (const node of fleet.find(NODES_BY_INSTANCE, instance)) return node;
  return undefined;
}

/** Why nobody acts on a node now; undefined while its manager does. `epoch`: of the node when the step was recorded. */
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

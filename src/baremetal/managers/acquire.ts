// A manager acquires a batch of nodes: its own former ones first, then orphans, up to an even share. One commit; each node's epoch grows by one, so
// that whoever had it before is refused from then on. Nothing else of a node changes, and nothing is done to a machine.
import { idOf, mark, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { NODE } from '../model.ts';
import { acquire, isRefused, type AcquireNode } from '../nodes/transitions.ts';
import { ACQUIRE_MAX, type AcquireResponse } from './messages.ts';
import type { IsLeaseLive } from './leases.ts';
import { denyUnlessTenured, type ClaimedTenure } from './right.ts';
import { offerNodes, type ShareContext } from './share.ts';

export interface AcquireNodes extends ClaimedTenure, Omit<ShareContext, 'fleet'> {
  readonly max?: number | undefined;
  readonly isLeaseLive: IsLeaseLive;
  readonly by: string;
}

export function acquireNodes(fleet: FleetReader, command: AcquireNodes): Decision<AcquireResponse> {
  const { manager, leaseEpoch, max = ACQUIRE_MAX, isLeaseLive, by, nowMs } = command;
  const denied = denyUnlessTenured(fleet, command, isLeaseLive);
  if (denied !== undefined) return refuse(denied);
  const offer = offerNodes({ ...command, fleet }, manager, Math.min(max, ACQUIRE_MAX));
  const changes = offer.nodes.flatMap((id) => acquireNode(fleet, id, { manager, managerEpoch: leaseEpoch, by, nowMs }));
  return accept(changes, { acquired: changes.length, left: Math.max(0, offer.count - changes.length) });
}

function acquireNode(fleet: FleetReader, id: string, acquisition: AcquireNode): Change[] {
  const node = fleet.get(NODE, idOf(NODE, id));
  if (node === undefined) return [];
  const acquired = acquire(node, acquisition);
  if (isRefused(acquired) || acquired === node.doc) return [];
  mark(node.doc.manager === acquisition.manager ? 'node-taken-back' : 'node-taken-over');
  return [put(NODE, node.id, acquired)];
}

// Decides on requests to move instances, live or cold, with their ports and all their addresses. The instance keeps its host until the source has
// migrated it; from then on there is no way back, only forward. A delete wins over a move.
import { put, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { findHost, unknownHost } from '../../hosts/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import type { OperationId } from '../../operations/index.ts';
import { listDisconnectedPorts } from '../degraded/degraded.ts';
import { currentPathOf } from '../gates.ts';
import { listVacatedHosts, INSTANCE, type MoveState } from '../model.ts';
import { isFencedOrRemoved, type StoredInstance } from '../build/placement.ts';
import { notActive } from '../shelve-rebuild/shelve.ts';
import { beginInstanceOperation, resolveInstances, type OperationRequest } from '../instance-operation.ts';

export interface MoveInstances extends OperationRequest {
  readonly ids: readonly string[];
  readonly kind: MoveState['kind'];
  /** The only acceptable target; without it the scheduler chooses one for each. */
  readonly target?: string;
}

/** All of them start to move, or none. */
export function moveInstances(
  fleet: FleetReader,
  command: MoveInstances,
): Decision<{ readonly operation: OperationId }> {
  const { ids, kind, target, operation, by, nowMs } = command;
  const instances = resolveInstances(fleet, ids);
  if ('code' in instances) return refuse(instances);
  const problem =
    targetProblem(fleet, target) ?? instances.map((one) => moveProblem(fleet, one, target)).find((one) => one);
  if (problem !== undefined) return refuse(problem);
  const moving = instances.map(({ id, doc }) => {
    const details = { operation, kind, from: doc.host ?? '', ...(target !== undefined && { target }), tries: [] };
    // Drains that wait until it is connected keep waiting, whatever the result of this move.
    const movedOff = listDisconnectedPorts(fleet, { doc }).length === 0 ? [] : listVacatedHosts(doc);
    const move: MoveState = movedOff.length === 0 ? details : { ...details, movedOff };
    const path = currentPathOf(fleet, doc);
    return put(INSTANCE, id, { ...doc, state: 'moving', path, move, changedBy: by, changedAtMs: nowMs });
  });
  const began = beginInstanceOperation(fleet, instances, command, {
    kind: 'instance-move',
    title: (what) => `${kind} move of ${what}`,
    step: 'schedule',
  });
  return accept([...moving, ...began], { operation });
}

function targetProblem(fleet: FleetReader, target: string | undefined): Refusal | undefined {
  if (target === undefined) return undefined;
  const host = findHost(fleet, target);
  return host === undefined || host.doc.state === 'removed' ? { ...unknownHost(target), field: '/host' } : undefined;
}

function moveProblem(fleet: FleetReader, instance: StoredInstance, target: string | undefined): Refusal | undefined {
  const { host = '', state } = instance.doc;
  if (state !== 'active') return notActive(instance, 'moved');
  if (host === target) return sameHost(instance.id, host);
  return isFencedOrRemoved(fleet, host) ? sourceLost(fleet, instance.id, host) : undefined;
}

function sameHost(id: string, host: string): Refusal {
  const message = `Instance "${id}" is on host "${host}" already. Name another host, or none.`;
  return { kind: 'conflict', code: 'same-host', message, field: '/host', facts: { instance: id, host } };
}

function sourceLost(fleet: FleetReader, id: string, host: string): Refusal {
  const doc = findHost(fleet, host)?.doc;
  const isForcedDown = doc !== undefined && doc.state !== 'removed';
  const lost = isForcedDown ? 'is forced down' : 'was removed';
  const back = isForcedDown ? `; if the host is on after all, say so with "muster hosts clear-force-down ${host}"` : '';
  const message = `Host "${host}" ${lost}: instance "${id}" cannot be moved from there. Build it elsewhere with "muster instances rebuild ${id}"${back}.`;
  return { kind: 'conflict', code: 'source-lost', message, facts: { instance: id, host } };
}

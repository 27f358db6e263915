// Moving instances, live or cold, with their ports and all their addresses. The instance keeps its host until the source has
// handed it over; from then on there is no way back, only forward. A delete wins over a move.
import { idOf, put, type FleetReader, type Refusal } from '../fleet/index.ts';
import { findHost, unknownHost } from '../hosts/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { newOperation, type OperationId } from '../operations/index.ts';
import { beingDeleted, unknownInstance } from './delete.ts';
import { pathAgain } from './gates.ts';
import { siteOfWork } from './instance-site.ts';
import { INSTANCE, type Move } from './model.ts';
import { isConfirmedGone, type StoredInstance } from './place.ts';
import { notActive } from './shelve.ts';

export interface MoveInstances {
  readonly ids: readonly string[];
  readonly kind: Move['kind'];
  /** Only this host will do; without it the scheduler finds one for each. */
  readonly target?: string;
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

/** All of them begin to move, or none. */
export function moveInstances(
  fleet: FleetReader,
  command: MoveInstances,
): Decision<{ readonly operation: OperationId }> {
  const { ids, kind, target, operation, by, why, nowMs, deadlineMs } = command;
  const instances = instancesNamed(fleet, ids);
  if ('code' in instances) return refuse(instances);
  const problem =
    targetProblem(fleet, target) ?? instances.map((one) => moveProblem(fleet, one, target)).find((one) => one);
  if (problem !== undefined) return refuse(problem);
  const moving = instances.map(({ id, doc }) => {
    const move: Move = { operation, kind, from: doc.host ?? '', ...(target !== undefined && { target }), tries: [] };
    const path = pathAgain(fleet, doc);
    return put(INSTANCE, id, { ...doc, state: 'moving', path, move, changedBy: by, changedAtMs: nowMs });
  });
  const began = newOperation({
    id: operation,
    kind: 'instance-move',
    title: `${kind} move of ${ids.length === 1 ? `instance ${ids[0]}` : `${ids.length} instances`}`,
    by,
    ...(why !== undefined && { why }),
    ...siteOfWork(fleet, instances),
    nowMs,
    deadlineMs,
    items: ids.map((id) => ({ key: id, target: { kind: INSTANCE.name, id }, step: 'schedule' })),
  });
  return accept([...moving, ...began], { operation });
}

/** The instances of a request, each named once and none of them on its way out; or what is wrong with the names. */
export function instancesNamed(fleet: FleetReader, ids: readonly string[]): readonly StoredInstance[] | Refusal {
  const twice = ids.find((id, nth) => ids.indexOf(id) !== nth);
  if (twice !== undefined) return namedTwice(twice);
  const found: StoredInstance[] = [];
  for (const id of ids) {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
    if (instance === undefined) return unknownInstance(id);
    if (instance.doc.state === 'deleting') return beingDeleted(id);
    found.push(instance);
  }
  return found;
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
  return isConfirmedGone(fleet, host) ? sourceGone(instance.id, host) : undefined;
}

function namedTwice(id: string): Refusal {
  const message = `Instance "${id}" is named more than once. Name each instance once.`;
  return { kind: 'invalid', code: 'duplicate-instance', message, facts: { instance: id } };
}

function sameHost(id: string, host: string): Refusal {
  const message = `Instance "${id}" is on host "${host}" already. Name another host, or none.`;
  return { kind: 'conflict', code: 'same-host', message, field: '/host', facts: { instance: id, host } };
}

function sourceGone(id: string, host: string): Refusal {
  const message = `Host "${host}" is forced down or removed: instance "${id}" cannot be moved from there. Build it elsewhere with "muster instances rebuild ${id}".`;
  return { kind: 'conflict', code: 'source-lost', message, facts: { instance: id, host } };
}

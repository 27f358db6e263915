// Common parts of requests on existing instances: the instances that they name, and the operation that they start, with an item for each.
import { idOf, type Change, type FleetReader, type Refusal } from '../fleet/index.ts';
import { newOperation, type OperationId } from '../operations/index.ts';
import { commonProjectOf, commonSiteOf } from './scope.ts';
import { INSTANCE } from './model.ts';
import type { StoredInstance } from './build/placement.ts';

/** The caller, and the deadline. */
export interface OperationRequest {
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
  /** Instances stay in this site. */
  readonly within?: string | undefined;
  /** The host that a drain moves them off. */
  readonly drainedHost?: string | undefined;
}

/**
 * The instances of a request, each named once and, unless that is allowed, none of them being deleted; or what is wrong with the names.
 */
export function resolveInstances(
  fleet: FleetReader,
  ids: readonly string[],
  deleting: 'refused' | 'among-them' = 'refused',
): readonly StoredInstance[] | Refusal {
  const twice = ids.find((id, nth) => ids.indexOf(id) !== nth);
  if (twice !== undefined) return duplicateInstance(twice);
  const found: StoredInstance[] = [];
  for (const id of ids) {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
    const isLeaving = instance?.doc.state === 'deleting' && deleting === 'among-them';
    const named = isLeaving ? requireOnHosts(instance) : resolveInstance(fleet, id);
    if ('code' in named) return named;
    found.push(named);
  }
  return found;
}

export function resolveInstance(fleet: FleetReader, id: string): StoredInstance | Refusal {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
  if (instance === undefined) return unknownInstance(id);
  return instance.doc.state === 'deleting' ? denyWhileDeleting(id) : requireOnHosts(instance);
}

/** The caller has seen to it that another builder's instances do not come here. */
function requireOnHosts(instance: StoredInstance): StoredInstance {
  const { builder } = instance.doc;
  if (builder !== undefined) throw new Error(`instance "${instance.id}" is not on a host: "${builder}" built it`);
  return instance;
}

interface OperationDescription {
  readonly kind: string;
  /** In the operation's summary: `instance web`, `3 instances`. */
  readonly title: (what: string) => string;
  /** The first step of each item. */
  readonly step: string;
}

export function beginInstanceOperation(
  fleet: FleetReader,
  instances: readonly StoredInstance[],
  { operation, by, why, nowMs, deadlineMs, within, drainedHost }: OperationRequest,
  { kind, title, step }: OperationDescription,
): Change[] {
  const [first] = instances;
  return newOperation({
    id: operation,
    kind,
    title: title(instances.length === 1 ? `instance ${first?.id}` : `${instances.length} instances`),
    by,
    ...(why !== undefined && { why }),
    ...commonSiteOf(fleet, instances),
    ...commonProjectOf(instances),
    within,
    nowMs,
    deadlineMs,
    items: instances.map(({ id }) => ({ key: id, target: { kind: INSTANCE.name, id }, drainedHost, step })),
  });
}

function unknownInstance(id: string): Refusal {
  const message = `There is no instance "${id}". List them with "muster instances list".`;
  return { kind: 'not-found', code: 'unknown-instance', message, facts: { instance: id } };
}

function duplicateInstance(id: string): Refusal {
  const message = `Instance "${id}" is named more than once. Name each instance once.`;
  return { kind: 'invalid', code: 'duplicate-instance', message, facts: { instance: id } };
}

function denyWhileDeleting(id: string): Refusal {
  const message = `Instance "${id}" is being deleted already. "muster operations list" shows how far it is.`;
  return { kind: 'conflict', code: 'being-deleted', message, facts: { instance: id } };
}

// Rebuilds instances elsewhere when their host is certainly dead, with the same ports and all their addresses. The copy at the old host is held from the
// start: should the host return, nothing of that name is placed there, and its copy must not be destroyed before the successor runs. A rebuild that finds
// no host leaves the instance as it was.
import { put, remove, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { markUntrustedAfterRebuild, findHost } from '../../hosts/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { CLAIM, claimId } from '../../network/index.ts';
import { OPEN_ITEMS_BY_TARGET, targetKey, type OperationId, type OperationKind } from '../../operations/index.ts';
import { instanceBuild, planInState } from '../build/operation.ts';
import { beginSweep, beginHold } from '../delete/clean.ts';
import { currentPathOf } from '../gates.ts';
import { UNUSED, type InstanceUses } from '../instance-use.ts';
import { INSTANCE, type InstanceState } from '../model.ts';
import { isFencedOrRemoved, type StoredInstance } from '../build/placement.ts';
import { resetPlacement } from './shelve.ts';
import { beginInstanceOperation, resolveInstances, type OperationRequest } from '../instance-operation.ts';

export interface RebuildInstances extends OperationRequest {
  readonly ids: readonly string[];
}

/** `error`: a rebuild that found no host may be tried again. */
const REBUILDABLE_STATES: readonly InstanceState[] = ['active', 'error'];

/** All of them, or none. */
export function rebuildInstances(
  fleet: FleetReader,
  command: RebuildInstances,
  uses: InstanceUses = UNUSED,
): Decision<{ readonly operation: OperationId }> {
  const { ids, operation } = command;
  const instances = resolveInstances(fleet, ids);
  if ('code' in instances) return refuse(instances);
  const problem = instances.map((one) => rebuildProblem(fleet, one)).find((one) => one !== undefined);
  if (problem !== undefined) return refuse(problem);
  const began = beginInstanceOperation(fleet, instances, command, {
    kind: instanceRebuild.name,
    title: (what) => `rebuild ${what} elsewhere`,
    step: 'schedule',
  });
  const marks = hostsOf(instances).flatMap((host) => markUntrustedAfterRebuild(fleet, host, command));
  const lost = instances.flatMap((one) => uses.recordLoss(fleet, one, command));
  const rebuilding = instances.flatMap((one) => beginRebuild(fleet, one, command));
  return accept([...rebuilding, ...marks, ...began, ...lost], { operation });
}

function hostsOf(instances: readonly StoredInstance[]): string[] {
  return [...new Set(instances.flatMap(({ doc }) => doc.host ?? []))];
}

function beginRebuild(
  fleet: FleetReader,
  { id, doc }: StoredInstance,
  { operation, by, nowMs }: RebuildInstances,
): Change[] {
  const { host } = doc;
  const path = currentPathOf(fleet, doc);
  const rebuiltFrom = doc.state === 'active' ? 'active' : 'error';
  const swept = host !== undefined && findHost(fleet, host) !== undefined;
  return [
    put(INSTANCE, id, {
      ...resetPlacement(doc),
      state: 'rebuilding',
      rebuiltFrom,
      path,
      changedBy: by,
      changedAtMs: nowMs,
    }),
    ...(swept ? beginHold({ instance: id, host, key: `${operation}.${id}`, nowMs }) : []),
    ...(doc.state === 'moving' ? cleanMoveEnds(fleet, { id, doc }, `${operation}.${id}.move`, nowMs) : []),
  ];
}

/** The copy of an interrupted move at its other end: its target, or its source. */
function cleanMoveEnds(
  fleet: FleetReader,
  { id, doc }: Pick<StoredInstance, 'id' | 'doc'>,
  key: string,
  nowMs: number,
): Change[] {
  const claim = fleet.get(CLAIM, claimId(id, 'move'));
  const other = claim?.doc.host ?? doc.move?.from;
  const swept = other !== undefined && other !== doc.host && findHost(fleet, other) !== undefined;
  // The target may have the only copy. The source has migrated it away.
  return [
    ...(claim === undefined ? [] : [remove(CLAIM, claim.id)]),
    ...(swept && claim === undefined ? beginSweep(id, other, key, nowMs) : []),
    ...(swept && claim !== undefined ? beginHold({ instance: id, host: other, key, nowMs, home: doc.host }) : []),
  ];
}

/** A move that passed its deadline between two hosts can be retried, and leaves nothing to do otherwise. */
function isMoveStalled(fleet: FleetReader, { id, doc }: StoredInstance): boolean {
  if (doc.state !== 'moving') return false;
  const open = [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, id))];
  return !open.some((item) => item.doc.operation === doc.move?.operation);
}

function rebuildProblem(fleet: FleetReader, instance: StoredInstance): Refusal | undefined {
  const { state, wasActive, host } = instance.doc;
  const rebuildable = REBUILDABLE_STATES.includes(state) || isMoveStalled(fleet, instance);
  if (!rebuildable || !wasActive) return notRebuildable(instance);
  return host === undefined || isFencedOrRemoved(fleet, host) ? undefined : notConfirmedDown(instance.id, host);
}

function notRebuildable({ id, doc }: StoredInstance): Refusal {
  const { state, wasActive } = doc;
  const message = `Instance "${id}" cannot be rebuilt: ${state === 'error' ? NEVER_RAN : notRebuildableNow(id, state)}`;
  return { kind: 'conflict', code: 'not-rebuildable', message, facts: { instance: id, state, wasActive } };
}

const NEVER_RAN = 'it never ran, so there is nothing to bring back. Delete it, and create it again.';

function notRebuildableNow(id: string, state: InstanceState): string {
  if (state === 'shelved')
    return `it is shelved and has no host. Build it again with "muster instances unshelve ${id}".`;
  return `it is ${state}, and only active instances and those in error can be. Wait until its operation has ended; "muster instances show ${id}" shows how far it is.`;
}

function notConfirmedDown(id: string, host: string): Refusal {
  const message = `Host "${host}" may still run instance "${id}": it is not confirmed that it is down. If it is off, say so with "muster hosts force-down ${host} --reason <why>"; if it is not, move the instance with "muster instances move ${id}".`;
  return { kind: 'conflict', code: 'host-not-confirmed-down', message, facts: { instance: id, host } };
}

/** The steps of a build, from the placement on. The claim at the dead host is replaced when it gets a new one. */
export const instanceRebuild: OperationKind = {
  ...instanceBuild,
  name: 'instance-rebuild',
  steps: ['schedule', 'bind', 'build', 'plug', 'unbind'],
  cancel: {
    kind: 'none',
    because: 'the instance may be without a host meanwhile; a rebuild that finds none ends by itself',
  },
  retry: { kind: 'none', because: 'an instance that found no host keeps what it has; request a new rebuild' },
  plan: planInState('rebuilding'),
};

// Abandons instances whose host is removed by force: they record that, keep their ports and addresses, and can be rebuilt elsewhere. Open operations
// find the host removed, and end by themselves.
import { idOf, mark, remove, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost, type AbandonCommand } from '../../hosts/index.ts';
import { CLAIM, claimId, CLAIMS_BY_HOST } from '../../network/index.ts';
import { OPEN_ITEMS_BY_TARGET, OPERATION, targetKey } from '../../operations/index.ts';
import { beginSweep, beginHold } from './clean.ts';
import { detachFromHost } from '../build/failure.ts';
import { INSTANCE, INSTANCES_BY_HOST, type InstanceFault, type InstanceState } from '../model.ts';
import type { StoredInstance } from '../build/placement.ts';

/** The others are being built, shelved or deleted: those operations handle a removed host. */
const ABANDONABLE_STATES: readonly InstanceState[] = ['active', 'moving', 'error'];

export function abandonInstances(fleet: FleetReader, host: string, how: AbandonCommand): Change[] {
  const here = [...fleet.find(INSTANCES_BY_HOST, host)];
  return [
    ...here
      .filter((instance) => ABANDONABLE_STATES.includes(instance.doc.state) || isShelvingStalled(fleet, instance))
      .flatMap((instance) => abandonInstance(fleet, instance, host, how)),
    // Instances that were moving there have no claim there any more: a move that continues finds that out.
    ...[...fleet.find(CLAIMS_BY_HOST, host)].flatMap(({ id, doc }) => (doc.role === 'move' ? [remove(CLAIM, id)] : [])),
  ];
}

/** Its shelve passed its deadline: nothing continues it without a new request. */
function isShelvingStalled(fleet: FleetReader, { id, doc }: StoredInstance): boolean {
  if (doc.state !== 'shelving') return false;
  const open = [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, id))];
  return !open.some(
    (item) => fleet.get(OPERATION, idOf(OPERATION, item.doc.operation))?.doc.kind === 'instance-shelve',
  );
}

function abandonInstance(
  fleet: FleetReader,
  instance: StoredInstance,
  host: string,
  { by, nowMs }: AbandonCommand,
): Change[] {
  mark('instance-abandoned');
  const { id } = instance;
  const { move: _, ...rest } = instance.doc;
  const message = `Host ${host} was removed from the fleet while the instance was there. Make sure that host is off, then build it elsewhere with "muster instances rebuild ${id}", or delete it.`;
  const fault: InstanceFault = { code: 'host-removed', message, atMs: nowMs };
  return [
    ...detachFromHost(fleet, id, { ...rest, state: 'error', fault }, { by, nowMs }),
    ...cleanMoveEnds(fleet, instance, nowMs),
  ];
}

/**
 * The target may have a copy by now, which may be the only one: it is held, and nothing of the name is placed there. The source has migrated
 * it away.
 */
function cleanMoveEnds(fleet: FleetReader, { id, doc, revision }: StoredInstance, nowMs: number): Change[] {
  const claim = fleet.get(CLAIM, claimId(id, 'move'));
  const other = claim?.doc.host ?? (doc.state === 'moving' ? doc.move?.from : undefined);
  const swept = other !== undefined && other !== doc.host && findHost(fleet, other) !== undefined;
  const key = `${id}.left.${revision}`;
  return [
    ...(claim === undefined ? [] : [remove(CLAIM, claim.id)]),
    ...(swept && claim === undefined ? beginSweep(id, other, key, nowMs) : []),
    ...(swept && claim !== undefined ? beginHold({ instance: id, host: other, key, nowMs, home: doc.host }) : []),
  ];
}

// Limits how fast instances leave a host: no more of a server group at once than its limit, a backoff after a failed move or rebuild, and which hosts
// are planned again after a change of theirs.
import { idOf, mark, type AppliedChange, type FleetReader, type Reason } from '../../fleet/index.ts';
import { findHost, type PlannedEvacuation } from '../../hosts/index.ts';
import { NETWORK_EVENT, PORT, type NetworkEvent, type Port } from '../../network/index.ts';
import { ITEM, shortenText, type Item } from '../../operations/index.ts';
import { CLEAN_ITEMS_BY_INSTANCE, isHold } from '../delete/clean.ts';
import {
  GROUP,
  listVacatedHosts,
  INSTANCE,
  INSTANCES_BY_GROUP,
  RELOCATING_INSTANCES_BY_GROUP,
  isRelocating,
  type Instance,
} from '../model.ts';
import type { StoredInstance } from '../build/placement.ts';

const BACKOFF_MIN_MS = 10_000;
const BACKOFF_MAX_MS = 10 * 60_000;
const MOVE_FAILED = 'move-failed';
const REBUILD_FAILED = 'rebuild-failed';
/** A drain stores it with its item. */
const STORED_MESSAGE_MAX = 300;

/**
 * A failed move or rebuild off a leaving host is tried again after a backoff as long as the host was leaving by then: each is about twice the one
 * before, and nothing has to be stored. A rebuild has a backoff of its own, from the force-down of the host: it does not wait because a move failed
 * before.
 */
export function backoffAfterFailure(
  fleet: FleetReader,
  { id, doc }: StoredInstance,
  host: string,
  nowMs: number,
): Reason | undefined {
  const { leaving, forcedDown } = findHost(fleet, host)?.doc ?? {};
  const { fault, move } = doc;
  const ofMove = forcedDown === undefined;
  if (leaving === undefined || fault === undefined || (move !== undefined) !== ofMove) return undefined;
  const sinceMs = Math.max(leaving.atMs, forcedDown?.atMs ?? 0);
  if (fault.atMs < sinceMs) return undefined;
  const pauseMs = Math.min(BACKOFF_MAX_MS, Math.max(BACKOFF_MIN_MS, fault.atMs - sinceMs));
  const untilMs = fault.atMs + pauseMs;
  if (nowMs >= untilMs) return undefined;
  if (!ofMove) mark('rebuild-backoff');
  const code = ofMove ? MOVE_FAILED : REBUILD_FAILED;
  const message = shortenText(fault.message, STORED_MESSAGE_MAX);
  return { code, instance: id, fault: fault.code, message, untilMs };
}

/** The same with all that was found then: its reader needs the last filter too, and that is not stored. */
export function explainBackoff({ doc: { fault } }: StoredInstance, reason: Reason): Reason {
  const isOfFault = (reason.code === MOVE_FAILED || reason.code === REBUILD_FAILED) && fault !== undefined;
  return isOfFault ? { ...reason, message: fault.message } : reason;
}

/** Those beyond the limit of their group wait. Open moves of a group count, whoever started them. */
export function limitByGroup(fleet: FleetReader, planned: readonly PlannedEvacuation[]): readonly PlannedEvacuation[] {
  const started = new Map<string, number>();
  return planned.map((one) => {
    if (one.evacuation.kind !== 'move' && one.evacuation.kind !== 'rebuild') return one;
    const group = fleet.get(INSTANCE, idOf(INSTANCE, one.tenant.id))?.doc.place.group;
    const limit = group === undefined ? undefined : limitOf(fleet, group);
    if (group === undefined || limit === undefined) return one;
    const moving = fleet.countOf(RELOCATING_INSTANCES_BY_GROUP, group) + (started.get(group) ?? 0);
    if (moving < limit) {
      started.set(group, (started.get(group) ?? 0) + 1);
      return one;
    }
    const reason = { code: 'group-limit', instance: one.tenant.id, group, limit };
    return { ...one, evacuation: { kind: 'wait', reason } };
  });
}

function limitOf(fleet: FleetReader, group: string): number | undefined {
  return fleet.get(GROUP, idOf(GROUP, group))?.doc.movesAtOnce;
}

/**
 * The host that it left or arrived on, and those with a copy of it; those of its group, where others waited for it; and a host that need not hold a
 * copy any more.
 */
export function findAffectedHosts(fleet: FleetReader, { kind, before, after }: AppliedChange): readonly string[] {
  if (kind === PORT.name || kind === NETWORK_EVENT.name) {
    return hostsWaitingForPort(fleet, (after ?? before)?.doc as Port | NetworkEvent | undefined);
  }
  if (before === undefined) return [];
  if (kind === ITEM.name) return listReleasedHolds(before.doc as Item, after?.doc as Item | undefined);
  if (kind !== INSTANCE.name) return [];
  const [was, is] = [before.doc as Instance, after?.doc as Instance | undefined];
  const settled = isRelocating(was.state) && !(is !== undefined && isRelocating(is.state));
  if (!settled && was.host === is?.host && was.state === is?.state) return [];
  const hosts = [was.host, was.move?.from, ...listVacatedHosts(was), is?.host].filter((host) => host !== undefined);
  if (!settled) return hosts;
  const holding = [...fleet.find(CLEAN_ITEMS_BY_INSTANCE, before.id)].flatMap(({ doc }) => doc.host ?? []);
  return [...hosts, ...holding, ...hostsOfGroup(fleet, was.place.group)];
}

function listReleasedHolds(was: Item, is: Item | undefined): readonly string[] {
  return isHold(was) && was.host !== undefined && is?.step !== was.step ? [was.host] : [];
}

/** The hosts whose drains wait until the instance of a port is connected at its new host. */
function hostsWaitingForPort(fleet: FleetReader, doc: Port | NetworkEvent | undefined): readonly string[] {
  if (doc?.instance === undefined) return [];
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, doc.instance))?.doc;
  return instance === undefined ? [] : listVacatedHosts(instance);
}

/** Only where a limit made others wait: it costs a scan of the group. */
function hostsOfGroup(fleet: FleetReader, group: string | undefined): string[] {
  if (group === undefined || limitOf(fleet, group) === undefined) return [];
  const hosts = [...fleet.find(INSTANCES_BY_GROUP, group)].flatMap(({ doc }) => doc.host ?? []);
  return [...new Set(hosts)];
}

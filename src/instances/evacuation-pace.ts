// How fast instances leave a host: no more of a server group at once than it bears, a pause after a move that failed, and which
// hosts are looked at again when something of theirs has gone.
import { idOf, type Applied, type FleetReader, type Reason } from '../fleet/index.ts';
import { findHost, type Evacuating } from '../hosts/index.ts';
import { GROUP, INSTANCE, INSTANCES_BY_GROUP, INSTANCES_MOVING_BY_GROUP, isUnderWay, type Instance } from './model.ts';
import type { StoredInstance } from './place.ts';

const PAUSE_MIN_MS = 10_000;
const PAUSE_MAX_MS = 10 * 60_000;

/**
 * A move off a leaving host that failed is tried again after a pause as long as the host was leaving by then: each pause is
 * about twice the one before, and nothing has to be remembered for it.
 */
export function pauseAfterFailure(
  fleet: FleetReader,
  { id, doc }: StoredInstance,
  host: string,
  nowMs: number,
): Reason | undefined {
  const leaving = findHost(fleet, host)?.doc.leaving;
  const { fault, move } = doc;
  if (leaving === undefined || fault === undefined || move === undefined || fault.atMs < leaving.atMs) return undefined;
  const pauseMs = Math.min(PAUSE_MAX_MS, Math.max(PAUSE_MIN_MS, fault.atMs - leaving.atMs));
  const untilMs = fault.atMs + pauseMs;
  if (nowMs >= untilMs) return undefined;
  return { code: 'move-failed', instance: id, fault: fault.code, message: fault.message.slice(0, 300), untilMs };
}

/** Those beyond what their group bears wait. What is under way of a group counts, whoever began it. */
export function withinGroups(fleet: FleetReader, planned: readonly Evacuating[]): readonly Evacuating[] {
  const begun = new Map<string, number>();
  return planned.map((one) => {
    if (one.evacuation.kind !== 'move' && one.evacuation.kind !== 'rebuild') return one;
    const group = fleet.get(INSTANCE, idOf(INSTANCE, one.tenant.id))?.doc.place.group;
    const limit = group === undefined ? undefined : limitOf(fleet, group);
    if (group === undefined || limit === undefined) return one;
    const moving = fleet.countOf(INSTANCES_MOVING_BY_GROUP, group) + (begun.get(group) ?? 0);
    if (moving < limit) {
      begun.set(group, (begun.get(group) ?? 0) + 1);
      return one;
    }
    const reason = { code: 'group-limit', instance: one.tenant.id, group, limit };
    return { ...one, evacuation: { kind: 'wait', reason } };
  });
}

function limitOf(fleet: FleetReader, group: string): number | undefined {
  return fleet.get(GROUP, idOf(GROUP, group))?.doc.movesAtOnce;
}

/** The host that it left, or that it has come to rest on; and those of its group, where others waited for it. */
export function touchedHosts(fleet: FleetReader, { kind, before, after }: Applied): readonly string[] {
  if (kind !== INSTANCE.name || before === undefined) return [];
  const [was, is] = [before.doc as Instance, after?.doc as Instance | undefined];
  const settled = isUnderWay(was.state) && !(is !== undefined && isUnderWay(is.state));
  if (!settled && was.host === is?.host && was.state === is?.state) return [];
  const hosts = [was.host, was.move?.from, is?.host].filter((host) => host !== undefined);
  return settled ? [...hosts, ...hostsOfGroup(fleet, was.place.group)] : hosts;
}

/** Only where a limit made somebody wait: it costs a look at the whole group. */
function hostsOfGroup(fleet: FleetReader, group: string | undefined): string[] {
  if (group === undefined || limitOf(fleet, group) === undefined) return [];
  const hosts = [...fleet.find(INSTANCES_BY_GROUP, group)].flatMap(({ doc }) => doc.host ?? []);
  return [...new Set(hosts)];
}

// The hosts that an instance must not be placed on now, and why: a report lists the reason of each.
import { idOf, mark, type FleetReader } from '../../fleet/index.ts';
import { OPERATION } from '../../operations/index.ts';
import type { Exclusion, ScheduleRequest } from '../../scheduler/index.ts';
import { CLEAN_ITEMS_BY_INSTANCE } from '../delete/clean.ts';
import type { Attempt } from '../model.ts';

export interface ExclusionInput {
  readonly id: string;
  readonly attempts: readonly Attempt[];
  readonly role: 'home' | 'move';
  /** Hosts that it leaves. */
  readonly leavingHosts: readonly string[];
}

const NONE: Pick<ScheduleRequest, 'excludedHosts' | 'exclusionReasons'> = {};

/** Allocates nothing when nothing is excluded, as with most requests. */
export function exclusionsOf(
  fleet: FleetReader,
  { id, attempts, role, leavingHosts }: ExclusionInput,
): Pick<ScheduleRequest, 'excludedHosts' | 'exclusionReasons'> {
  const toSweep = fleet.countOf(CLEAN_ITEMS_BY_INSTANCE, id);
  if (attempts.length === 0 && leavingHosts.length === 0 && toSweep === 0) return NONE;
  const why = new Map<string, Exclusion>();
  if (toSweep > 0) for (const host of hostsToSweep(fleet, id)) why.set(host, { because: 'to-be-swept' });
  for (const host of leavingHosts) why.set(host, { because: 'to-be-left' });
  // The fault there is the most useful reason.
  for (const { host, fault, excludes } of attempts) {
    if (fault === undefined || excludes !== 'host' || host === undefined) continue;
    why.set(host, { because: role === 'move' ? 'tried-in-move' : 'tried-in-build', fault });
  }
  return { excludedHosts: [...why.keys()], exclusionReasons: why };
}

/** Hosts with a stale copy of the same name that is still to be destroyed: a new copy there would be mistaken for it. */
function hostsToSweep(fleet: FleetReader, id: string): readonly string[] {
  return [...fleet.find(CLEAN_ITEMS_BY_INSTANCE, id)].flatMap(({ doc }) => {
    const kind = fleet.get(OPERATION, idOf(OPERATION, doc.operation))?.doc.kind;
    if (kind !== 'instance-clean' || doc.host === undefined) return [];
    mark('host-excluded-until-swept');
    return [doc.host];
  });
}

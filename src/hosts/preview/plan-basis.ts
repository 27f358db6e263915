// Decides whether a plan for leaving hosts still holds in its commit: nothing that lives on them may have changed since planning began. Other
// hosts are not compared: their free capacity changes all the time, and targets of instances are chosen when they move.
import {
  changesSince,
  newestCommit,
  type AppliedChange,
  type CommitChanges,
  type FleetReader,
} from '../../fleet/index.ts';
import type { Evacuator } from '../evacuator.ts';
import { HOST } from '../model.ts';

export interface PlanBasis {
  readonly since: CommitChanges | undefined;
  readonly hosts: ReadonlySet<string>;
  readonly evacuators: readonly Evacuator[];
}

/** To be taken before anything is planned. */
export function basisOf(fleet: FleetReader, evacuators: readonly Evacuator[], hosts: readonly string[]): PlanBasis {
  return { since: newestCommit(fleet), hosts: new Set(hosts), evacuators };
}

/** Costs O(changes since). Also false when too many changes, or too old ones, make that unknown. */
export function isPlanBasisUnchanged(fleet: FleetReader, { since, hosts, evacuators }: PlanBasis): boolean {
  const changes = changesSince(fleet, since);
  if (changes === undefined) return false;
  const indexes = Map.groupBy(
    evacuators.flatMap(({ dependsOn }) => dependsOn),
    ({ kind }) => kind.name,
  );
  return !changes.some((change) => {
    const keysOf = (side: AppliedChange['after']): readonly string[] => {
      if (side === undefined) return [];
      if (change.kind === HOST.name) return [side.id];
      return indexes.get(change.kind)?.flatMap((index) => index.keysOf(side.doc as never, side.id)) ?? [];
    };
    return [...keysOf(change.before), ...keysOf(change.after)].some((host) => hosts.has(host));
  });
}

// Whether a plan for leaving hosts still holds in the commit that it is for: nothing of what lives on them was changed since it was begun.
// Other hosts are not looked at: how much room they have changes all the time, and where instances go is decided when they go.
import {
  changesSince,
  newestCommit,
  type AppliedChange,
  type AppliedCommit,
  type FleetReader,
} from '../../fleet/index.ts';
import type { Evacuator } from '../evacuator.ts';
import { HOST } from '../model.ts';

export interface PlanBasis {
  readonly since: AppliedCommit | undefined;
  readonly hosts: ReadonlySet<string>;
  readonly evacuators: readonly Evacuator[];
}

/** To be taken before anything is planned. */
export function basisOf(fleet: FleetReader, evacuators: readonly Evacuator[], hosts: readonly string[]): PlanBasis {
  return { since: newestCommit(fleet), hosts: new Set(hosts), evacuators };
}

/** Costs what was changed since. False too when that is so much, or so long ago, that nobody knows. */
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

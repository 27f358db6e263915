// What leaves hosts first is begun in the commit that tombstones them, for all of them together: so a start does what its preview
// showed, and not what comes of looking at one host after the other. What finds no room now is begun by the drains.
import { onTrial, type Change, type FleetReader } from '../fleet/index.ts';
import type { OperationId } from '../operations/index.ts';
import type { Evacuator } from './evacuator.ts';
import { targetOf } from './preview-plan.ts';
import { MOVE_DEADLINE_MS } from './scale-in-drain.ts';

interface Leaving {
  /** All that are named, also those that leave already: a preview plans for all of them. */
  readonly hosts: readonly string[];
  /** What tombstones them. */
  readonly changes: readonly Change[];
  readonly operation: OperationId;
  readonly by: string;
  readonly nowMs: number;
}

export function firstToLeave(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { hosts, changes, operation, by, nowMs }: Leaving,
): Change[] {
  const what = hosts.length === 1 ? `host ${hosts[0]}` : `${hosts.length} hosts`;
  const how = {
    operation: `hand-over-${operation}` as OperationId,
    by,
    why: `scale-in of ${what}`,
    nowMs,
    deadlineMs: MOVE_DEADLINE_MS,
  };
  return onTrial(fleet, (trial) => {
    trial.add([...changes]);
    return evacuators
      .filter((one) => one.leavesFirst === true)
      .flatMap((evacuator) => {
        const leavers = hosts.map((host) => ({ host, tenants: evacuator.inventory(trial, host) }));
        const going = evacuator.plan(trial, leavers, nowMs).filter((one) => targetOf(one) !== undefined);
        if (going.length === 0) return [];
        const begun = evacuator.begin(trial, going, how);
        // The drains say why.
        return 'code' in begun ? [] : begun.changes;
      });
  });
}

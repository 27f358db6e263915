// Planning for hosts that leave together, as if they were leaving already.
import { onTrial, put, type FleetReader } from '../fleet/index.ts';
import type { StoredHost } from './decide.ts';
import { allSteps, planOn, type Evacuating, type Evacuator, type PlanHow } from './evacuator.ts';
import { HOST, isTombstoned } from './model.ts';

export interface PlannedBy {
  readonly evacuator: Evacuator;
  readonly evacuating: readonly Evacuating[];
}

interface PlanTogether extends PlanHow {
  readonly hosts: readonly StoredHost[];
  /** The site that instances of a host must stay in; they may go anywhere when it says none. */
  readonly within: (host: StoredHost) => string | undefined;
  /** All that lives on them, unless only what is not on its way yet is asked for. */
  readonly of?: 'inventory' | 'staying';
}

/** As a start would plan it: with all of them tombstoned. Costs what lives on them. */
export function planTogether(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { hosts, within, of = 'inventory', ...how }: PlanTogether,
): PlannedBy[] {
  return onTrial(fleet, (trial) => {
    const staying = hosts.filter(({ doc }) => !isTombstoned(doc));
    trial.add(staying.map(({ id, doc }) => put(HOST, id, { ...doc, state: 'draining' })));
    return evacuators.map((evacuator) => {
      const listed = of === 'staying' ? (evacuator.staying ?? evacuator.inventory) : evacuator.inventory;
      const leavers = hosts.map((host) => ({
        host: host.id,
        tenants: [...listed(trial, host.id)],
        within: within(host),
      }));
      const evacuating = onTrial(trial, (own) => allSteps(planOn(evacuator, own, leavers, how)));
      return { evacuator, evacuating };
    });
  });
}

/** The host that it would be on afterwards; undefined for what stays or ends. */
export function targetOf({ evacuation }: Evacuating): string | undefined {
  return evacuation.kind === 'move' || evacuation.kind === 'rebuild' ? evacuation.to : undefined;
}

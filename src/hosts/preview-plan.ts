// Planning for hosts that leave together, as if they were leaving already.
import { onTrial, put, type FleetReader } from '../fleet/index.ts';
import type { StoredHost } from './decide.ts';
import type { Evacuating, Evacuator } from './evacuator.ts';
import { HOST, isTombstoned } from './model.ts';

export interface PlannedBy {
  readonly evacuator: Evacuator;
  readonly evacuating: readonly Evacuating[];
}

/** As a start would plan it: with all of them tombstoned. Costs what lives on them. */
export function planTogether(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { hosts, nowMs }: { readonly hosts: readonly StoredHost[]; readonly nowMs: number },
): PlannedBy[] {
  return onTrial(fleet, (trial) => {
    const staying = hosts.filter(({ doc }) => !isTombstoned(doc));
    trial.add(staying.map(({ id, doc }) => put(HOST, id, { ...doc, state: 'draining' })));
    return evacuators.map((evacuator) => {
      const leavers = hosts.map(({ id }) => ({ host: id, tenants: evacuator.inventory(trial, id) }));
      return { evacuator, evacuating: evacuator.plan(trial, leavers, nowMs) };
    });
  });
}

/** The host that it would be on afterwards; undefined for what stays or ends. */
export function targetOf({ evacuation }: Evacuating): string | undefined {
  return evacuation.kind === 'move' || evacuation.kind === 'rebuild' ? evacuation.to : undefined;
}

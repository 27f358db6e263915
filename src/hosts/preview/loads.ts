// The load that the remaining hosts would have to carry. Only hosts that receive something are counted, and only those that receive the most
// are listed: it must never list or scan the whole fleet.
import type { FleetReader } from '../../fleet/index.ts';
import { targetOf, type EvacuatorPlan } from './batch-plan.ts';

/** As many as a person reads. */
const LOADS_MAX = 20;

export interface Loads {
  /** The hosts that would receive the most, sorted by amount. */
  readonly busiest: readonly HostLoad[];
  /** How many hosts would receive something, listed or not. */
  readonly hosts: number;
}

/** Tenants by evacuator: `{ designations: 2, instances: 11 }`. */
type ByKind = Readonly<Record<string, number>>;

export interface HostLoad {
  readonly host: string;
  readonly before: ByKind;
  readonly after: ByKind;
}

export function loadsOf(fleet: FleetReader, planned: readonly EvacuatorPlan[]): Loads {
  const arriving = new Map<string, Map<string, number>>();
  for (const { evacuator, evacuating } of planned) {
    for (const to of evacuating.map(targetOf)) {
      if (to !== undefined) count(arriving, to, evacuator.name);
    }
  }
  const most = [...arriving]
    .map(([host, kinds]) => ({ host, kinds, sum: [...kinds.values()].reduce((sum, one) => sum + one, 0) }))
    .sort((one, other) => other.sum - one.sum || (one.host < other.host ? -1 : 1))
    .slice(0, LOADS_MAX);
  const evacuators = planned.map(({ evacuator }) => evacuator);
  const busiest = most.map(({ host, kinds }): HostLoad => {
    const now = evacuators.map(({ name, inventory }) => [name, inventory(fleet, host).length] as const);
    return {
      host,
      before: Object.fromEntries(now),
      after: Object.fromEntries(now.map(([name, here]) => [name, here + (kinds.get(name) ?? 0)])),
    };
  });
  return { busiest, hosts: arriving.size };
}

function count(table: Map<string, Map<string, number>>, host: string, kind: string): void {
  let row = table.get(host);
  if (row === undefined) table.set(host, (row = new Map<string, number>()));
  row.set(kind, (row.get(kind) ?? 0) + 1);
}

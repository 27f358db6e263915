// The capacity of the fleet, and of one manager's row: read from counters, never summed over managers. Every manager shows the whole inventory as its
// total, since each of them can act on each node.
import { Type, type Static } from 'typebox';
import type { FleetReader } from '../../fleet/index.ts';
import { ALARMS_BY_CODE } from '../../alarms/index.ts';
import { BUCKETS, INVENTORY_UNREACHABLE } from '../model.ts';
import { NODE_COUNTERS, totalOf, type BucketCounts } from './counters.ts';

const Counts = Type.Object(
  Object.fromEntries(BUCKETS.map((bucket) => [bucket, Type.Integer()])) as Record<
    (typeof BUCKETS)[number],
    ReturnType<typeof Type.Integer>
  >,
);
const FIGURES = { total: Type.Integer({ description: 'the sum of the buckets' }), buckets: Counts };

/** Fields of a manager's row that say what there is to act on. */
export const MANAGER_CAPACITY_FIELDS = {
  total: Type.Integer({ description: 'nodes of the whole inventory, whoever acts on them' }),
  usedHere: Type.Integer({ description: 'nodes that this manager acts on' }),
  free: Type.Integer({ description: 'free nodes of the whole inventory' }),
  staleSinceMs: Type.Optional(
    Type.Integer({ description: 'an inventory cannot be reached: its nodes are counted as they were seen last' }),
  ),
};

export interface ManagerCapacity {
  readonly total: number;
  readonly usedHere: number;
  readonly free: number;
  readonly staleSinceMs?: number;
}

/** `site`: only nodes of that site count, for a caller that is bound to it. */
export function manageableCapacity(fleet: FleetReader, manager: string, site?: string): ManagerCapacity {
  const counters = fleet.projection(NODE_COUNTERS);
  const whole = counters.count({ site });
  const stale = findStaleSince(fleet);
  return {
    total: totalOf(whole),
    usedHere: totalOf(counters.countManaged(manager, site)),
    free: whole.free,
    ...(stale !== undefined && { staleSinceMs: stale.sinceMs }),
  };
}

/** Rows of an answer. A fleet has tens of classes; one with more is read class by class. */
const CLASSES_MAX = 1000;

export const CAPACITY_SCHEMA = Type.Object({
  ...FIGURES,
  stale: Type.Optional(
    Type.Object(
      { inventories: Type.Array(Type.String()), sinceMs: Type.Integer() },
      { description: 'inventories that cannot be reached: their nodes are counted as they were seen last' },
    ),
  ),
  sites: Type.Array(Type.Object({ site: Type.Optional(Type.String()), ...FIGURES }), {
    description: 'in order; nodes without a site first',
  }),
  resourceClasses: Type.Array(Type.Object({ resourceClass: Type.Optional(Type.String()), ...FIGURES }), {
    description: `in order; nodes without a class first; at most ${CLASSES_MAX}`,
  }),
  resourceClassesLeftOut: Type.Optional(Type.Integer({ description: 'name one in the query to see its figures' })),
  revision: Type.Integer({ description: 'the revision of the fleet that was read' }),
});
export type Capacity = Static<typeof CAPACITY_SCHEMA>;

export interface CapacityQuery {
  readonly site?: string | undefined;
  readonly resourceClass?: string | undefined;
}

export function describeCapacity(fleet: FleetReader, { site, resourceClass }: CapacityQuery): Capacity {
  const counters = fleet.projection(NODE_COUNTERS);
  const sites = site === undefined ? counters.sites() : counters.sites().filter((one) => one === site);
  const classes = counters
    .classes(site)
    .filter((one) => resourceClass === undefined || one.resourceClass === resourceClass);
  const leftOut = classes.length - CLASSES_MAX;
  const stale = findStaleSince(fleet);
  return {
    ...toFigures(counters.count({ site, resourceClass })),
    ...(stale !== undefined && { stale }),
    sites: sites.map((one) => ({
      ...(one !== null && { site: one }),
      ...toFigures(counters.count({ site: one, resourceClass })),
    })),
    resourceClasses: classes.slice(0, CLASSES_MAX).map(({ resourceClass: name, counts }) => ({
      ...(name !== null && { resourceClass: name }),
      ...toFigures(counts),
    })),
    ...(leftOut > 0 && { resourceClassesLeftOut: leftOut }),
    revision: fleet.revision,
  };
}

function toFigures(buckets: BucketCounts): { total: number; buckets: BucketCounts } {
  return { total: totalOf(buckets), buckets };
}

/** Figures are marked while an inventory does not answer: nothing is removed because it is silent. */
function findStaleSince(fleet: FleetReader): Capacity['stale'] {
  const alarms = [...fleet.find(ALARMS_BY_CODE, INVENTORY_UNREACHABLE)];
  if (alarms.length === 0) return undefined;
  return {
    inventories: alarms.map(({ doc: { reason } }) => String(reason['inventory'])).sort(),
    sinceMs: Math.min(...alarms.map(({ doc }) => doc.sinceMs)),
  };
}

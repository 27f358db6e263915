// How many nodes are in which bucket: of the whole fleet, of a site, of a resource class, of a manager. Kept up with each change, so that no figure costs
// a look at the nodes. Rows, buckets and the fleet must agree at every moment: all of them are sums of the same groups.
import type { AppliedChange, Projection, ProjectionState } from '../../fleet/index.ts';
import { bucketOf, BUCKETS, NODE, type Bucket, type Node } from '../model.ts';

export type BucketCounts = Readonly<Record<Bucket, number>>;

/** Which nodes are counted; all of them unless said. `null`: those that have none. */
export interface NodeFilter {
  readonly site?: string | null | undefined;
  readonly resourceClass?: string | null | undefined;
}

export interface ClassCounts {
  readonly resourceClass: string | null;
  readonly counts: BucketCounts;
}

/** By site and class; null for nodes that have none. */
type Groups = Map<string | null, Map<string | null, Tally>>;

/** One figure per bucket, in their order. */
type Tally = number[];

const PLACES: Readonly<Record<Bucket, number>> = Object.fromEntries(
  BUCKETS.map((bucket, at) => [bucket, at]),
) as Record<Bucket, number>;

export class NodeCounters implements ProjectionState {
  readonly #groups: Groups = new Map();
  /** By manager and site: nodes that it acts on. */
  readonly #managed: Groups = new Map();
  #removed = 0;

  apply({ before, after }: AppliedChange): void {
    this.#add(before?.doc as Node | undefined, -1);
    this.#add(after?.doc as Node | undefined, 1);
  }

  /** Nodes of which nothing is left but the name. They are in no bucket. */
  get removed(): number {
    return this.#removed;
  }

  count({ site, resourceClass }: NodeFilter = {}): BucketCounts {
    const sum = newTally();
    for (const classes of selectFrom(this.#groups, site))
      for (const tally of selectFrom(classes, resourceClass)) addTally(sum, tally);
    return toCounts(sum);
  }

  /** The nodes that a manager acts on; of one site, if one is named. */
  countManaged(manager: string, site?: string): BucketCounts {
    const sum = newTally();
    for (const tally of selectFrom(this.#managed.get(manager) ?? new Map<string | null, Tally>(), site))
      addTally(sum, tally);
    return toCounts(sum);
  }

  /** The sites that have nodes, in order; those without a site come first. */
  sites(): (string | null)[] {
    return [...this.#groups.keys()].sort(compareNames);
  }

  /** By resource class, in order; those without one come first. */
  classes(site?: string | null): ClassCounts[] {
    const sums = new Map<string | null, Tally>();
    for (const classes of selectFrom(this.#groups, site)) {
      for (const [name, tally] of classes) {
        const sum = sums.get(name) ?? newTally();
        addTally(sum, tally);
        sums.set(name, sum);
      }
    }
    const names = [...sums.keys()].sort(compareNames);
    return names.map((resourceClass) => ({ resourceClass, counts: toCounts(sums.get(resourceClass) ?? newTally()) }));
  }

  #add(node: Node | undefined, by: 1 | -1): void {
    if (node === undefined) return;
    const bucket = bucketOf(node);
    if (bucket === undefined) {
      this.#removed += by;
      return;
    }
    const { site = null, resourceClass = null, manager } = node;
    addTo(this.#groups, [site, resourceClass], { bucket, by });
    if (manager !== undefined) addTo(this.#managed, [manager, site], { bucket, by });
  }
}

export const NODE_COUNTERS: Projection<NodeCounters> = {
  name: 'node-counters',
  kinds: [NODE.name],
  create: () => new NodeCounters(),
  // Figures are read beside commits that are being written, and may not show what the store may still lose.
  follows: 'durable',
};

export function totalOf(counts: BucketCounts): number {
  return BUCKETS.reduce((sum, bucket) => sum + counts[bucket], 0);
}

function newTally(): Tally {
  return BUCKETS.map(() => 0);
}

function addTally(sum: Tally, tally: Tally): void {
  for (const [at, count] of tally.entries()) sum[at] = (sum[at] ?? 0) + count;
}

function toCounts(tally: Tally): BucketCounts {
  return Object.fromEntries(BUCKETS.map((bucket, at) => [bucket, tally[at] ?? 0])) as BucketCounts;
}

/** A group without nodes is dropped: the same documents make the same groups, in whatever order they came. */
function addTo(
  groups: Groups,
  [outer, inner]: readonly [string | null, string | null],
  { bucket, by }: { readonly bucket: Bucket; readonly by: 1 | -1 },
): void {
  const inside = groups.get(outer) ?? new Map<string | null, Tally>();
  const tally = inside.get(inner) ?? newTally();
  const at = PLACES[bucket];
  tally[at] = (tally[at] ?? 0) + by;
  if (tally.some((count) => count !== 0)) {
    inside.set(inner, tally);
    groups.set(outer, inside);
    return;
  }
  inside.delete(inner);
  if (inside.size === 0) groups.delete(outer);
}

/** One of them, or all. */
function selectFrom<V>(groups: ReadonlyMap<string | null, V>, key: string | null | undefined): Iterable<V> {
  if (key === undefined) return groups.values();
  const one = groups.get(key);
  return one === undefined ? [] : [one];
}

function compareNames(one: string | null, other: string | null): number {
  if (one === other) return 0;
  if (one === null) return -1;
  return other === null || one > other ? 1 : -1;
}

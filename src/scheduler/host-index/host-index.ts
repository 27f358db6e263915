// The fleet as the scheduler reads it: hosts by slot with their free amounts, sets of slots by zone, site, aggregate and trait, and the usage by
// claims and failed builds. It must be a function of the documents alone, in whatever order they come.
import type { AppliedChange, FleetReader, Forkable, Projection } from '../../fleet/index.ts';
import { HOST, type Host, type StoredHost } from '../../hosts/index.ts';
import { CLAIM, type Claim } from '../../network/index.ts';
import { BUILD_FAILURES, type BuildFailures } from '../build-failures.ts';
import { Tags, type Bits } from './bits.ts';
import { BayGroups, sizeOf, type NetworkReach } from './bay-groups.ts';
import { HostTable, availabilityOf } from './host-table.ts';
import { UsageLedger, NO_SLOT, type GroupTally, type HostUsage } from './usage-ledger.ts';
import type { PoolIndexCache } from '../nics/nic-options.ts';
import { Profiles } from './profiles.ts';
import { BoundHeap } from '../search/bound-heap.ts';

/** Shared by a fork and its original: it changes when hosts join, leave or are edited. */
interface Layout {
  readonly bayGroups: BayGroups;
  readonly sites: Tags;
  readonly zones: Tags;
  readonly aggregates: Tags;
  readonly traits: Tags;
  /** Grows with every change of it. */
  version: number;
}

const newLayout = (): Layout => ({
  bayGroups: new BayGroups(),
  sites: new Tags(),
  zones: new Tags(),
  aggregates: new Tags(),
  traits: new Tags(),
  version: 0,
});

export class HostIndex implements Forkable {
  readonly table: HostTable;
  readonly profiles: Profiles;
  readonly #layout: Layout;
  readonly #layoutVersion: number;
  readonly bayGroups: BayGroups;
  /** Buffers for searches: one search ends before the next begins. */
  readonly poolIndexCache: PoolIndexCache = new WeakMap();
  readonly heap = new BoundHeap();
  readonly sites: Tags;
  readonly zones: Tags;
  readonly aggregates: Tags;
  readonly traits: Tags;
  #versions = new Tags();
  #ledger = new UsageLedger();
  #size = 0;

  constructor(table = new HostTable(), layout = newLayout()) {
    this.table = table;
    this.profiles = new Profiles(table);
    this.#layout = layout;
    this.#layoutVersion = layout.version;
    ({
      bayGroups: this.bayGroups,
      sites: this.sites,
      zones: this.zones,
      aggregates: this.aggregates,
      traits: this.traits,
    } = layout);
  }

  /** For plans: claims, and leaving hosts, are counted in it alone. The set of hosts is shared. Costs O(hosts). */
  fork(): HostIndex {
    const fork = new HostIndex(this.table.copy(), this.#layout);
    fork.#versions = this.#versions.copy();
    fork.#ledger = this.#ledger.copy();
    fork.#size = this.#size;
    return fork;
  }

  /** Of a fork: hosts have joined, left or were edited since. */
  get isOutdated(): boolean {
    return this.#layout.version !== this.#layoutVersion;
  }

  apply({ kind, before, after }: AppliedChange): void {
    if (kind === CLAIM.name) this.#claim(before?.doc as Claim | undefined, after?.doc as Claim | undefined);
    else if (kind === HOST.name) this.#host(before as StoredHost | undefined, after as StoredHost | undefined);
    else this.#failures(before?.doc as BuildFailures | undefined, after?.doc as BuildFailures | undefined);
  }

  /** How many hosts there are, removed ones not counted. */
  get size(): number {
    return this.#size;
  }

  slotOf(host: string): number | undefined {
    const slot = this.#ledger.usageOf(host)?.slot;
    return slot === NO_SLOT ? undefined : slot;
  }

  /** The slots of all hosts, in no order. */
  *slots(): Iterable<number> {
    for (const { slot } of this.#ledger.hosts()) if (slot !== NO_SLOT) yield slot;
  }

  /** Whether some block has hosts of several sites and zones. */
  get isMixed(): boolean {
    return this.bayGroups.isMixed;
  }

  /** Adds the schedulable hosts below a service version: none at all, most of the time. */
  addOlderThan(version: number, to: Bits[]): void {
    for (const [tag, bits] of this.#versions.entries()) if (Number(tag) < version) to.push(bits);
  }

  group(id: string): GroupTally | undefined {
    return this.#ledger.group(id);
  }

  /** The usage by claims and failures of a host; undefined for none. */
  usageOn(host: string): Readonly<HostUsage> | undefined {
    return this.#ledger.usageOf(host);
  }

  #claim(before: Claim | undefined, after: Claim | undefined): void {
    // A claim whose addresses moved to a port has the same amounts.
    if (before !== undefined && after !== undefined && isSameUsage(before, after)) return;
    if (before !== undefined) this.#count(before, -1);
    if (after !== undefined) this.#count(after, 1);
  }

  #count(claim: Claim, by: 1 | -1): void {
    const taken = this.#ledger.count(claim, by);
    if (taken.slot === NO_SLOT) return;
    for (const resource in claim.resources) this.table.countResource(taken.slot, resource, taken);
    this.table.countClaim(taken.slot, claim, by);
  }

  #failures(before: BuildFailures | undefined, after: BuildFailures | undefined): void {
    const taken = this.#ledger.setFailures((after ?? before)?.host ?? '', after?.count ?? 0);
    if (taken.slot !== NO_SLOT) this.table.count(taken.slot, taken);
  }

  #host(before: StoredHost | undefined, after: StoredHost | undefined): void {
    const was = before?.doc.state === 'removed' ? undefined : before;
    const is = after?.doc.state === 'removed' ? undefined : after;
    if (was !== undefined && is !== undefined && isInSameBayGroup(was.doc, is.doc)) this.#update(was, is);
    else {
      if (was !== undefined) this.#remove(was);
      if (is !== undefined) this.#add(is);
    }
  }

  #add({ id, doc }: StoredHost): void {
    this.#layout.version += 1;
    const reach = this.bayGroups.reachOf(doc.physicalNetworks);
    const slot = this.bayGroups.allocateSlot({ site: doc.site, zone: doc.zone, size: sizeOfHost(doc) }, reach);
    this.#size += 1;
    this.sites.add(doc.site, slot);
    this.zones.add(doc.zone, slot);
    for (const aggregate of doc.aggregates) this.aggregates.add(aggregate, slot);
    for (const trait of doc.traits) this.traits.add(trait, slot);
    for (const version of versionsOf(doc)) this.#versions.add(version, slot);
    this.#writeRow(this.#ledger.setSlot(id, slot), id, doc, reach);
  }

  #remove({ id, doc }: StoredHost): void {
    this.#layout.version += 1;
    const taken = this.#ledger.usageOf(id) as Readonly<HostUsage>;
    const { slot } = taken;
    this.sites.delete(doc.site, slot);
    this.zones.delete(doc.zone, slot);
    for (const aggregate of doc.aggregates) this.aggregates.delete(aggregate, slot);
    for (const trait of doc.traits) this.traits.delete(trait, slot);
    for (const version of versionsOf(doc)) this.#versions.delete(version, slot);
    this.bayGroups.releaseSlot(slot, this.table.reaches[slot] as NetworkReach);
    this.table.remove(slot, taken);
    this.#ledger.setSlot(id, NO_SLOT);
    this.#size -= 1;
  }

  #update({ id, doc: was }: StoredHost, { doc: is }: StoredHost): void {
    const taken = this.#ledger.usageOf(id) as Readonly<HostUsage>;
    const { slot } = taken;
    // A document with an edit of another field keeps its lists.
    if (was.aggregates !== is.aggregates || was.traits !== is.traits) {
      this.#layout.version += 1;
      replaceTags(this.aggregates, slot, was.aggregates, is.aggregates);
      replaceTags(this.traits, slot, was.traits, is.traits);
    }
    replaceTags(this.#versions, slot, versionsOf(was), versionsOf(is));
    this.#writeRow(taken, id, is, this.table.reaches[slot] as NetworkReach);
  }

  #writeRow(taken: Readonly<HostUsage>, id: string, doc: Host, reach: NetworkReach): void {
    const { slot } = taken;
    this.table.put(slot, { id, doc, reach });
    for (const resource in doc.resources) this.table.countResource(slot, resource, taken);
    for (const resource of taken.resources?.keys() ?? []) this.table.countResource(slot, resource, taken);
    this.table.count(slot, taken);
  }
}

export const HOST_INDEX: Projection<HostIndex> = {
  name: 'host-index',
  kinds: [HOST.name, CLAIM.name, BUILD_FAILURES.name],
  create: () => new HostIndex(),
};

export function hostIndexOf(fleet: FleetReader): HostIndex {
  return fleet.projection(HOST_INDEX);
}

/** How many members of a server group each host has; undefined when it has none. Costs O(1). */
export function groupTallyOf(fleet: FleetReader, group: string): Pick<GroupTally, 'countOn' | 'size'> | undefined {
  return hostIndexOf(fleet).group(group);
}

function sizeOfHost({ capacity: { memoryMiB, vcpus, ratios } }: Host): number {
  return sizeOf(memoryMiB * ratios.memory, vcpus * ratios.vcpus);
}

/** Whether a host stays in its bay group. */
function isInSameBayGroup(was: Host, is: Host): boolean {
  if (was.site !== is.site || was.zone !== is.zone) return false;
  if (was.capacity !== is.capacity && sizeOfHost(was) !== sizeOfHost(is)) return false;
  const [before, after] = [was.physicalNetworks, is.physicalNetworks];
  return before === after || (before.length === after.length && before.every((name, at) => name === after[at]));
}

/** An unschedulable host has none: joining hosts have not reported theirs, and would be in the way of all others. */
function versionsOf(host: Host): readonly string[] {
  return availabilityOf(host) === 'schedulable' ? [String(host.serviceVersion)] : [];
}

function replaceTags(tags: Tags, slot: number, was: readonly string[], is: readonly string[]): void {
  for (const tag of was) if (!is.includes(tag)) tags.delete(tag, slot);
  for (const tag of is) if (!was.includes(tag)) tags.add(tag, slot);
}

function isSameUsage(was: Claim, is: Claim): boolean {
  if (was.host !== is.host || was.group !== is.group) return false;
  if (was.vcpus !== is.vcpus || was.memoryMiB !== is.memoryMiB || was.diskGiB !== is.diskGiB) return false;
  const [before, after] = [was.resources ?? {}, is.resources ?? {}];
  if (before === after) return true;
  const names = Object.keys(before);
  return names.length === Object.keys(after).length && names.every((name) => before[name] === after[name]);
}

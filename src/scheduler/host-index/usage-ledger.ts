// The usage of each host by claims and build failures alone: it needs no host document, so that they may come in any order, and a host that is removed
// and joins again finds its claims counted.
import type { Claim } from '../../network/index.ts';

/** The usage of one host by claims and failures, and its slot. */
export interface HostUsage {
  vcpus: number;
  memoryMiB: number;
  diskGiB: number;
  /** Claims on it; a move's second one counts too. */
  instances: number;
  /** Recent failed builds. */
  failures: number;
  /** Further resource classes; undefined while none was ever claimed. */
  resources: Map<string, number> | undefined;
  /** The host's slot; NO_SLOT while there is no such host. */
  slot: number;
}

export const NO_SLOT = -1;

/** How many claims of a group are on each host. */
export class GroupTally {
  readonly #hosts = new Map<string, number>();
  /** How many hosts have this many. */
  readonly #hostsWith = new Map<number, number>();
  #most = 0;

  copy(): GroupTally {
    const copy = new GroupTally();
    for (const [host, claims] of this.#hosts) copy.#hosts.set(host, claims);
    for (const [claims, hosts] of this.#hostsWith) copy.#hostsWith.set(claims, hosts);
    copy.#most = this.#most;
    return copy;
  }

  /** The most claims on any one host. */
  get most(): number {
    return this.#most;
  }

  /** How many hosts have any. */
  get size(): number {
    return this.#hosts.size;
  }

  countOn(host: string): number {
    return this.#hosts.get(host) ?? 0;
  }

  hosts(): Iterable<string> {
    return this.#hosts.keys();
  }

  change(host: string, by: 1 | -1): void {
    const was = this.countOn(host);
    const is = was + by;
    this.#count(was, -1);
    this.#count(is, 1);
    if (is === 0) this.#hosts.delete(host);
    else this.#hosts.set(host, is);
    if (is > this.#most) this.#most = is;
    else if (was === this.#most && !this.#hostsWith.has(was)) this.#most = is;
  }

  #count(claims: number, by: 1 | -1): void {
    if (claims === 0) return;
    const hosts = (this.#hostsWith.get(claims) ?? 0) + by;
    if (hosts === 0) this.#hostsWith.delete(claims);
    else this.#hostsWith.set(claims, hosts);
  }
}

export class UsageLedger {
  readonly #byHost = new Map<string, HostUsage>();
  readonly #groups = new Map<string, GroupTally>();
  /** Of a copy: unchanged groups are shared with the original. */
  #original: UsageLedger | undefined;

  /** The usage of hosts is copied, groups only when they change: there may be as many as instances. */
  copy(): UsageLedger {
    const copy = new UsageLedger();
    for (const [host, taken] of this.#byHost) {
      const resources = taken.resources === undefined ? undefined : new Map(taken.resources);
      copy.#byHost.set(host, { ...taken, resources });
    }
    copy.#original = this;
    return copy;
  }

  usageOf(host: string): Readonly<HostUsage> | undefined {
    return this.#byHost.get(host);
  }

  /** Hosts with a slot, claims or failures. */
  hosts(): Iterable<Readonly<HostUsage>> {
    return this.#byHost.values();
  }

  group(id: string): GroupTally | undefined {
    const tally = this.#groups.get(id);
    if (tally === undefined) return this.#original?.group(id);
    return tally.size === 0 ? undefined : tally;
  }

  /** Adds or subtracts a claim; returns the new usage of its host. */
  count(claim: Claim, by: 1 | -1): Readonly<HostUsage> {
    const taken = this.#entry(claim.host);
    taken.vcpus += by * claim.vcpus;
    taken.memoryMiB += by * claim.memoryMiB;
    taken.diskGiB += by * claim.diskGiB;
    taken.instances += by;
    if (claim.resources !== undefined) countResources(taken, claim.resources, by);
    if (claim.group !== undefined) this.#countInGroup(claim.group, claim.host, by);
    this.#forgetEmpty(claim.host, taken);
    return taken;
  }

  #countInGroup(group: string, host: string, by: 1 | -1): void {
    let tally = this.#groups.get(group);
    if (tally === undefined) {
      this.#groups.set(group, (tally = this.#original?.group(group)?.copy() ?? new GroupTally()));
    }
    tally.change(host, by);
    // In a copy it stays, empty: without it the original's would be visible.
    if (tally.size === 0 && this.#original === undefined) this.#groups.delete(group);
  }

  setFailures(host: string, failures: number): Readonly<HostUsage> {
    const taken = this.#entry(host);
    taken.failures = failures;
    this.#forgetEmpty(host, taken);
    return taken;
  }

  setSlot(host: string, slot: number): Readonly<HostUsage> {
    const taken = this.#entry(host);
    taken.slot = slot;
    this.#forgetEmpty(host, taken);
    return taken;
  }

  #entry(host: string): HostUsage {
    let taken = this.#byHost.get(host);
    if (taken === undefined) this.#byHost.set(host, (taken = noUsage()));
    return taken;
  }

  #forgetEmpty(host: string, { instances, failures, slot }: HostUsage): void {
    if (instances === 0 && failures === 0 && slot === NO_SLOT) this.#byHost.delete(host);
  }
}

function noUsage(): HostUsage {
  return { vcpus: 0, memoryMiB: 0, diskGiB: 0, instances: 0, failures: 0, resources: undefined, slot: NO_SLOT };
}

function countResources(taken: HostUsage, resources: NonNullable<Claim['resources']>, by: 1 | -1): void {
  const sums = (taken.resources ??= new Map<string, number>());
  for (const [name, amount] of Object.entries(resources)) {
    const sum = (sums.get(name) ?? 0) + by * amount;
    if (sum === 0) sums.delete(name);
    else sums.set(name, sum);
  }
}

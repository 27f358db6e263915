// Presence: the hosts that have ports in a subnet or a network. Derived from bound ports alone, port by port, so that removing one does not
// remove the host's entry while others remain.
import {
  IdGroups,
  type AppliedChange,
  type FleetReader,
  type ProjectionState,
  type Projection,
} from '../../fleet/index.ts';
import { PORT, type Port } from '../model.ts';

const NO_COUNTS: ReadonlyMap<string, number> = new Map();
const NO_HOSTS: readonly string[] = [];

/** Counts of ports by two keys. */
class NestedCounts {
  readonly #rows = new Map<string, Map<string, number>>();

  rowOf(outer: string): ReadonlyMap<string, number> {
    return this.#rows.get(outer) ?? NO_COUNTS;
  }

  /** Returns the count before. */
  add(outer: string, inner: string, by: number): number {
    const row = this.#rows.get(outer);
    if (row === undefined) {
      this.#rows.set(outer, new Map([[inner, by]]));
      return 0;
    }
    const before = row.get(inner) ?? 0;
    if (before + by !== 0) row.set(inner, before + by);
    else if (row.size > 1) row.delete(inner);
    else this.#rows.delete(outer);
    return before;
  }
}

/** One kind of subject, both ways round. */
class HostPresence {
  readonly hosts = new NestedCounts();
  /** Counts are kept there: this keeps only the members, so that most ports change nothing here. */
  readonly #subjects = new IdGroups();
  /** The hosts in no order and sorted, of the queried subjects, until they change. */
  readonly #listed = new Map<string, readonly string[]>();
  readonly #sorted = new Map<string, readonly string[]>();

  add(subject: string, host: string, by: 1 | -1): void {
    const before = this.hosts.add(subject, host, by);
    if (before === 0) this.#subjects.add(host, subject);
    else if (before + by === 0) this.#subjects.delete(host, subject);
    else return;
    this.#listed.delete(subject);
    this.#sorted.delete(subject);
  }

  hostList(subject: string): readonly string[] {
    let hosts = this.#listed.get(subject);
    if (hosts === undefined) {
      const row = this.hosts.rowOf(subject);
      if (row.size === 0) return NO_HOSTS;
      this.#listed.set(subject, (hosts = [...row.keys()]));
    }
    return hosts;
  }

  sortedHosts(subject: string): readonly string[] {
    let hosts = this.#sorted.get(subject);
    if (hosts === undefined) this.#sorted.set(subject, (hosts = [...this.hosts.rowOf(subject).keys()].sort()));
    return hosts;
  }

  subjectsOn(host: string): string[] {
    return [...this.#subjects.idsOf(host)];
  }
}

class Presence implements ProjectionState {
  readonly #subnets = new HostPresence();
  readonly #networks = new HostPresence();
  /** Ports on a segment without an address, which are in no subnet. */
  readonly #segments = new HostPresence();

  apply({ before, after }: AppliedChange): void {
    const was = before?.doc as Port | undefined;
    const is = after?.doc as Port | undefined;
    if (was?.binding === undefined && is?.binding === undefined) return;
    if (was !== undefined && is !== undefined && isSamePlace(was, is)) return;
    this.#count(was, -1);
    this.#count(is, 1);
  }

  #count(port: Port | undefined, by: 1 | -1): void {
    const host = port?.binding?.host;
    if (port === undefined || host === undefined) return;
    this.#networks.add(port.network, host, by);
    const [first, ...others] = port.addresses;
    if (first === undefined) {
      if (port.binding?.segment !== undefined) this.#segments.add(port.binding.segment, host, by);
      return;
    }
    this.#subnets.add(first.subnet, host, by);
    if (others.length === 0) return;
    // Two addresses in one subnet are one presence.
    const subnets = new Set(others.map(({ subnet }) => subnet));
    subnets.delete(first.subnet);
    for (const subnet of subnets) this.#subnets.add(subnet, host, by);
  }

  /** The hosts with a port in the subnet, and how many each. */
  portCountsInSubnet(subnet: string): ReadonlyMap<string, number> {
    return this.#subnets.hosts.rowOf(subnet);
  }

  /** The same hosts in no order: the identical list while they are the same, so that callers can cache by it. */
  hostsInSubnet(subnet: string): readonly string[] {
    return this.#subnets.hostList(subnet);
  }

  /** The same hosts sorted by name. Sorted once while they are the same. */
  sortedHostsInSubnet(subnet: string): readonly string[] {
    return this.#subnets.sortedHosts(subnet);
  }

  portCountsInNetwork(network: string): ReadonlyMap<string, number> {
    return this.#networks.hosts.rowOf(network);
  }

  /** The hosts with ports on a segment that have no address. */
  addresslessPortCountsOn(segment: string): ReadonlyMap<string, number> {
    return this.#segments.hosts.rowOf(segment);
  }

  /** The subnets that a host has ports in, in order. */
  subnetsOn(host: string): string[] {
    return this.#subnets.subjectsOn(host);
  }

  networksOn(host: string): string[] {
    return this.#networks.subjectsOn(host);
  }
}

/** Ports change often, their place seldom. */
function isSamePlace(was: Port, is: Port): boolean {
  if (was.binding?.host !== is.binding?.host || was.network !== is.network) return false;
  if (was.binding?.segment !== is.binding?.segment) return false;
  if (was.addresses === is.addresses) return true;
  const { length } = was.addresses;
  return length === is.addresses.length && was.addresses.every(({ subnet }, at) => is.addresses[at]?.subnet === subnet);
}

export const PRESENCE: Projection<Presence> = {
  name: 'presence',
  kinds: [PORT.name],
  create: () => new Presence(),
};

export function presenceOf(fleet: FleetReader): Presence {
  return fleet.projection(PRESENCE);
}

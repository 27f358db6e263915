// Presence: the hosts on which something of a subnet or a network lives. Derived from bound ports and from nothing else, port
// by port, so that one that goes does not take the host's row with it while others remain.
import type { Applied, Projected, Projection } from '../fleet/index.ts';
import type { Port } from './model.ts';

const NOBODY: ReadonlyMap<string, number> = new Map();

class Presence implements Projected {
  /** Ports by subnet or network, then by host. */
  readonly #bySubject = new Map<string, Map<string, number>>();
  /** The same the other way round. */
  readonly #byHost = new Map<string, Map<string, number>>();

  apply({ before, after }: Applied): void {
    this.#count(before?.doc as Port | undefined, -1);
    this.#count(after?.doc as Port | undefined, 1);
  }

  #count(port: Port | undefined, by: number): void {
    const host = port?.binding?.host;
    if (port === undefined || host === undefined) return;
    this.#add(networkKey(port.network), host, by);
    for (const [nth, { subnet }] of port.addresses.entries()) {
      // Two addresses in one subnet are one presence.
      if (port.addresses.findIndex((one) => one.subnet === subnet) === nth) this.#add(subnetKey(subnet), host, by);
    }
  }

  #add(subject: string, host: string, by: number): void {
    step(this.#bySubject, subject, host, by);
    step(this.#byHost, host, subject, by);
  }

  /** The hosts with a port in the subnet, and how many each. */
  ofSubnet(subnet: string): ReadonlyMap<string, number> {
    return this.#bySubject.get(subnetKey(subnet)) ?? NOBODY;
  }

  ofNetwork(network: string): ReadonlyMap<string, number> {
    return this.#bySubject.get(networkKey(network)) ?? NOBODY;
  }

  /** The subnets that a host has ports in. */
  subnetsOn(host: string): string[] {
    return this.#subjectsOn(host, 'subnet/');
  }

  networksOn(host: string): string[] {
    return this.#subjectsOn(host, 'network/');
  }

  #subjectsOn(host: string, prefix: string): string[] {
    const subjects = [...(this.#byHost.get(host) ?? NOBODY).keys()];
    return subjects.flatMap((key) => (key.startsWith(prefix) ? [key.slice(prefix.length)] : [])).sort();
  }
}

function step(table: Map<string, Map<string, number>>, outer: string, inner: string, by: number): void {
  let row = table.get(outer);
  if (row === undefined) table.set(outer, (row = new Map()));
  const count = (row.get(inner) ?? 0) + by;
  if (count === 0) row.delete(inner);
  else row.set(inner, count);
  if (row.size === 0) table.delete(outer);
}

const subnetKey = (subnet: string): string => `subnet/${subnet}`;
const networkKey = (network: string): string => `network/${network}`;

export const PRESENCE: Projection<Presence> = {
  name: 'presence',
  kinds: ['port'],
  create: () => new Presence(),
};

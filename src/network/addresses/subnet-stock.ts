// The addresses of one subnet: the holder of each, and the free ones in its pools. Ports may be known before their subnet is.
import { FreeRanges, type Range } from './free-ranges.ts';
import { formatIp, parseIp, type Ip } from './ip.ts';
import type { Subnet } from '../model.ts';

/** One address of one subnet, as a key of the set that `pick` excludes. */
export function addressKey(subnet: string, ip: string): string {
  return `${subnet}|${ip}`;
}

export class SubnetStock {
  readonly id: string;
  #doc: Subnet | undefined;
  #pools: readonly Range[] = [];
  #free = new FreeRanges([]);
  #total = 0n;
  /** By canonical text. A commit may give an address to one port before it takes it from another. */
  readonly #holders = new Map<string, string | readonly string[]>();

  constructor(id: string) {
    this.id = id;
  }

  /** The subnet; undefined while only ports refer to it. */
  get doc(): Subnet | undefined {
    return this.#doc;
  }

  get total(): bigint {
    return this.#total;
  }

  get held(): bigint {
    return this.#total - this.#free.size;
  }

  /** How many addresses have a port. */
  get holderCount(): number {
    return this.#holders.size;
  }

  /** Applies the subnet's pools and gateway: held addresses stay held. */
  define(doc: Subnet | undefined): void {
    this.#doc = doc;
    this.#pools = (doc?.pools ?? []).map(({ first, last }) => ({ first: valueOf(first), last: valueOf(last) }));
    this.#free = new FreeRanges(this.#pools);
    this.#total = this.#free.size;
    if (doc?.gateway !== undefined) this.#free.take(valueOf(doc.gateway));
    if (doc !== undefined) for (const ip of this.#holders.keys()) this.#free.take(valueOf(ip));
  }

  /** Adds an address of a port. Returns by how much more of the pools is held. */
  take(ip: string, port: string): 0 | 1 {
    const holders = this.#holders.get(ip);
    this.#holders.set(ip, holders === undefined ? port : [...toList(holders), port]);
    return holders === undefined && this.#free.take(valueOf(ip)) ? 1 : 0;
  }

  /** Removes an address of a port. Returns by how much less of the pools is held. */
  give(ip: string, port: string): 0 | 1 {
    const left = [...this.holdersOf(ip)];
    const at = left.indexOf(port);
    if (at !== -1) left.splice(at, 1);
    const [only] = left;
    if (only !== undefined) {
      this.#holders.set(ip, left.length === 1 ? only : left);
      return 0;
    }
    this.#holders.delete(ip);
    if (this.#doc?.gateway === ip || !this.isPooled(ip)) return 0;
    return this.#free.give(valueOf(ip)) ? 1 : 0;
  }

  holderOf(ip: string): string | undefined {
    return this.#doc?.gateway === ip ? 'gateway' : this.holdersOf(ip)[0];
  }

  holdersOf(ip: string): readonly string[] {
    const holders = this.#holders.get(ip);
    return holders === undefined ? [] : toList(holders);
  }

  isPooled(ip: string): boolean {
    const value = valueOf(ip);
    return this.#pools.some(({ first, last }) => first <= value && value <= last);
  }

  /** The lowest free address that is not among `taken`. */
  lowestFree(taken: ReadonlySet<string>): string | undefined {
    const version = this.#doc?.version;
    if (version === undefined) return undefined;
    for (let value = this.#free.first(); value !== undefined; value = this.#free.firstFrom(value + 1n)) {
      const ip = formatIp({ version, value });
      if (!taken.has(addressKey(this.id, ip))) return ip;
    }
    return undefined;
  }
}

function toList(holders: string | readonly string[]): readonly string[] {
  return typeof holders === 'string' ? [holders] : holders;
}

/** Documents hold canonical addresses only: one that does not parse is a bug of its writer. */
function valueOf(ip: string): bigint {
  return (parseIp(ip) as Ip).value;
}

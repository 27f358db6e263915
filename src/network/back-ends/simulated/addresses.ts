// The simulated back end's own address management. It knows every allocated address, of ports and of strangers, and picks the lowest free one:
// the same orders always get the same addresses.
import type { OrderPool, SubnetAddress } from '../back-end.ts';
import { FreeRanges, type Range } from '../../addresses/free-ranges.ts';
import { contains, formatIp, parseCidr, parseIp, type IpVersion } from '../../addresses/ip.ts';

interface FreeState {
  readonly pools: string;
  readonly bounds: readonly Range[];
  readonly reserved: ReadonlySet<bigint>;
  readonly ranges: FreeRanges;
}

interface SubnetAddresses {
  /** The holder of each address, by its number. */
  readonly owners: Map<bigint, string>;
  /** The free addresses in the pools of the last order, kept while the pools stay the same. */
  free?: FreeState;
}

const FOREIGN = '(foreign)';

export class SimulatedAddresses {
  readonly #subnets = new Map<string, SubnetAddresses>();

  /** A stranger takes an address; false when it is taken. */
  addForeign(subnet: string, ip: string): boolean {
    return this.take({ ip, subnet }, FOREIGN);
  }

  /** The holder of an address; strangers have no id. */
  *owners(): Iterable<string> {
    for (const { owners } of this.#subnets.values()) {
      for (const owner of owners.values()) if (owner !== FOREIGN) yield owner;
    }
  }

  take({ ip, subnet }: SubnetAddress, owner: string): boolean {
    const value = parseValue(ip);
    const { owners, free } = this.#subnet(subnet);
    const known = owners.get(value);
    if (known !== undefined) return known === owner && owner !== FOREIGN;
    owners.set(value, owner);
    free?.ranges.take(value);
    return true;
  }

  give({ ip, subnet }: SubnetAddress): void {
    const value = parseValue(ip);
    const { owners, free } = this.#subnet(subnet);
    if (!owners.delete(value) || free?.reserved.has(value) !== false) return;
    if (free.bounds.some(({ first, last }) => first <= value && value <= last)) free.ranges.give(value);
  }

  /** One address of a version, from the first subnet that has one. */
  pick(pools: readonly OrderPool[], version: IpVersion, owner: string): SubnetAddress | undefined {
    for (const pool of pools.filter((one) => one.version === version)) {
      const value = this.#freeIn(pool).first();
      if (value === undefined) continue;
      const address = { ip: formatIp({ version, value }), subnet: pool.subnet };
      this.take(address, owner);
      return address;
    }
    return undefined;
  }

  #freeIn(pool: OrderPool): FreeRanges {
    const state = this.#subnet(pool.subnet);
    const pools = JSON.stringify([pool.ranges, pool.reserved]);
    if (state.free?.pools !== pools) state.free = { pools, ...composeFreeState(pool, state.owners.keys()) };
    return state.free.ranges;
  }

  #subnet(subnet: string): SubnetAddresses {
    let state = this.#subnets.get(subnet);
    if (state === undefined) this.#subnets.set(subnet, (state = { owners: new Map() }));
    return state;
  }
}

function composeFreeState(pool: OrderPool, taken: Iterable<bigint>): Omit<FreeState, 'pools'> {
  const bounds = pool.ranges.map(({ first, last }) => ({ first: parseValue(first), last: parseValue(last) }));
  const reserved = new Set((pool.reserved ?? []).map(parseValue));
  const ranges = new FreeRanges(bounds);
  for (const value of [...taken, ...reserved]) ranges.take(value);
  return { bounds, reserved, ranges };
}

/** The subnet that an address is in. */
export function subnetOf(ip: string, pools: readonly OrderPool[]): string | undefined {
  const parsed = parseIp(ip);
  if (parsed === undefined) return undefined;
  return pools.find((pool) => {
    const cidr = parseCidr(pool.cidr ?? '');
    return cidr !== undefined && contains(cidr, parsed);
  })?.subnet;
}

function parseValue(ip: string): bigint {
  const parsed = parseIp(ip);
  if (parsed === undefined) throw new Error(`"${ip}" is not an address`);
  return parsed.value;
}

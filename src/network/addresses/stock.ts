// The stock of addresses: per pool and version the numbers of held, claimed and free addresses, and the lowest free one. A projection of
// subnets, ports and claims, in whatever order they come; it must never keep anything that they do not contain.
import type { AppliedChange, FleetReader, Forkable, Projection } from '../../fleet/index.ts';
import { CLAIM, type Claim } from '../claim.ts';
import type { IpVersion } from './ip.ts';
import { PORT, SUBNET, type Address, type Port, type Subnet } from '../model.ts';
import type { PoolKey } from '../ports/nic-requirements.ts';
import { SubnetStock } from './subnet-stock.ts';
import { poolOf } from '../networks/topology.ts';

export interface StockFigures {
  /** Addresses in the pools. */
  readonly total: bigint;
  /** Those of them that a port, attached or not, or the gateway has. */
  readonly held: bigint;
  /** Claimed by instances whose ports do not hold them yet. */
  readonly claimed: bigint;
  readonly free: bigint;
}

/** The current figures of one pool and version. */
export interface PoolCounters {
  readonly total: bigint;
  readonly held: bigint;
  readonly claimed: bigint;
  /** The number of free addresses: inexact beyond 2^53. */
  readonly freeCount: number;
}

class PoolTotals implements PoolCounters {
  total = 0n;
  held = 0n;
  claimed = 0n;
  freeCount = 0;
  /** The subnets that addresses are picked from, in id order. */
  readonly subnets: SubnetStock[] = [];

  copy(): PoolTotals {
    const copy = new PoolTotals();
    copy.total = this.total;
    copy.held = this.held;
    copy.claimed = this.claimed;
    copy.freeCount = this.freeCount;
    copy.subnets.push(...this.subnets);
    return copy;
  }

  get free(): bigint {
    return this.total - this.held - this.claimed;
  }

  change(figure: 'total' | 'held' | 'claimed', by: bigint): void {
    this[figure] += by;
    this.freeCount = Number(this.free);
  }
}

/** By whether a pool has addresses of version 4, and then of version 6. */
const VERSIONS: readonly (readonly IpVersion[])[] = [[], [6], [4], [4, 6]];
const NO_ADDRESSES: readonly Address[] = [];

export class Stock implements Forkable {
  #subnets = new Map<string, SubnetStock>();
  readonly #totals = new Map<PoolKey, Readonly<Record<IpVersion, PoolTotals>>>();

  /** For plans: claims are counted in it alone. The addresses held by ports are shared with the original. Costs O(pools). */
  fork(): Stock {
    const fork = new Stock();
    fork.#subnets = this.#subnets;
    for (const [pool, sums] of this.#totals) fork.#totals.set(pool, { 4: sums[4].copy(), 6: sums[6].copy() });
    return fork;
  }

  apply({ kind, before, after }: AppliedChange): void {
    const was = before?.doc;
    const is = after?.doc;
    if (kind === PORT.name) this.#port((after ?? before)?.id ?? '', was as Port | undefined, is as Port | undefined);
    else if (kind === SUBNET.name) this.#subnet((after ?? before)?.id ?? '', is as Subnet | undefined);
    else {
      if (was !== undefined) this.#claim(was as Claim, -1n);
      if (is !== undefined) this.#claim(is as Claim, 1n);
    }
  }

  #claim(claim: Claim, sign: bigint): void {
    for (const { pool, version, count } of claim.addresses) {
      this.#totalsOf(pool as PoolKey, version).change('claimed', sign * BigInt(count));
    }
  }

  #port(id: string, was: Port | undefined, is: Port | undefined): void {
    const before = was?.addresses ?? NO_ADDRESSES;
    const after = is?.addresses ?? NO_ADDRESSES;
    if (before === after) return;
    for (const address of before) if (!includesAddress(after, address)) this.#setHeld(address, id, false);
    for (const address of after) if (!includesAddress(before, address)) this.#setHeld(address, id, true);
  }

  #setHeld({ subnet, ip }: Address, port: string, taken: boolean): void {
    const stock = this.#stockOf(subnet);
    const counted = taken ? stock.take(ip, port) : -stock.give(ip, port);
    if (counted !== 0 && stock.doc !== undefined) {
      this.#totalsOf(poolOf(stock.doc), stock.doc.version).change('held', BigInt(counted));
    }
    this.#deleteIfEmpty(stock);
  }

  #subnet(id: string, is: Subnet | undefined): void {
    const stock = this.#stockOf(id);
    this.#count(stock, -1n);
    stock.define(is);
    this.#count(stock, 1n);
    this.#deleteIfEmpty(stock);
  }

  /** Adds a subnet to the figures of its pool, or takes it out of them. */
  #count(stock: SubnetStock, sign: bigint): void {
    const { doc } = stock;
    if (doc === undefined) return;
    const sum = this.#totalsOf(poolOf(doc), doc.version);
    sum.change('total', sign * stock.total);
    sum.change('held', sign * stock.held);
    if (sign < 0n) sum.subnets.splice(sum.subnets.indexOf(stock), 1);
    else {
      sum.subnets.push(stock);
      sum.subnets.sort((one, other) => (one.id < other.id ? -1 : 1));
    }
  }

  #stockOf(subnet: string): SubnetStock {
    let stock = this.#subnets.get(subnet);
    if (stock === undefined) this.#subnets.set(subnet, (stock = new SubnetStock(subnet)));
    return stock;
  }

  #deleteIfEmpty(stock: SubnetStock): void {
    if (stock.doc === undefined && stock.holderCount === 0) this.#subnets.delete(stock.id);
  }

  #totalsOf(pool: PoolKey, version: IpVersion): PoolTotals {
    let sums = this.#totals.get(pool);
    if (sums === undefined) this.#totals.set(pool, (sums = { 4: new PoolTotals(), 6: new PoolTotals() }));
    return sums[version];
  }

  /** How many addresses of a pool are neither held nor claimed. */
  free(pool: PoolKey, version: IpVersion): bigint {
    return this.#totals.get(pool)?.[version].free ?? 0n;
  }

  /** For callers that query the same pool again and again: it stays valid, and is looked up once. */
  countersOf(pool: PoolKey, version: IpVersion): PoolCounters {
    return this.#totalsOf(pool, version);
  }

  figures(pool: PoolKey, version: IpVersion): StockFigures {
    const { total = 0n, held = 0n, claimed = 0n, free = 0n } = this.#totals.get(pool)?.[version] ?? {};
    return { total, held, claimed, free };
  }

  /** The versions that a pool has addresses of. */
  versionsOf(pool: PoolKey): readonly IpVersion[] {
    const sums = this.#totals.get(pool);
    const which = sums === undefined ? 0 : (sums[4].total > 0n ? 2 : 0) + (sums[6].total > 0n ? 1 : 0);
    return VERSIONS[which] as readonly IpVersion[];
  }

  /** The lowest free address of a pool that is not among `taken` (see `addressKey`). */
  pick(
    pool: PoolKey,
    version: IpVersion,
    taken: ReadonlySet<string>,
  ): { readonly ip: string; readonly subnet: string } | undefined {
    for (const stock of this.#totals.get(pool)?.[version].subnets ?? []) {
      const ip = stock.lowestFree(taken);
      if (ip !== undefined) return { ip, subnet: stock.id };
    }
    return undefined;
  }

  /** The lowest free address in one subnet's pools that is not among `taken`. */
  lowestFreeOf(subnet: string, taken: ReadonlySet<string>): string | undefined {
    return this.#subnets.get(subnet)?.lowestFree(taken);
  }

  /** The port that has an address, or `gateway`. The text is canonical. */
  holderOf(subnet: string, ip: string): string | undefined {
    return this.#subnets.get(subnet)?.holderOf(ip);
  }

  /** Every port that has an address: more than one only while a commit is half applied. */
  holdersOf(subnet: string, ip: string): readonly string[] {
    return this.#subnets.get(subnet)?.holdersOf(ip) ?? [];
  }

  /** How many addresses of a subnet ports have, in its pools or outside of them. */
  heldCountOf(subnet: string): number {
    return this.#subnets.get(subnet)?.holderCount ?? 0;
  }

  /** Whether an address of a subnet lies in its pools. */
  isPooled(subnet: string, ip: string): boolean {
    return this.#subnets.get(subnet)?.isPooled(ip) ?? false;
  }
}

function includesAddress(addresses: readonly Address[], { subnet, ip }: Address): boolean {
  return addresses.some((one) => one.ip === ip && one.subnet === subnet);
}

export const STOCK: Projection<Stock> = {
  name: 'stock',
  kinds: [SUBNET.name, PORT.name, CLAIM.name],
  create: () => new Stock(),
};

export function stockOf(fleet: FleetReader): Stock {
  return fleet.projection(STOCK);
}

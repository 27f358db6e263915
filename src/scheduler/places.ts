// Where the NICs of a request can go: on a host that reaches certain physical networks, some assignment of the NICs to pools
// that the stock of addresses can serve. All hosts with the same reach have the same answer, so it is found once for each.
import { bandwidthClass, type IpVersion, type NicNeed, type PoolKey, type Stock } from '../network/index.ts';
import type { Reach } from './clusters.ts';
import { SCORE_UNIT } from './weighing.ts';

/** The pools of a request's NICs on some host, and what they add to the host's score, in score units. */
export interface Place {
  readonly pools: readonly PoolKey[];
  readonly term: number;
}

/** A pool that one NIC may go to. */
export interface Option {
  readonly pool: PoolKey;
  readonly physicalNetwork: string | undefined;
  readonly takes: readonly IpVersion[];
  /** The least that the pool has left of what the NIC takes; Infinity when it takes nothing. */
  readonly left: number;
  /** Where `left` lies between the NIC's scarcest and its richest pool, 0..1. */
  readonly share: number;
  /** The NIC prefers lower ones. */
  readonly rank: number;
}

export interface NicOptions {
  readonly need: NicNeed;
  /** By preference. */
  readonly all: readonly Option[];
  readonly everywhere: readonly Option[];
  readonly byNetwork: ReadonlyMap<string, readonly Option[]>;
  /** It wants what the NIC before it wants: the two may be exchanged. */
  readonly likeThePrevious: boolean;
}

/** What a host has left of the bandwidth on a physical network. */
export type Bandwidth = (resource: string) => number;

const UNLIMITED: Bandwidth = () => Infinity;

/** NICs that contend for pools and bandwidth in a way that no request should: beyond this many tries a host is passed over. */
const TRIES_MAX = 20_000;

export interface PlacesOptions {
  readonly excluded: ReadonlySet<PoolKey>;
  /** The multiplier of the stock weigher. */
  readonly weight: number;
}

export class Places {
  readonly nics: readonly NicOptions[];
  /** Whether a host's bandwidth counts: then each host is a case of its own. */
  readonly needsBandwidth: boolean;
  /** No place adds more. */
  readonly termMax: number;
  readonly #stock: Stock;
  readonly #weight: number;
  readonly #contend: boolean;
  readonly #byReach = new Map<Reach, Place | undefined>();

  constructor(nics: readonly NicNeed[], stock: Stock, { excluded, weight }: PlacesOptions) {
    this.#stock = stock;
    this.#weight = weight / SCORE_UNIT;
    this.nics = nics.map((need, nic) => optionsOf(need, nics[nic - 1], { stock, excluded, weight }));
    this.needsBandwidth = nics.some(({ minBandwidthKbps }) => minBandwidthKbps !== undefined);
    this.termMax = Math.ceil(Math.max(0, this.#weight));
    this.#contend = this.needsBandwidth || contend(this.nics);
  }

  /** The place on hosts with this reach, as far as it is not a matter of their bandwidth. */
  of(reach: Reach): Place | undefined {
    const found = this.#byReach.get(reach);
    if (found !== undefined || this.#byReach.has(reach)) return found;
    const place = this.#find(reach, UNLIMITED);
    this.#byReach.set(reach, place);
    return place;
  }

  /** The place on one host. */
  at(reach: Reach, bandwidth: Bandwidth): Place | undefined {
    const place = this.of(reach);
    return place === undefined || !this.needsBandwidth ? place : this.#find(reach, bandwidth);
  }

  #find(reach: Reach, bandwidth: Bandwidth): Place | undefined {
    const chosen: Option[] = [];
    if (this.#contend) {
      const found = new Assignment(this, this.#stock, bandwidth).find(reach);
      return found === undefined ? undefined : this.#place(found);
    }
    for (const nic of this.nics) {
      const best = bestOf(nic, reach);
      if (best === undefined) return undefined;
      chosen.push(best);
    }
    return this.#place(chosen);
  }

  #place(chosen: readonly Option[]): Place {
    let [shares, taking] = [0, 0];
    for (const { takes, share } of chosen) {
      if (takes.length === 0) continue;
      shares += share;
      taking += 1;
    }
    const term = taking === 0 ? 0 : Math.floor((this.#weight * shares) / taking + 0.5);
    return { pools: chosen.map(({ pool }) => pool), term };
  }
}

/** The options of a NIC on hosts with this reach, by preference; those with nothing left too. */
export function reachable({ everywhere, byNetwork }: NicOptions, { networks }: Reach): readonly Option[] {
  const found = networks.map((name) => byNetwork.get(name)).filter((one) => one !== undefined);
  if (found.length === 0) return everywhere;
  if (found.length === 1 && everywhere.length === 0) return found[0] as readonly Option[];
  return [...everywhere, ...found.flat()].sort((one, other) => one.rank - other.rank);
}

function bestOf({ everywhere, byNetwork }: NicOptions, { networks }: Reach): Option | undefined {
  let best = everywhere.find(({ left }) => left > 0);
  for (const name of networks) {
    const found = byNetwork.get(name)?.find(({ left }) => left > 0);
    if (found !== undefined && (best === undefined || found.rank < best.rank)) best = found;
  }
  return best;
}

function optionsOf(
  need: NicNeed,
  previous: NicNeed | undefined,
  { stock, excluded, weight }: PlacesOptions & { readonly stock: Stock },
): NicOptions {
  const allowed = excluded.size === 0 ? need.choices : need.choices.filter(({ pool }) => !excluded.has(pool));
  const lefts = allowed.map(({ pool, takes }) => leftFor(stock, pool, takes));
  const finite = lefts.filter((left) => left !== Infinity);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const all = allowed
    .map(({ pool, takes, physicalNetwork }, at) => {
      const left = lefts[at] as number;
      const share = high > low && left !== Infinity ? (left - low) / (high - low) : 0;
      return { pool, takes, physicalNetwork, left, share, rank: 0 };
    })
    .sort((one, other) => (weight < 0 ? one.left - other.left : other.left - one.left) || byName(one, other));
  const byNetwork = new Map<string, Option[]>();
  const everywhere: Option[] = [];
  for (const [rank, option] of all.entries()) {
    option.rank = rank;
    const { physicalNetwork } = option;
    const shelf = physicalNetwork === undefined ? everywhere : byNetwork.get(physicalNetwork);
    if (shelf === undefined) byNetwork.set(physicalNetwork as string, [option]);
    else shelf.push(option);
  }
  const likeThePrevious =
    previous?.minBandwidthKbps === need.minBandwidthKbps && sameChoices(previous?.choices, need.choices);
  return { need, all, everywhere, byNetwork, likeThePrevious };
}

function byName(one: Option, other: Option): number {
  return one.pool < other.pool ? -1 : one.pool > other.pool ? 1 : 0;
}

function leftFor(stock: Stock, pool: PoolKey, takes: readonly IpVersion[]): number {
  let left = Infinity;
  for (const version of takes) left = Math.min(left, Number(stock.free(pool, version)));
  return left;
}

function sameChoices(one: NicNeed['choices'] | undefined, other: NicNeed['choices']): boolean {
  if (one === other) return true;
  if (one?.length !== other.length) return false;
  return other.every(({ pool, takes }, at) => one[at]?.pool === pool && String(one[at].takes) === String(takes));
}

/** Whether two NICs may want addresses of one pool. */
function contend(nics: readonly NicOptions[]): boolean {
  if (nics.length < 2) return false;
  const wanted = new Set<PoolKey>();
  for (const { all } of nics) {
    const pools = new Set(all.flatMap(({ pool, takes }) => (takes.length > 0 ? [pool] : [])));
    for (const pool of pools) {
      if (wanted.has(pool)) return true;
      wanted.add(pool);
    }
  }
  return false;
}

function sumOfLeft(options: readonly Option[]): number {
  return options.reduce((sum, { left }) => sum + left, 0);
}

/**
 * The first assignment, in the order of the NICs and of what they prefer, under which nothing is asked of a pool or of a
 * physical network that it does not have. NICs that want the same never try each other's turns.
 */
class Assignment {
  readonly #places: Places;
  readonly #stock: Stock;
  readonly #bandwidth: Bandwidth;
  readonly #taken = new Map<string, number>();
  readonly #chosen: Option[] = [];
  #tries = 0;

  constructor(places: Places, stock: Stock, bandwidth: Bandwidth) {
    this.#places = places;
    this.#stock = stock;
    this.#bandwidth = bandwidth;
  }

  find(reach: Reach): readonly Option[] | undefined {
    const { nics } = this.#places;
    const options = nics.map((nic) => reachable(nic, reach).filter(({ left }) => left > 0));
    // Without this, finding that twenty equal NICs do not fit would try every way in which they do not.
    for (let nic = 0, alike = 0; nic < nics.length; nic += 1) {
      alike = nics[nic]?.likeThePrevious === true ? alike + 1 : 1;
      if (sumOfLeft(options[nic] as readonly Option[]) < alike) return undefined;
    }
    return this.#fill(options, 0, 0) ? this.#chosen : undefined;
  }

  #fill(options: readonly (readonly Option[])[], nic: number, from: number): boolean {
    const mine = options[nic];
    if (mine === undefined) return true;
    for (let at = from; at < mine.length; at += 1) {
      const option = mine[at] as Option;
      this.#tries += 1;
      if (this.#tries > TRIES_MAX) return false;
      if (!this.#hasRoom(option, nic)) continue;
      this.#take(option, nic, 1);
      this.#chosen[nic] = option;
      const next = this.#places.nics[nic + 1]?.likeThePrevious === true ? at : 0;
      if (this.#fill(options, nic + 1, next)) return true;
      this.#take(option, nic, -1);
    }
    return false;
  }

  #hasRoom({ pool, takes, physicalNetwork }: Option, nic: number): boolean {
    for (const version of takes) {
      if ((this.#taken.get(`${pool}|${version}`) ?? 0) >= Number(this.#stock.free(pool, version))) return false;
    }
    const { minBandwidthKbps } = (this.#places.nics[nic] as NicOptions).need;
    if (minBandwidthKbps === undefined || physicalNetwork === undefined) return true;
    const resource = bandwidthClass(physicalNetwork);
    return (this.#taken.get(resource) ?? 0) + minBandwidthKbps <= this.#bandwidth(resource);
  }

  #take({ pool, takes, physicalNetwork }: Option, nic: number, by: 1 | -1): void {
    for (const version of takes) this.#add(`${pool}|${version}`, by);
    const { minBandwidthKbps } = (this.#places.nics[nic] as NicOptions).need;
    if (minBandwidthKbps === undefined || physicalNetwork === undefined) return;
    this.#add(bandwidthClass(physicalNetwork), by * minBandwidthKbps);
  }

  #add(key: string, amount: number): void {
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + amount);
  }
}

// The pools in which a NIC may be placed, with the stock of each, by the physical networks that lead to them. The set of pools changes seldom and is
// computed once; the stock is read for each request.
import type { PoolCounters, NicRequirements, PoolChoice, PoolKey, Stock } from '../../network/index.ts';
import { BayTerms } from './bay-terms.ts';
import type { NetworkReach } from '../host-index/bay-groups.ts';
import type { NicPlacement } from './nic-placements.ts';

/** The choices of a NIC, sorted by how they are reached, and identified by their index. */
interface PoolIndex {
  readonly stock: Stock;
  readonly everywhere: readonly number[];
  readonly byNetwork: ReadonlyMap<string, readonly number[]>;
  /** By the number of a reach: the choices that its hosts have. */
  readonly reached: ReachChoices[];
  /** By choice, one for each version that is needed. */
  readonly stocks: readonly (readonly PoolCounters[])[];
  /** The stock without exclusions. One request ends before the next begins. */
  readonly levels: StockLevels;
}

/** The number of a removed reach may be reused. */
interface ReachChoices {
  readonly reach: NetworkReach;
  readonly choices: readonly number[];
}

/** The stock of the pools, and the placements that follow from it. */
interface StockLevels {
  /** By choice: Infinity where no address is needed, -Infinity where the pool is excluded. */
  readonly lefts: Float64Array;
  /** Of the scarcest pool and of the richest. */
  low: number;
  high: number;
  /** The multiplier of the stock weigher. */
  weight: number;
  /**
   * By choice: the placement of a request with one NIC, if it was computed since the last change. A placement changes the stock of one pool: most
   * results stay valid for the next request.
   */
  readonly places: (NicPlacement | undefined)[];
  /** The same by bay. */
  readonly bays: BayTerms;
}

/** By the list of choices: NICs on one network share the list, request after request. */
export type PoolIndexCache = WeakMap<readonly PoolChoice[], PoolIndex>;

const NONE: readonly number[] = [];

/** The context for the pools of all NICs of a request. */
export interface PlacementContext {
  readonly stock: Stock;
  readonly sorted: PoolIndexCache;
  readonly excluded: ReadonlySet<PoolKey>;
  /** The multiplier of the stock weigher. Below 0 a NIC prefers the pool with the least left. */
  readonly weight: number;
}

export class NicOptions {
  readonly requirements: NicRequirements;
  readonly #poolIndex: PoolIndex;
  readonly #prefersMost: boolean;
  readonly #levels: StockLevels;
  readonly #lefts: Float64Array;

  constructor(need: NicRequirements, { stock, sorted, excluded, weight }: PlacementContext) {
    this.requirements = need;
    this.#prefersMost = weight >= 0;
    this.#poolIndex = indexChoices(need.choices, stock, sorted);
    this.#levels = excluded.size === 0 ? this.#poolIndex.levels : newLevels(need.choices.length);
    this.#lefts = this.#levels.lefts;
    this.#read(excluded, weight);
  }

  /** Reads the stock, and drops the placements that are no longer valid. */
  #read(excluded: ReadonlySet<PoolKey>, weight: number): void {
    const levels = this.#levels;
    const { stocks } = this.#poolIndex;
    let low = Infinity;
    let high = -Infinity;
    for (let at = 0; at < stocks.length; at += 1) {
      const isOut = excluded.size > 0 && excluded.has(this.choice(at).pool);
      const left = isOut ? -Infinity : scarcestStock(stocks[at] as readonly PoolCounters[]);
      if (left !== this.#lefts[at]) {
        this.#lefts[at] = left;
        levels.places[at] = undefined;
        levels.bays.markChoiceChanged(at);
      }
      if (left === Infinity || left === -Infinity) continue;
      if (left < low) low = left;
      if (left > high) high = left;
    }
    if (low === levels.low && high === levels.high && weight === levels.weight) return;
    levels.low = low;
    levels.high = high;
    levels.weight = weight;
    levels.places.fill(undefined);
    levels.bays.markAllChanged();
  }

  choice(at: number): PoolChoice {
    return this.requirements.choices[at] as PoolChoice;
  }

  /** The lowest stock of the pool over the versions that the NIC needs. */
  stockLeft(at: number): number {
    return this.#lefts[at] as number;
  }

  /** The stock of the pool in the nth version that the NIC needs there. */
  leftOf(at: number, nth: number): number {
    const stock = this.#poolIndex.stocks[at]?.[nth];
    return stock?.freeCount ?? 0;
  }

  /** Where that lies between the scarcest and the richest pool of the NIC, 0..1. */
  share(at: number): number {
    const left = this.stockLeft(at);
    const { low, high } = this.#levels;
    return high > low && left !== Infinity ? (left - low) / (high - low) : 0;
  }

  /** The preferred choice on hosts with this reach, of those with stock; -1 for none. */
  best(reach: NetworkReach): number {
    const choices = reachedChoices(this.#poolIndex, reach);
    let best = -1;
    for (let nth = 0; nth < choices.length; nth += 1) {
      const at = choices[nth] as number;
      if ((this.#lefts[at] as number) > 0 && (best === -1 || this.#compare(at, best) < 0)) best = at;
    }
    return best;
  }

  /** By choice: the known placements of requests with this NIC alone. The function that computes one stores it. */
  get singleNicPlacements(): (NicPlacement | undefined)[] {
    return this.#levels.places;
  }

  /** By bay: the score term of such requests. */
  get singleNicTerms(): BayTerms {
    return this.#levels.bays;
  }

  /** The choices on hosts with this reach, in no order. */
  choicesWithin(reach: NetworkReach): readonly number[] {
    return reachedChoices(this.#poolIndex, reach);
  }

  /** The choices on hosts with this reach, by preference; including those without stock, without excluded ones. */
  preferredChoices(reach: NetworkReach): number[] {
    const found = reachedChoices(this.#poolIndex, reach);
    return found.filter((at) => this.stockLeft(at) !== -Infinity).sort((one, other) => this.#compare(one, other));
  }

  /** Whether hosts with this reach reach it at all, excluded pools counted. */
  isReachable(reach: NetworkReach): boolean {
    return reachedChoices(this.#poolIndex, reach).length > 0;
  }

  #compare(one: number, other: number): number {
    const left = this.stockLeft(one);
    const otherLeft = this.stockLeft(other);
    if (left !== otherLeft) return left > otherLeft === this.#prefersMost ? -1 : 1;
    return this.choice(one).pool < this.choice(other).pool ? -1 : 1;
  }

  /** Whether the two are interchangeable. */
  isInterchangeable({ requirements }: NicOptions): boolean {
    if (requirements.minBandwidthKbps !== this.requirements.minBandwidthKbps) return false;
    const [mine, its] = [this.requirements.choices, requirements.choices];
    if (mine === its) return true;
    return mine.length === its.length && mine.every(({ pool, takes }, at) => isSameChoice(its[at], pool, takes));
  }
}

function isSameChoice(choice: PoolChoice | undefined, pool: PoolKey, takes: PoolChoice['takes']): boolean {
  return choice?.pool === pool && String(choice.takes) === String(takes);
}

function reachedChoices(sorted: PoolIndex, reach: NetworkReach): readonly number[] {
  const known = sorted.reached[reach.id];
  return known?.reach === reach ? known.choices : collectReachedChoices(sorted, reach);
}

/** Separate from the look-up: a closure allocates its context even when it is not called. */
function collectReachedChoices({ everywhere, byNetwork, reached }: PoolIndex, reach: NetworkReach): readonly number[] {
  const choices = [...everywhere, ...reach.networks.flatMap((name) => byNetwork.get(name) ?? NONE)];
  // Filled up: a sparse list would be kept as a dictionary.
  while (reached.length <= reach.id) reached.push({ reach, choices });
  reached[reach.id] = { reach, choices };
  return choices;
}

function newLevels(choices: number): StockLevels {
  const places = Array.from({ length: choices }, () => undefined);
  return { lefts: new Float64Array(choices), low: 0, high: 0, weight: 0, places, bays: new BayTerms() };
}

function scarcestStock(stocks: readonly PoolCounters[]): number {
  let left = Infinity;
  for (const stock of stocks) if (stock.freeCount < left) left = stock.freeCount;
  return left;
}

function indexChoices(choices: readonly PoolChoice[], stock: Stock, sorted: PoolIndexCache): PoolIndex {
  const known = sorted.get(choices);
  if (known?.stock === stock) return known;
  const everywhere: number[] = [];
  const byNetwork = new Map<string, number[]>();
  for (const [at, { physicalNetwork }] of choices.entries()) {
    const shelf = physicalNetwork === undefined ? everywhere : byNetwork.get(physicalNetwork);
    if (shelf !== undefined) shelf.push(at);
    else byNetwork.set(physicalNetwork as string, [at]);
  }
  const stocks = choices.map(({ pool, takes }) => takes.map((version) => stock.countersOf(pool, version)));
  const made: PoolIndex = { stock, everywhere, byNetwork, reached: [], stocks, levels: newLevels(choices.length) };
  sorted.set(choices, made);
  return made;
}

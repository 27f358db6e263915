// Places the NICs of a request: on a host that reaches certain physical networks, an assignment of the NICs to pools that the address stock can serve. All
// hosts with the same reach have the same answer, so it is computed once for each.
import type { NicRequirements, PoolKey } from '../../network/index.ts';
import { Assignment, type Bandwidth } from './assignment.ts';
import type { BayTermSource } from './bay-terms.ts';
import type { BayGroup, BayGroups, NetworkReach } from '../host-index/bay-groups.ts';
import { NicOptions, type PlacementContext } from './nic-options.ts';
import { SCORE_UNIT } from '../host-index/weighing.ts';

/** The pools of a request's NICs on some host, and what they add to the host's score, in score units. */
export interface NicPlacement {
  readonly pools: readonly PoolKey[];
  readonly term: number;
}

/** For a request without NICs. */
const WITHOUT_NICS: NicPlacement = { pools: [], term: 0 };

/** Stands for none in a list of placements. */
const NO_PLACEMENT: NicPlacement = { pools: [], term: -Infinity };

const NO_CHOICES: readonly number[] = [];

const UNLIMITED: Bandwidth = () => Infinity;

export class NicPlacements implements BayTermSource {
  readonly nics: readonly NicOptions[];
  /** Whether a host's bandwidth counts: then each host is computed separately. */
  readonly needsBandwidth: boolean;
  /** No place adds more. */
  readonly termMax: number;
  readonly #weight: number;
  readonly #canContend: boolean;
  /** The NIC of a request with one. */
  readonly #singleNic: NicOptions | undefined;
  /** By the number of the reach. */
  readonly #byReach: (NicPlacement | undefined)[] = [];

  constructor(nics: readonly NicRequirements[], context: PlacementContext) {
    this.#weight = context.weight / SCORE_UNIT;
    this.nics = nics.map((need) => new NicOptions(need, context));
    this.needsBandwidth = nics.some(({ minBandwidthKbps }) => minBandwidthKbps !== undefined);
    this.termMax = Math.ceil(Math.max(0, this.#weight));
    this.#canContend = this.needsBandwidth || canContend(nics);
    this.#singleNic = this.#canContend || nics.length > 1 ? undefined : this.nics[0];
  }

  /** The placement on hosts with this reach, apart from their bandwidth. */
  placementFor(reach: NetworkReach): NicPlacement | undefined {
    if (this.nics.length === 0) return WITHOUT_NICS;
    if (this.#singleNic !== undefined) {
      const at = this.#singleNic.best(reach);
      return at === -1 ? undefined : (this.#singleNic.singleNicPlacements[at] ??= this.#place([at]));
    }
    let place = this.#byReach[reach.id];
    if (place === undefined) this.#byReach[reach.id] = place = this.#find(reach, UNLIMITED) ?? NO_PLACEMENT;
    return place === NO_PLACEMENT ? undefined : place;
  }

  /** By bay: no placement on one of its hosts adds more; -Infinity where there is none. Valid until the next request. */
  termsOfBays(bayGroups: BayGroups): Float64Array {
    if (this.#singleNic !== undefined) return this.#singleNic.singleNicTerms.compute(bayGroups, this);
    const terms = new Float64Array(bayGroups.bays).fill(-Infinity);
    for (const bayGroup of bayGroups.list()) {
      const term = this.#termIn(bayGroup);
      for (const bay of bayGroup.bays) terms[bay] = term;
    }
    return terms;
  }

  #termIn({ reach }: BayGroup): number {
    return reach === undefined ? this.termMax : this.termOn(reach);
  }

  termOn(reach: NetworkReach): number {
    const place = this.placementFor(reach);
    if (place === undefined) return -Infinity;
    return this.needsBandwidth ? this.termMax : place.term;
  }

  choicesOn(reach: NetworkReach): readonly number[] {
    return this.#singleNic?.choicesWithin(reach) ?? NO_CHOICES;
  }

  /** The placement that all hosts of a bay share; undefined where each has its own. */
  findSharedPlacement({ reach }: BayGroup): NicPlacement | undefined {
    return reach === undefined || this.needsBandwidth ? undefined : this.placementFor(reach);
  }

  /** The place on one host. */
  placementOn(reach: NetworkReach, bandwidth: Bandwidth): NicPlacement | undefined {
    const place = this.placementFor(reach);
    return place === undefined || !this.needsBandwidth ? place : this.#find(reach, bandwidth);
  }

  #find(reach: NetworkReach, bandwidth: Bandwidth): NicPlacement | undefined {
    if (this.#canContend) {
      const found = new Assignment(this.nics, bandwidth).find(reach);
      return found === undefined ? undefined : this.#place(found);
    }
    const chosen: number[] = [];
    for (const nic of this.nics) {
      const best = nic.best(reach);
      if (best === -1) return undefined;
      chosen.push(best);
    }
    return this.#place(chosen);
  }

  #place(chosen: readonly number[]): NicPlacement {
    const pools = chosen.map((at, nic) => (this.nics[nic] as NicOptions).choice(at).pool);
    let shares = 0;
    let taking = 0;
    for (let nic = 0; nic < chosen.length; nic += 1) {
      const at = chosen[nic] as number;
      const options = this.nics[nic] as NicOptions;
      if (options.choice(at).takes.length === 0) continue;
      shares += options.share(at);
      taking += 1;
    }
    return { pools, term: taking === 0 ? 0 : Math.floor((this.#weight * shares) / taking + 0.5) };
  }
}

/** Whether two NICs may need addresses of one pool. */
function canContend(nics: readonly NicRequirements[]): boolean {
  if (nics.length < 2) return false;
  const wanted = new Set<PoolKey>();
  for (const { choices } of nics) {
    const pools = new Set(choices.flatMap(({ pool, takes }) => (takes.length > 0 ? [pool] : [])));
    for (const pool of pools) {
      if (wanted.has(pool)) return true;
      wanted.add(pool);
    }
  }
  return false;
}

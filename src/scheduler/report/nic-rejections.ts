// Why the NICs of a request cannot be placed on hosts of a certain reach: a network that is not reached, excluded segments, or pools without enough
// addresses.
import { segmentOfPool } from '../../network/index.ts';
import type { PreparedRequest } from '../search/prepared-request.ts';
import type { NetworkReach } from '../host-index/bay-groups.ts';
import type { NicOptions } from '../nics/nic-options.ts';
import type { NicPlacements } from '../nics/nic-placements.ts';
import type { FilterRejection } from './report.ts';

export class NicRejections {
  readonly #places: NicPlacements;
  readonly #byReach = new Map<NetworkReach, FilterRejection | undefined>();

  constructor(places: NicPlacements) {
    this.#places = places;
  }

  rejectionFor(reach: NetworkReach): FilterRejection | undefined {
    if (!this.#byReach.has(reach)) this.#byReach.set(reach, this.#find(reach));
    return this.#byReach.get(reach);
  }

  #find(reach: NetworkReach): FilterRejection | undefined {
    if (this.#places.placementFor(reach) !== undefined) return undefined;
    const { nics } = this.#places;
    const cut = nics.find((nic) => !nic.isReachable(reach));
    if (cut !== undefined) return composeRejection('segments', 'segment-unreachable', cut, addressFacts(cut));
    const shut = nics.find((nic) => nic.preferredChoices(reach).length === 0);
    if (shut !== undefined) return composeRejection('excluded-segments', 'segment-excluded', shut);
    return this.#rejectExhausted(reach);
  }

  /**
   * The pools within reach have not enough addresses for all NICs together: each pool and version that is short is named, the worst first. If none is
   * short, the contention of the NICs prevents a complete assignment.
   */
  #rejectExhausted(reach: NetworkReach): FilterRejection | undefined {
    const wants = this.#demands(reach);
    const all = wants.flatMap(shortagesOf);
    const short = all.filter(({ free, asked }) => free < asked);
    const ranked = (short.length > 0 ? short : all).sort(compareByMissing);
    const [worst] = ranked;
    if (worst === undefined) return undefined;
    const { nic, ...facts } = worst;
    const others = short.length > 1 ? { short: shortagesText(ranked) } : {};
    return composeRejection('addresses', 'addresses-exhausted', nic, { ...facts, ...others });
  }

  /** How many NICs would use each pool within reach. */
  #demands(reach: NetworkReach): PoolDemand[] {
    const wanted = new Map<string, PoolDemand>();
    for (const nic of this.#places.nics) {
      for (const at of nic.preferredChoices(reach)) {
        const { pool, takes } = nic.choice(at);
        if (takes.length === 0) continue;
        const want = wanted.get(pool) ?? { nic, at, asked: 0 };
        want.asked += 1;
        wanted.set(pool, want);
      }
    }
    return [...wanted.values()];
  }
}

/** The segment of a NIC that keeps its address: that one is out of reach, others of the network may not be. */
function addressFacts({ requirements: { address, choices } }: NicOptions): Readonly<Record<string, string>> {
  if (address === undefined) return {};
  const pool = choices[0]?.pool;
  const segment = pool === undefined ? undefined : segmentOfPool(pool);
  return { address, ...(segment !== undefined && { segment }) };
}

interface PoolDemand {
  readonly nic: NicOptions;
  readonly at: number;
  asked: number;
}

/** The requested and the free addresses of a pool in one version. */
interface PoolShortage {
  readonly nic: NicOptions;
  readonly segment?: string;
  readonly version: number;
  readonly free: number;
  readonly asked: number;
}

function shortagesOf({ nic, at, asked }: PoolDemand): PoolShortage[] {
  const { pool, takes } = nic.choice(at);
  const segment = segmentOfPool(pool);
  return takes.map((version, nth) => ({
    nic,
    ...(segment !== undefined && { segment }),
    version,
    free: Math.max(0, nic.leftOf(at, nth)),
    asked,
  }));
}

/** No more are named in one sentence: a host reaches a few segments of a network. */
const NAMED_MAX = 40;

function shortagesText(stocks: readonly PoolShortage[]): string {
  const more = stocks.length - NAMED_MAX;
  return `${stocks.slice(0, NAMED_MAX).map(shortageText).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function compareByMissing(one: PoolShortage, other: PoolShortage): number {
  return other.asked - other.free - (one.asked - one.free) || (shortageText(one) < shortageText(other) ? -1 : 1);
}

/** `IPv4 in segment s0 of network n: 3 requested, 1 free`. */
function shortageText({ nic, segment, version, asked, free }: PoolShortage): string {
  const { network } = nic.requirements;
  const where = segment === undefined ? `on network ${network}` : `in segment ${segment} of network ${network}`;
  return `IPv${version} ${where}: ${asked} requested, ${free} free`;
}

/** For a host on which everything else fits. */
export function bandwidthRejection(
  { places, index: { table } }: PreparedRequest,
  slot: number,
): FilterRejection | undefined {
  if (!places.needsBandwidth) return undefined;
  const place = places.placementOn(table.reaches[slot] as NetworkReach, (resource) => table.leftOf(resource, slot));
  if (place !== undefined) return undefined;
  const [first, ...more] = places.nics.filter(({ requirements }) => requirements.minBandwidthKbps !== undefined);
  const requestedKbps = [first, ...more].reduce((sum, nic) => sum + (nic?.requirements.minBandwidthKbps ?? 0), 0);
  return composeRejection('bandwidth', 'bandwidth-short', first as NicOptions, { asked: requestedKbps });
}

function composeRejection(
  filter: FilterRejection['filter'],
  cause: string,
  { requirements }: NicOptions,
  facts: Readonly<Record<string, string | number>> = {},
): FilterRejection {
  return { filter, cause, facts: { network: requirements.network, ...facts } };
}

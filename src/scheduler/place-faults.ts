// Why the NICs of a request find no place on hosts of a certain reach: a network that is not reached, segments that were
// excluded, or pools without enough addresses.
import { segmentOfPool } from '../network/index.ts';
import type { Ask } from './ask.ts';
import type { Reach } from './clusters.ts';
import type { NicOptions } from './nic-options.ts';
import type { Places } from './places.ts';
import type { Fault } from './report.ts';

export class PlaceFaults {
  readonly #places: Places;
  readonly #byReach = new Map<Reach, Fault | undefined>();

  constructor(places: Places) {
    this.#places = places;
  }

  of(reach: Reach): Fault | undefined {
    if (!this.#byReach.has(reach)) this.#byReach.set(reach, this.#find(reach));
    return this.#byReach.get(reach);
  }

  #find(reach: Reach): Fault | undefined {
    if (this.#places.of(reach) !== undefined) return undefined;
    const { nics } = this.#places;
    const cut = nics.find((nic) => !nic.isReached(reach));
    if (cut !== undefined) return fault('segments', 'segment-unreachable', cut, heldFacts(cut));
    const shut = nics.find((nic) => nic.reachable(reach).length === 0);
    if (shut !== undefined) return fault('excluded-segments', 'segment-excluded', shut);
    return this.#exhausted(reach);
  }

  /**
   * The pools within reach do not have what all NICs together take of them: each pool and version that is short is named, the
   * one that lacks most first. What none is short of is not: then it is how NICs contend that keeps them from all being placed.
   */
  #exhausted(reach: Reach): Fault | undefined {
    const wants = this.#wants(reach);
    const all = wants.flatMap(stocksOf);
    const short = all.filter(({ free, asked }) => free < asked);
    const ranked = (short.length > 0 ? short : all).sort(byMissing);
    const [worst] = ranked;
    if (worst === undefined) return undefined;
    const { nic, ...facts } = worst;
    const others = short.length > 1 ? { short: stocksText(ranked) } : {};
    return fault('addresses', 'addresses-exhausted', nic, { ...facts, ...others });
  }

  /** How many NICs would take of each pool within reach. */
  #wants(reach: Reach): Want[] {
    const wanted = new Map<string, Want>();
    for (const nic of this.#places.nics) {
      for (const at of nic.reachable(reach)) {
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

/** Where a NIC that keeps its address has to go: that segment alone is out of reach, others of the network may not be. */
function heldFacts({ need: { address, choices } }: NicOptions): Readonly<Record<string, string>> {
  if (address === undefined) return {};
  const pool = choices[0]?.pool;
  const segment = pool === undefined ? undefined : segmentOfPool(pool);
  return { address, ...(segment !== undefined && { segment }) };
}

interface Want {
  readonly nic: NicOptions;
  readonly at: number;
  asked: number;
}

/** What is asked of a pool in one version, and what it has. */
interface PoolStock {
  readonly nic: NicOptions;
  readonly segment?: string;
  readonly version: number;
  readonly free: number;
  readonly asked: number;
}

function stocksOf({ nic, at, asked }: Want): PoolStock[] {
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

/** More are not named in one sentence: a host reaches a few segments of a network. */
const NAMED_MAX = 40;

function stocksText(stocks: readonly PoolStock[]): string {
  const more = stocks.length - NAMED_MAX;
  return `${stocks.slice(0, NAMED_MAX).map(stockText).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}

function byMissing(one: PoolStock, other: PoolStock): number {
  return other.asked - other.free - (one.asked - one.free) || (stockText(one) < stockText(other) ? -1 : 1);
}

/** `IPv4 in segment s0 of network n: 3 asked, 1 free`. */
function stockText({ nic, segment, version, asked, free }: PoolStock): string {
  const { network } = nic.need;
  const where = segment === undefined ? `on network ${network}` : `in segment ${segment} of network ${network}`;
  return `IPv${version} ${where}: ${asked} asked, ${free} free`;
}

/** For a host on which everything else fits. */
export function bandwidthFault({ places, index: { table } }: Ask, slot: number): Fault | undefined {
  if (!places.needsBandwidth) return undefined;
  const place = places.at(table.reaches[slot] as Reach, (resource) => table.leftOf(resource, slot));
  if (place !== undefined) return undefined;
  const [first, ...more] = places.nics.filter(({ need }) => need.minBandwidthKbps !== undefined);
  const asked = [first, ...more].reduce((sum, nic) => sum + (nic?.need.minBandwidthKbps ?? 0), 0);
  return fault('bandwidth', 'bandwidth-short', first as NicOptions, { asked });
}

function fault(
  filter: Fault['filter'],
  cause: string,
  { need }: NicOptions,
  facts: Readonly<Record<string, string | number>> = {},
): Fault {
  return { filter, cause, facts: { network: need.network, ...facts } };
}

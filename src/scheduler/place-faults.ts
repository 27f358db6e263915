// Why the NICs of a request find no place on hosts of a certain reach: a network that is not reached, segments that were
// excluded, or pools without enough addresses.
import type { FleetReader } from '../fleet/index.ts';
import { segmentOfPool, stockOf, type Stock } from '../network/index.ts';
import type { Ask } from './ask.ts';
import type { Reach } from './clusters.ts';
import { reachable, type NicOptions, type Option, type Places } from './places.ts';
import type { Fault } from './report.ts';

export class PlaceFaults {
  readonly #places: Places;
  readonly #stock: Stock;
  readonly #byReach = new Map<Reach, Fault | undefined>();

  constructor(places: Places, fleet: FleetReader) {
    this.#places = places;
    this.#stock = stockOf(fleet);
  }

  of(reach: Reach): Fault | undefined {
    if (!this.#byReach.has(reach)) this.#byReach.set(reach, this.#find(reach));
    return this.#byReach.get(reach);
  }

  #find(reach: Reach): Fault | undefined {
    if (this.#places.of(reach) !== undefined) return undefined;
    const { nics } = this.#places;
    const cut = nics.find(({ need }) => !need.choices.some(({ physicalNetwork: name }) => reaches(reach, name)));
    if (cut !== undefined) return fault('segments', 'segment-unreachable', cut);
    const shut = nics.find((nic) => reachable(nic, reach).length === 0);
    if (shut !== undefined) return fault('excluded-segments', 'segment-excluded', shut);
    const dry = nics.find((nic) => reachable(nic, reach).every(({ left }) => left <= 0));
    return dry === undefined ? this.#contended(reach) : this.#exhausted(dry, reachable(dry, reach)[0] as Option, 1);
  }

  /** Each NIC for itself would find an address, all of them together do not: the pool that is shortest of what is asked. */
  #contended(reach: Reach): Fault | undefined {
    const wanted = new Map<string, { readonly nic: NicOptions; readonly option: Option; asked: number }>();
    for (const nic of this.#places.nics) {
      for (const option of reachable(nic, reach)) {
        if (option.takes.length === 0) continue;
        const want = wanted.get(option.pool) ?? { nic, option, asked: 0 };
        want.asked += 1;
        wanted.set(option.pool, want);
      }
    }
    const [worst] = [...wanted.values()].sort(
      (one, other) => one.option.left - one.asked - other.option.left + other.asked,
    );
    return worst === undefined ? undefined : this.#exhausted(worst.nic, worst.option, worst.asked);
  }

  #exhausted(nic: NicOptions, { pool, takes }: Option, asked: number): Fault {
    const frees = takes.map((version) => ({ version, free: Number(this.#stock.free(pool, version)) }));
    const [scarcest] = frees.sort((one, other) => one.free - other.free);
    const segment = segmentOfPool(pool);
    const free = Math.max(0, scarcest?.free ?? 0);
    const facts = { ...(segment !== undefined && { segment }), version: scarcest?.version ?? 4, asked, free };
    return fault('addresses', 'addresses-exhausted', nic, facts);
  }
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

function reaches({ networks }: Reach, physicalNetwork: string | undefined): boolean {
  return physicalNetwork === undefined || networks.includes(physicalNetwork);
}

function fault(
  filter: Fault['filter'],
  cause: string,
  { need }: NicOptions,
  facts: Readonly<Record<string, string | number>> = {},
): Fault {
  return { filter, cause, facts: { network: need.network, ...facts } };
}

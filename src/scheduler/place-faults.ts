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
    const dry = nics.find((nic) => nic.best(reach) === -1);
    return dry === undefined ? this.#contended(reach) : this.#dry(dry, dry.reachable(reach)[0] as number);
  }

  /** All pools within reach are empty: the one that the NIC likes best, and how many NICs would take of it. */
  #dry(nic: NicOptions, at: number): Fault {
    const { pool } = nic.choice(at);
    const wants = ({ need }: NicOptions): boolean =>
      need.choices.some((choice) => choice.pool === pool && choice.takes.length > 0);
    return exhausted(nic, at, this.#places.nics.filter(wants).length);
  }

  /** Each NIC for itself would find an address, all of them together do not: the pool that is shortest of what is asked. */
  #contended(reach: Reach): Fault | undefined {
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
    const [worst] = [...wanted.values()].sort((one, other) => missing(other) - missing(one));
    return worst === undefined ? undefined : exhausted(worst.nic, worst.at, worst.asked);
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

function missing({ nic, at, asked }: Want): number {
  return asked - nic.left(at);
}

function exhausted(nic: NicOptions, at: number, asked: number): Fault {
  const { pool, takes } = nic.choice(at);
  const frees = takes.map((version, nth) => ({ version, free: Math.max(0, nic.leftOf(at, nth)) }));
  const [scarcest] = frees.sort((one, other) => one.free - other.free);
  const segment = segmentOfPool(pool);
  const facts = { ...(segment !== undefined && { segment }), ...scarcest, asked };
  return fault('addresses', 'addresses-exhausted', nic, facts);
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

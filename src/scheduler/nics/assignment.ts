// Assigns several NICs that contend for pools or bandwidth.
import { bandwidthClass, type PoolChoice } from '../../network/index.ts';
import type { NetworkReach } from '../host-index/bay-groups.ts';
import type { NicOptions } from './nic-options.ts';

/** The free bandwidth of a host on a physical network, or of the host itself. */
export type Bandwidth = (resource: string) => number;

/** Pathological contention: beyond this many tries a host is skipped. */
const TRIES_MAX = 20_000;

/**
 * The first assignment, in the order of the NICs and of their preferences, that exceeds no pool and no physical network. Permutations of equal NICs are
 * not tried.
 */
export class Assignment {
  readonly #nics: readonly NicOptions[];
  readonly #bandwidth: Bandwidth;
  readonly #taken = new Map<string, number>();
  readonly #chosen: number[] = [];
  #tries = 0;

  constructor(nics: readonly NicOptions[], bandwidth: Bandwidth) {
    this.#nics = nics;
    this.#bandwidth = bandwidth;
  }

  /** One choice for each NIC. */
  find(reach: NetworkReach): readonly number[] | undefined {
    const options = this.#nics.map((nic) => nic.preferredChoices(reach).filter((at) => nic.stockLeft(at) > 0));
    // Without this, finding that twenty equal NICs do not fit would try every permutation.
    for (let nic = 0, alike = 0; nic < options.length; nic += 1) {
      alike = this.#isLikePrevious(nic) ? alike + 1 : 1;
      if (this.#sumOfLeft(nic, options[nic] as readonly number[]) < alike) return undefined;
    }
    return this.#fill(options, 0, 0) ? this.#chosen : undefined;
  }

  #sumOfLeft(nic: number, options: readonly number[]): number {
    return options.reduce((sum, at) => sum + (this.#nics[nic] as NicOptions).stockLeft(at), 0);
  }

  #isLikePrevious(nic: number): boolean {
    const [before, it] = [this.#nics[nic - 1], this.#nics[nic]];
    return before !== undefined && it?.isInterchangeable(before) === true;
  }

  #fill(options: readonly (readonly number[])[], nic: number, from: number): boolean {
    const mine = options[nic];
    if (mine === undefined) return true;
    const next = this.#isLikePrevious(nic + 1);
    for (let nth = from; nth < mine.length; nth += 1) {
      this.#tries += 1;
      if (this.#tries > TRIES_MAX) return false;
      const at = mine[nth] as number;
      const it = this.#nics[nic] as NicOptions;
      if (!this.#hasRoom(it, at)) continue;
      this.#take(it, at, 1);
      this.#chosen[nic] = at;
      if (this.#fill(options, nic + 1, next ? nth : 0)) return true;
      this.#take(it, at, -1);
    }
    return false;
  }

  #hasRoom(nic: NicOptions, at: number): boolean {
    const choice = nic.choice(at);
    for (const [nth, version] of choice.takes.entries()) {
      if ((this.#taken.get(`${choice.pool}|${version}`) ?? 0) >= nic.leftOf(at, nth)) return false;
    }
    const resource = bandwidthOf(nic, choice);
    if (resource === undefined) return true;
    return (this.#taken.get(resource) ?? 0) + (nic.requirements.minBandwidthKbps ?? 0) <= this.#bandwidth(resource);
  }

  #take(nic: NicOptions, at: number, by: 1 | -1): void {
    const choice = nic.choice(at);
    for (const version of choice.takes) this.#add(`${choice.pool}|${version}`, by);
    const resource = bandwidthOf(nic, choice);
    if (resource !== undefined) this.#add(resource, by * (nic.requirements.minBandwidthKbps ?? 0));
  }

  #add(key: string, amount: number): void {
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + amount);
  }
}

function bandwidthOf({ requirements }: NicOptions, { physicalNetwork }: PoolChoice): string | undefined {
  return requirements.minBandwidthKbps === undefined ? undefined : bandwidthClass(physicalNetwork);
}

// The cached profiles: one of all schedulable hosts, and one for each of the recently requested amounts. Flavors are few and claims change one block at
// a time, so a profile's rows stay valid for long.
import { BAY_BLOCKS } from './bits.ts';
import { FIGURES, type HostTable } from './host-table.ts';
import { Profile } from './profile.ts';
import type { Amounts } from '../request.ts';
import { NO_REQUIREMENTS, type ScoreRows, type RequiredResources } from './score-rows.ts';
import type { SchedulerSettings, Weights } from '../settings.ts';
import { UNWEIGHED, computeWeighing, type Extremes, type Weighing } from './weighing.ts';

/** About 200 KB each at 10^5 hosts. A dropped one costs an evaluation of the promising blocks. */
const PROFILES_MAX = 48;

export class Profiles {
  readonly #table: HostTable;
  readonly #all: Profile;
  readonly #byAmounts = new Map<string, AmountsProfile>();
  /** The last requested one. */
  #last: AmountsProfile | undefined;
  readonly #extremes: Extremes = {
    low: new Float64Array(FIGURES).fill(Infinity),
    high: new Float64Array(FIGURES).fill(-Infinity),
  };
  /** The ends of a block before it changed. */
  readonly #lows = new Float64Array(FIGURES);
  readonly #highs = new Float64Array(FIGURES);
  #weighing: Weighing = UNWEIGHED;
  #weights: Weights | undefined;

  constructor(table: HostTable) {
    this.#table = table;
    this.#all = new Profile(table, NO_REQUIREMENTS);
  }

  /** The weighing over the present fleet. Costs O(changed blocks). */
  weighing(weights: Weights): Weighing {
    const changed = this.#table.takeChangedBlocks();
    if (changed.length === 0 && weights === this.#weights) return this.#weighing;
    let isOther = weights !== this.#weights;
    for (const block of changed) if (this.#refreshExtremes(block)) isOther = true;
    this.#weights = weights;
    if (isOther) this.#weighing = computeWeighing(this.#weighing, weights, this.#extremes);
    this.#all.refreshSome(this.#weighing);
    return this.#weighing;
  }

  /**
   * Updates the extremes from a block that changed, scanning all bays only for an extreme that its bay had and has no more. True when an extreme
   * differs then.
   */
  #refreshExtremes(block: number): boolean {
    const { low, high } = this.#extremes;
    const { bays } = this.#all;
    const bay = Math.floor(block / BAY_BLOCKS);
    const lows = this.#lows;
    const highs = this.#highs;
    for (let figure = 0; figure < FIGURES; figure += 1) {
      lows[figure] = bays.low(bay, figure);
      highs[figure] = bays.high(bay, figure);
    }
    this.#all.refresh(block, this.#weighing);
    this.#all.ensureRow(bay, this.#weighing);
    let isOther = false;
    for (let figure = 0; figure < FIGURES; figure += 1) {
      const least = bays.low(bay, figure);
      const most = bays.high(bay, figure);
      const lowBefore = low[figure] as number;
      const highBefore = high[figure] as number;
      if (least <= lowBefore) low[figure] = least;
      else if (lows[figure] === lowBefore) low[figure] = bays.extreme(figure, 'low');
      if (most >= highBefore) high[figure] = most;
      else if (highs[figure] === highBefore) high[figure] = bays.extreme(figure, 'high');
      if (low[figure] !== lowBefore || high[figure] !== highBefore) isOther = true;
    }
    return isOther;
  }

  profileFor(amounts: Amounts, { instancesPerHostMax }: SchedulerSettings): AmountsProfile {
    const instancesMax = instancesPerHostMax === 0 ? Infinity : instancesPerHostMax;
    if (this.#last?.isFor(amounts, instancesMax) === true) return this.#last;
    const key = keyOf(amounts, instancesMax);
    const found =
      this.#byAmounts.get(key) ?? new AmountsProfile(this.#table, this.#all, this.#requiredOf(amounts, instancesMax));
    this.#last = found;
    // The least recently requested one comes first.
    this.#byAmounts.delete(key);
    this.#byAmounts.set(key, found);
    if (this.#byAmounts.size > PROFILES_MAX) {
      for (const oldest of this.#byAmounts.keys()) {
        this.#byAmounts.delete(oldest);
        break;
      }
    }
    return found;
  }

  #requiredOf({ memoryMiB, vcpus, diskGiB, resources = {} }: Amounts, instancesMax: number): RequiredResources {
    return {
      memoryMiB,
      vcpus,
      diskGiB,
      instancesMax,
      resources: Object.entries(resources).map(([name, amount]) => ({ column: this.#table.column(name), amount })),
    };
  }
}

/** A profile for some amounts, with the one of all hosts as fallback where a row is stale. */
export class AmountsProfile extends Profile {
  readonly #all: Profile;
  /** By bay: the result of `upperBoundOfBay`, and the version of its bay, plus one; 0 for none. */
  #upperBounds = new Float64Array(0);
  #versions = new Uint32Array(0);
  /** The weighing of these bounds. */
  #weighing: Weighing | undefined;
  #refreshedRows = 0;

  constructor(table: HostTable, all: Profile, wanted: RequiredResources) {
    super(table, wanted);
    this.#all = all;
  }

  /** Whether it is for these amounts, compared with the last request. Amounts with resources are looked up. */
  isFor({ memoryMiB, vcpus, diskGiB, resources }: Amounts, instancesMax: number): boolean {
    const { required } = this;
    if (resources !== undefined || required.resources.length > 0 || instancesMax !== required.instancesMax)
      return false;
    return memoryMiB === required.memoryMiB && vcpus === required.vcpus && diskGiB === required.diskGiB;
  }

  /**
   * By bay: no host of it on which the amounts fit has a higher score. Valid until the next change. A placement changes one bay: only those that
   * changed since the last call are computed.
   */
  upperBoundsOfBays(weighing: Weighing): Float64Array {
    const { bayVersions } = this.table;
    if (this.#versions.length < bayVersions.length) {
      this.#upperBounds = new Float64Array(bayVersions.length);
      this.#versions = new Uint32Array(bayVersions.length);
    } else if (weighing !== this.#weighing || this.#all.refreshedRows !== this.#refreshedRows) this.#versions.fill(0);
    this.#weighing = weighing;
    this.#refreshedRows = this.#all.refreshedRows;
    for (let bay = 0; bay < bayVersions.length; bay += 1) {
      const version = (bayVersions[bay] as number) + 1;
      if (this.#versions[bay] === version) continue;
      this.#upperBounds[bay] = this.#upperBoundOfBay(bay, weighing);
      this.#versions[bay] = version;
    }
    return this.#upperBounds;
  }

  override refresh(block: number, weighing: Weighing): void {
    super.refresh(block, weighing);
    // The bay may have a more precise row now.
    const bay = Math.floor(block / BAY_BLOCKS);
    if (bay < this.#versions.length) this.#versions[bay] = 0;
  }

  /** No host of the bay on which the amounts fit has a higher score, whether or not its row is fresh. */
  #upperBoundOfBay(bay: number, weighing: Weighing): number {
    if (this.bays.isSettled(bay, weighing)) return this.bays.top(bay);
    if (this.#isLeaderFitting(this.#all.bays, bay, weighing)) return this.#all.bays.top(bay);
    if (this.ensureRow(bay, weighing)) return this.bays.bound(bay, weighing);
    this.#all.ensureRow(bay, weighing);
    return this.#fallbackBound(this.#all.bays, bay, weighing);
  }

  upperBoundOfBlock(block: number, weighing: Weighing): number {
    if (this.blocks.isSettled(block, weighing)) return this.blocks.top(block);
    if (this.#isLeaderFitting(this.#all.blocks, block, weighing)) return this.#all.blocks.top(block);
    if (this.blocks.isFresh(block)) return this.blocks.bound(block, weighing);
    return this.#fallbackBound(this.#all.blocks, block, weighing);
  }

  /** The slot of the best host of a block, of several the one with the lowest id; -1 when that needs an evaluation. */
  leaderOfBlock(block: number, weighing: Weighing): number {
    if (this.blocks.isExact(block, weighing)) return this.blocks.leader(block);
    return this.#isLeaderFitting(this.#all.blocks, block, weighing) ? this.#all.blocks.leader(block) : -1;
  }

  /**
   * Whether the best of all hosts of a set is known and has room for the amounts: then it is the best of those that have, and its score is theirs. Not
   * where balance counts, which depends on the amounts.
   */
  #isLeaderFitting(all: ScoreRows, set: number, weighing: Weighing): boolean {
    return weighing.balance === 0 && all.isExact(set, weighing) && this.fits(all.leader(set));
  }

  #fallbackBound(all: ScoreRows, set: number, weighing: Weighing): number {
    if (!all.canFit(set, this.required)) return -Infinity;
    // The balance of hosts before the placement does not imply their balance after it.
    return weighing.balance === 0 ? all.bound(set, weighing) : all.boxBound(set, weighing, this.required);
  }

  /** No host of the bay that reaches the bound has a lower id than the host in this slot; undefined if none is known. */
  earliestOfBay(bay: number, weighing: Weighing, bound: number): number | undefined {
    if (this.bays.isExact(bay, weighing)) return this.bays.leader(bay);
    return earliest(this.#all.bays, bay, weighing, bound);
  }

  earliestOfBlock(block: number, weighing: Weighing, bound: number): number | undefined {
    if (this.blocks.isExact(block, weighing)) return this.blocks.leader(block);
    return earliest(this.#all.blocks, block, weighing, bound);
  }
}

function earliest(all: ScoreRows, set: number, weighing: Weighing, bound: number): number | undefined {
  const isExact = weighing.balance === 0 && all.isExact(set, weighing);
  return isExact && all.bound(set, weighing) === bound ? all.leader(set) : undefined;
}

function keyOf({ memoryMiB, vcpus, diskGiB, resources }: Amounts, instancesMax: number): string {
  const basic = `${memoryMiB}/${vcpus}/${diskGiB}/${instancesMax}`;
  if (resources === undefined) return basic;
  const further = Object.entries(resources).sort(([one], [other]) => (one < other ? -1 : 1));
  return further.length === 0 ? basic : `${basic}/${JSON.stringify(further)}`;
}

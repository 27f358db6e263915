// The profiles that are in use: one of all hosts that can be scheduled to, and one for each of the amounts that were asked
// for lately. Flavors are few and claims change one block at a time, so a profile's rows stay good for long.
import { BAY_BLOCKS } from './bits.ts';
import { FIGURES, type HostTable } from './host-table.ts';
import { Profile } from './profile.ts';
import type { Amounts } from './request.ts';
import { NOTHING_WANTED, type Rows, type Wanted } from './rows.ts';
import type { SchedulerSettings, Weights } from './settings.ts';
import { UNWEIGHED, weighingOf, type Extremes, type Weighing } from './weighing.ts';

/** About 200 KB each at 10^5 hosts. One that is forgotten costs a look at the blocks that seem good enough. */
const PROFILES_MAX = 48;

export class Profiles {
  readonly #table: HostTable;
  readonly #all: Profile;
  readonly #byAmounts = new Map<string, AmountsProfile>();
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
    this.#all = new Profile(table, NOTHING_WANTED);
  }

  /** The weighing over the fleet as it is now. Costs a look at the blocks that changed. */
  weighing(weights: Weights): Weighing {
    const changed = this.#table.takeChanged();
    if (changed.length === 0 && weights === this.#weights) return this.#weighing;
    for (const block of changed) this.#look(block);
    this.#weights = weights;
    this.#weighing = weighingOf(this.#weighing, weights, this.#extremes);
    this.#all.tidy(this.#weighing);
    return this.#weighing;
  }

  /** Looks at a block that changed, and at all bays only for an extreme that its bay had and has no more. */
  #look(block: number): void {
    const { low, high } = this.#extremes;
    const { bays } = this.#all;
    const bay = Math.floor(block / BAY_BLOCKS);
    const [lows, highs] = [this.#lows, this.#highs];
    for (let figure = 0; figure < FIGURES; figure += 1) {
      lows[figure] = bays.low(bay, figure);
      highs[figure] = bays.high(bay, figure);
    }
    this.#all.refresh(block, this.#weighing);
    this.#all.hasRow(bay, this.#weighing);
    for (let figure = 0; figure < FIGURES; figure += 1) {
      const least = bays.low(bay, figure);
      const most = bays.high(bay, figure);
      if (least <= (low[figure] as number)) low[figure] = least;
      else if (lows[figure] === low[figure]) low[figure] = bays.extreme(figure, 'low');
      if (most >= (high[figure] as number)) high[figure] = most;
      else if (highs[figure] === high[figure]) high[figure] = bays.extreme(figure, 'high');
    }
  }

  of(amounts: Amounts, { instancesPerHostMax }: SchedulerSettings): AmountsProfile {
    const key = keyOf(amounts, instancesPerHostMax);
    const found =
      this.#byAmounts.get(key) ??
      new AmountsProfile(this.#table, this.#all, this.#wanted(amounts, instancesPerHostMax));
    // The one that was not asked for longest stands first.
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

  #wanted({ memoryMiB, vcpus, diskGiB, resources = {} }: Amounts, instancesPerHostMax: number): Wanted {
    return {
      memoryMiB,
      vcpus,
      diskGiB,
      instancesMax: instancesPerHostMax === 0 ? Infinity : instancesPerHostMax,
      resources: Object.entries(resources).map(([name, amount]) => ({ column: this.#table.column(name), amount })),
    };
  }
}

/** A profile for some amounts, with the one of all hosts to fall back upon where a row is not fresh. */
export class AmountsProfile extends Profile {
  readonly #all: Profile;

  constructor(table: HostTable, all: Profile, wanted: Wanted) {
    super(table, wanted);
    this.#all = all;
  }

  /** No host of the bay on which the amounts fit has a higher score, whether or not its row is fresh. */
  upperOfBay(bay: number, weighing: Weighing): number {
    if (this.hasRow(bay, weighing)) return this.bays.bound(bay, weighing);
    this.#all.hasRow(bay, weighing);
    return this.#fallBack(this.#all.bays, bay, weighing);
  }

  upperOfBlock(block: number, weighing: Weighing): number {
    if (this.blocks.isFresh(block)) return this.blocks.bound(block, weighing);
    return this.#fallBack(this.#all.blocks, block, weighing);
  }

  #fallBack(all: Rows, set: number, weighing: Weighing): number {
    if (!all.mayFit(set, this.wanted)) return -Infinity;
    // How well balanced hosts are before the placement says nothing of how they are after it.
    return weighing.balance === 0 ? all.bound(set, weighing) : all.box(set, weighing, this.wanted);
  }

  /** No host of the bay that comes up to the bound has a lower id than the host in this slot; undefined if none is known. */
  earliestOfBay(bay: number, weighing: Weighing, bound: number): number | undefined {
    return earliest([this.bays, this.#all.bays], bay, weighing, bound);
  }

  earliestOfBlock(block: number, weighing: Weighing, bound: number): number | undefined {
    return earliest([this.blocks, this.#all.blocks], block, weighing, bound);
  }
}

function earliest(
  [own, all]: readonly [Rows, Rows],
  set: number,
  weighing: Weighing,
  bound: number,
): number | undefined {
  if (own.isExact(set, weighing)) return own.leader(set);
  const told = weighing.balance === 0 && all.isExact(set, weighing);
  return told && all.bound(set, weighing) === bound ? all.leader(set) : undefined;
}

function keyOf({ memoryMiB, vcpus, diskGiB, resources }: Amounts, instancesMax: number): string {
  const basic = `${memoryMiB}/${vcpus}/${diskGiB}/${instancesMax}`;
  if (resources === undefined) return basic;
  const further = Object.entries(resources).sort(([one], [other]) => (one < other ? -1 : 1));
  return further.length === 0 ? basic : `${basic}/${JSON.stringify(further)}`;
}

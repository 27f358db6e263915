// The profiles that are in use: one of all hosts that can be scheduled to, and one for each of the amounts that were asked
// for lately. Flavors are few and claims change one block at a time, so a profile's rows stay good for long.
import type { HostTable } from './host-table.ts';
import { NOTHING_WANTED, Profile, type Wanted } from './profile.ts';
import type { Amounts } from './request.ts';
import type { SchedulerSettings, Weights } from './settings.ts';
import { UNWEIGHED, weighingOf, type Weighing } from './weighing.ts';

/** About 150 KB each at 10^5 hosts. One that is forgotten costs a look at the blocks that seem good enough. */
const PROFILES_MAX = 64;

/** Scoring an imbalance of hosts before the placement bounds nothing: a profile of its own has to be made for the amounts. */
const UNBOUNDED = Infinity;

export class Profiles {
  readonly #table: HostTable;
  readonly #all: Profile;
  readonly #byAmounts = new Map<string, AmountsProfile>();
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
    for (const block of changed) this.#all.refresh(block, this.#weighing);
    this.#weights = weights;
    this.#weighing = weighingOf(this.#weighing, weights, this.#all.extremes());
    return this.#weighing;
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
  readonly #asked: Wanted;

  constructor(table: HostTable, all: Profile, wanted: Wanted) {
    super(table, wanted);
    this.#all = all;
    this.#asked = wanted;
  }

  /** No host of the block on which the amounts fit has a higher score, whether or not the row is fresh. */
  upper(block: number, weighing: Weighing): number {
    if (this.isFresh(block)) return this.bound(block, weighing);
    const box = this.#all.box(block, weighing, this.#asked);
    if (box === -Infinity) return box;
    return Math.min(box, weighing.balance === 0 ? this.#all.bound(block, weighing) : UNBOUNDED);
  }
}

function keyOf({ memoryMiB, vcpus, diskGiB, resources }: Amounts, instancesMax: number): string {
  const basic = `${memoryMiB}/${vcpus}/${diskGiB}/${instancesMax}`;
  if (resources === undefined) return basic;
  const further = Object.entries(resources).sort(([one], [other]) => (one < other ? -1 : 1));
  return further.length === 0 ? basic : `${basic}/${JSON.stringify(further)}`;
}

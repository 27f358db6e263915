// A request prepared for the search: names resolved, figures computed, everything that is the same for all hosts done once.
import { valueOf, type FleetReader } from '../../fleet/index.ts';
import { stockOf, type PoolKey } from '../../network/index.ts';
import { amountsOf } from '../amounts.ts';
import { hostIndexOf, type HostIndex } from '../host-index/host-index.ts';
import type { GroupTally } from '../host-index/usage-ledger.ts';
import { NicPlacements } from '../nics/nic-placements.ts';
import type { AmountsProfile } from '../host-index/profiles.ts';
import type { Amounts, ScheduleRequest } from '../request.ts';
import { SCHEDULER, type SchedulerSettings } from '../settings.ts';
import { HostFilter } from './host-filter.ts';
import { SCORE_UNIT, type Weighing } from '../host-index/weighing.ts';

/** What is avoided, if possible. */
export interface Avoidance {
  readonly sites: ReadonlySet<string>;
  readonly pools: ReadonlySet<PoolKey>;
}

export const NO_AVOIDANCE: Avoidance = { sites: new Set(), pools: new Set() };

export interface PreparedRequest {
  readonly index: HostIndex;
  readonly request: ScheduleRequest;
  /** Including the amounts of its NICs. */
  readonly amounts: Amounts;
  readonly settings: SchedulerSettings;
  readonly weighing: Weighing;
  readonly profile: AmountsProfile;
  readonly filter: HostFilter;
  readonly places: NicPlacements;
  readonly excludedHosts: ReadonlySet<string>;
  readonly avoidedSites: ReadonlySet<string>;
  readonly group: GroupConstraint | undefined;
}

export function prepareRequest(
  fleet: FleetReader,
  request: ScheduleRequest,
  avoided: Avoidance = NO_AVOIDANCE,
): PreparedRequest {
  const index = hostIndexOf(fleet);
  const settings = valueOf(fleet, SCHEDULER);
  const amounts = amountsOf(request);
  const excluded =
    avoided.pools.size === 0
      ? setOf(request.excludedPools)
      : new Set([...(request.excludedPools ?? []), ...avoided.pools]);
  return {
    index,
    request,
    amounts,
    settings,
    weighing: index.profiles.weighing(settings.weights),
    profile: index.profiles.profileFor(amounts, settings),
    filter: new HostFilter(index, request),
    places: new NicPlacements(request.nics, {
      stock: stockOf(fleet),
      sorted: index.poolIndexCache,
      excluded,
      weight: settings.weights.stock,
    }),
    excludedHosts: setOf(request.excludedHosts),
    avoidedSites: avoided.sites,
    group: groupOf(index, request, settings.weights.softAffinity),
  };
}

const EMPTY_SET: ReadonlySet<never> = new Set();

function setOf<T>(list: readonly T[] | undefined): ReadonlySet<T> {
  return list === undefined || list.length === 0 ? EMPTY_SET : new Set(list);
}

function groupOf(index: HostIndex, { group }: ScheduleRequest, weight: number): GroupConstraint | undefined {
  const tally = group === undefined ? undefined : index.group(group.id);
  return group === undefined || tally === undefined ? undefined : new GroupConstraint(group, tally, weight);
}

/** The members of the request's group, if any. */
export class GroupConstraint {
  readonly #tally: GroupTally;
  readonly policy: NonNullable<ScheduleRequest['group']>['policy'];
  /** Whether only hosts with members may be chosen. */
  readonly confines: boolean;
  /** The score of the host with the most members relative to one with none, in score units. */
  readonly #span: number;

  constructor(group: NonNullable<ScheduleRequest['group']>, tally: GroupTally, weight: number) {
    this.#tally = tally;
    this.policy = group.policy;
    const soft = { 'soft-affinity': weight, 'soft-anti-affinity': -weight, affinity: 0, 'anti-affinity': 0 };
    this.#span = soft[group.policy] / SCORE_UNIT;
    this.confines = group.policy === 'affinity' && tally.size > 0;
  }

  /** Hosts with members. */
  hosts(): Iterable<string> {
    return this.#tally.hosts();
  }

  /** Whether a host with members scores higher than without. */
  get attracts(): boolean {
    return this.#span > 0;
  }

  /** No host gets more for its members. */
  get termMax(): number {
    return Math.max(0, Math.ceil(this.#span));
  }

  /** Whether a host is excluded. */
  isForbidden(host: string): boolean {
    if (this.policy === 'anti-affinity') return this.#tally.countOn(host) > 0;
    return this.confines && this.#tally.countOn(host) === 0;
  }

  /** The score term of the members on a host. */
  term(host: string): number {
    return this.#span === 0 ? 0 : Math.floor((this.#span * this.#tally.countOn(host)) / this.#tally.most + 0.5);
  }
}

// A request made ready for the search: names looked up, figures worked out, everything that is the same for all hosts done
// once.
import { valueOf, type FleetReader } from '../fleet/index.ts';
import { stockOf, type PoolKey } from '../network/index.ts';
import { amountsOf } from './amounts.ts';
import { hostIndexOf, type HostIndex } from './host-index.ts';
import type { GroupTally } from './ledger.ts';
import { Places } from './places.ts';
import type { AmountsProfile } from './profiles.ts';
import type { Amounts, ScheduleRequest } from './request.ts';
import { SCHEDULER, type SchedulerSettings } from './settings.ts';
import { Sieve } from './sieve.ts';
import { SCORE_UNIT, type Weighing } from './weighing.ts';

/** What is kept clear of, if that is possible. */
export interface Avoided {
  readonly sites: ReadonlySet<string>;
  readonly pools: ReadonlySet<PoolKey>;
}

export const AVOIDS_NOTHING: Avoided = { sites: new Set(), pools: new Set() };

export interface Ask {
  readonly index: HostIndex;
  readonly request: ScheduleRequest;
  /** With what its NICs take. */
  readonly amounts: Amounts;
  readonly settings: SchedulerSettings;
  readonly weighing: Weighing;
  readonly profile: AmountsProfile;
  readonly sieve: Sieve;
  readonly places: Places;
  readonly excludedHosts: ReadonlySet<string>;
  readonly avoidedSites: ReadonlySet<string>;
  readonly group: AskedGroup | undefined;
}

export function askOf(fleet: FleetReader, request: ScheduleRequest, avoided: Avoided = AVOIDS_NOTHING): Ask {
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
    profile: index.profiles.of(amounts, settings),
    sieve: new Sieve(index, request),
    places: new Places(request.nics, {
      stock: stockOf(fleet),
      sorted: index.sortedChoices,
      excluded,
      weight: settings.weights.stock,
    }),
    excludedHosts: setOf(request.excludedHosts),
    avoidedSites: avoided.sites,
    group: groupOf(index, request, settings.weights.softAffinity),
  };
}

const NOBODY: ReadonlySet<never> = new Set();

function setOf<T>(list: readonly T[] | undefined): ReadonlySet<T> {
  return list === undefined || list.length === 0 ? NOBODY : new Set(list);
}

function groupOf(index: HostIndex, { group }: ScheduleRequest, weight: number): AskedGroup | undefined {
  const tally = group === undefined ? undefined : index.group(group.id);
  return group === undefined || tally === undefined ? undefined : new AskedGroup(group, tally, weight);
}

/** The members of the request's group, as far as there are any. */
export class AskedGroup {
  readonly #tally: GroupTally;
  readonly #ownHost: string | undefined;
  readonly policy: NonNullable<ScheduleRequest['group']>['policy'];
  /** Whether it is only among the hosts of other members that one may choose. */
  readonly confines: boolean;
  /** What the host with the most members gets beside one with none, in score units. */
  readonly #span: number;

  constructor(group: NonNullable<ScheduleRequest['group']>, tally: GroupTally, weight: number) {
    this.#tally = tally;
    this.#ownHost = group.ownHost;
    this.policy = group.policy;
    const soft = { 'soft-affinity': weight, 'soft-anti-affinity': -weight, affinity: 0, 'anti-affinity': 0 };
    this.#span = soft[group.policy] / SCORE_UNIT;
    const alone = tally.size === 1 && group.ownHost !== undefined && tally.at(group.ownHost) === 1;
    this.confines = group.policy === 'affinity' && tally.size > 0 && !alone;
  }

  /** Other members on a host. */
  at(host: string): number {
    const members = this.#tally.at(host);
    return members > 0 && host === this.#ownHost ? members - 1 : members;
  }

  /** Hosts with other members. */
  hosts(): string[] {
    return [...this.#tally.hosts()].filter((host) => this.at(host) > 0);
  }

  /** Whether a host with members is worth more than it would be without. */
  get attracts(): boolean {
    return this.#span > 0;
  }

  /** No host gets more for its members. */
  get termMax(): number {
    return Math.max(0, Math.ceil(this.#span));
  }

  /** Whether a host is out of the question. */
  forbids(host: string): boolean {
    if (this.policy === 'anti-affinity') return this.at(host) > 0;
    return this.confines && this.at(host) === 0;
  }

  /** What the members on a host add to its score. */
  term(host: string): number {
    return this.#span === 0 ? 0 : Math.floor((this.#span * this.at(host)) / this.#tally.most + 0.5);
  }
}

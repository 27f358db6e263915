// Decides which hosts are candidates for a service, which are rejected and why, and the score of each. Every path uses it: first elections,
// failovers, drains, moves by operators. An ElectionContext covers one state of the fleet: a choice made in it counts for the next choice.
import { idOf, type FleetReader } from '../fleet/index.ts';
import type { Host } from '../hosts/index.ts';
import { ROUTER, externalReachPredicate } from '../network/index.ts';
import type { IsBfdDownByMajority } from './health.ts';
import { weightedHostOf, WHY_LISTED_MAX, type CandidateRejection, type Service, type StoredService } from './model.ts';
import { STANDINGS, type Standing } from './standings.ts';
import { hasPresence, hostListsWithPresence, type Subject } from './desired-services.ts';

export interface Candidate {
  readonly host: string;
  /** Designations minus base weight: the lowest is chosen, then the first by id. */
  readonly score: number;
}

export interface Rejected {
  readonly host: string;
  readonly because: CandidateRejection;
}

export interface Candidates {
  readonly eligible: Shortlist<Candidate>;
  /** Leaving hosts without another rejection, not yet past the point of no return. */
  readonly leaving: Shortlist<Candidate>;
  /** Hosts whose only rejection is that most of their peers report BFD down. Preferred to leaving ones. */
  readonly bfdDown: Shortlist<Candidate>;
  readonly rejected: Shortlist<Rejected>;
}

/** The first few of a long list in its order, and the length. */
export class Shortlist<T> {
  readonly listed: T[] = [];
  count = 0;
  readonly #isBefore: (one: T, other: T) => boolean;

  constructor(isBefore: (one: T, other: T) => boolean) {
    this.#isBefore = isBefore;
  }

  get first(): T | undefined {
    return this.listed[0];
  }

  add(one: T): void {
    this.count += 1;
    const { listed } = this;
    const last = listed.at(-1);
    if (listed.length === WHY_LISTED_MAX && last !== undefined && !this.#isBefore(one, last)) return;
    let at = listed.length;
    while (at > 0 && this.#isBefore(one, listed[at - 1] as T)) at -= 1;
    listed.splice(at, 0, one);
    if (listed.length > WHY_LISTED_MAX) listed.pop();
  }
}

const isBetterByScore = (one: Candidate, other: Candidate): boolean =>
  one.score < other.score || (one.score === other.score && one.host < other.host);
const isBeforeByHost = (one: Rejected, other: Rejected): boolean => one.host < other.host;

type Present = readonly Readonly<Standing>[];

/** About what a slice of elections uses. Beyond it presence is computed again, so that the context of a whole fleet stays small. */
const PRESENT_KEPT_MAX = 50_000;

export class ElectionContext {
  readonly fleet: FleetReader;
  readonly #isBfdDownByMajority: IsBfdDownByMajority;
  readonly #standings: ReturnType<(typeof STANDINGS)['create']>;
  /** What choices in this context have added to hosts' weights. */
  readonly #more = new Map<string, number>();
  /** What they have added to the weights of standbys. */
  readonly #moreStandbys = new Map<string, number>();
  /** The hosts with presence for a router with several subnets, each once: computed once for several choices. */
  readonly #present = new Map<string, Present>();
  #presentLeft = PRESENT_KEPT_MAX;
  /** By router: the hosts that reach the segment of its external address. */
  readonly #waysOut = new Map<string, (host: Host) => boolean>();

  constructor(fleet: FleetReader, isBfdDown: IsBfdDownByMajority = () => false) {
    this.fleet = fleet;
    this.#isBfdDownByMajority = isBfdDown;
    this.#standings = fleet.projection(STANDINGS);
  }

  /** Costs O(presence). `except`: hosts that are left out. */
  candidatesOf({ doc }: Pick<StoredService, 'doc'>, except: readonly string[] = []): Candidates {
    const own = weightedHostOf(doc);
    const eligible = new Shortlist(isBetterByScore);
    const leaving = new Shortlist(isBetterByScore);
    const bfdDown = new Shortlist(isBetterByScore);
    const rejected = new Shortlist(isBeforeByHost);
    const reaches = this.#wayOutOf(doc);
    for (const standing of this.#presentFor(doc)) {
      const { id: host } = standing;
      if (except.includes(host)) continue;
      const because = this.#rejectionFor(standing, reaches);
      if (because !== undefined) rejected.add({ host, because });
      const isFallback = because === 'tombstoned' && this.#canFallBackTo(standing, reaches);
      if (because !== undefined && because !== 'bfd-down' && !isFallback) continue;
      const list = because === 'bfd-down' ? bfdDown : isFallback ? leaving : eligible;
      list.add({ host, score: this.#score(standing) - (host === own ? 1 : 0) });
    }
    return { eligible, leaving, bfdDown, rejected };
  }

  #presentFor(doc: Service): Present {
    const lists = hostListsWithPresence(this.fleet, doc);
    const [first = []] = lists;
    if (lists.length <= 1) return this.#standings.getAll(first);
    const known = this.#present.get(doc.subject);
    if (known !== undefined) return known;
    const each = new Map<string, Readonly<Standing>>();
    for (const list of lists) for (const standing of this.#standings.getAll(list)) each.set(standing.id, standing);
    const present = [...each.values()];
    this.#presentLeft -= present.length;
    if (this.#presentLeft >= 0) this.#present.set(doc.subject, present);
    return present;
  }

  /** The best standby: what a host would take over weighs as much as what it serves. */
  chooseStandby(doc: Service): string | undefined {
    const reaches = this.#wayOutOf(doc);
    let best: Candidate | undefined;
    for (const standing of this.#presentFor(doc)) {
      const { id: host } = standing;
      if (!standing.canStandBy || host === doc.designated?.host) continue;
      if (this.#rejectionFor(standing, reaches) !== undefined) continue;
      const standbys = standing.standbys + (this.#moreStandbys.get(host) ?? 0) - (host === doc.standby ? 1 : 0);
      const candidate = { host, score: this.#score(standing) + standbys };
      if (best === undefined || isBetterByScore(candidate, best)) best = candidate;
    }
    return best?.host;
  }

  /** Whether the chosen standby of a service is still fit. */
  canStandBy(doc: Service, host: string): boolean {
    return this.#standings.get(host).canStandBy && this.rejectionOf(doc, host) === undefined;
  }

  /** Whether a standby's only rejection is that most of its peers report BFD down. */
  isRejectedOnlyByBfd(doc: Service, host: string): boolean {
    const isBfdDown = this.rejectionOf(doc, host) === 'bfd-down';
    return isBfdDown && this.#standings.get(host).canStandBy && hasPresence(this.fleet, doc, host);
  }

  /** Why a host cannot serve a service; `no-presence` when it has nothing of its subject. Costs O(1). */
  rejectionOf(doc: Service, host: string): CandidateRejection | 'no-presence' | undefined {
    const because = this.#rejectionFor(this.#standings.get(host), this.#wayOutOf(doc));
    if (because !== undefined) return because;
    return hasPresence(this.fleet, doc, host) ? undefined : 'no-presence';
  }

  /** Whether a host with the connections of a service could continue to serve it: its only rejection may be that it leaves. */
  canKeepService(doc: Service, host: string): boolean {
    const standing = this.#standings.get(host);
    const reaches = this.#wayOutOf(doc);
    if (this.#isBfdDownByMajority(host) || !hasPresence(this.fleet, doc, host)) return false;
    const because = this.#rejectionFor(standing, reaches);
    return because === undefined || (because === 'tombstoned' && this.#canFallBackTo(standing, reaches));
  }

  /** Designations minus base weight, as the next choice sees it. */
  scoreOf(host: string): number {
    return this.#score(this.#standings.get(host));
  }

  /** Records a designation: the next choice counts it at its new host, and no longer at its old one. */
  recordChoice(doc: Service, to: string | undefined): void {
    const from = weightedHostOf(doc);
    if (from !== undefined) this.#more.set(from, (this.#more.get(from) ?? 0) - 1);
    if (to !== undefined) this.#more.set(to, (this.#more.get(to) ?? 0) + 1);
  }

  /** Records a new standby, and that the former one no longer is. */
  recordStandbyChange(from: string | undefined, to: string | undefined): void {
    if (from !== undefined) this.#moreStandbys.set(from, (this.#moreStandbys.get(from) ?? 0) - 1);
    if (to !== undefined) this.#moreStandbys.set(to, (this.#moreStandbys.get(to) ?? 0) + 1);
  }

  #score({ id, weight, baseWeight }: Readonly<Standing>): number {
    return weight + (this.#more.get(id) ?? 0) - baseWeight;
  }

  #rejectionFor(standing: Readonly<Standing>, reaches: (host: Host) => boolean): CandidateRejection | undefined {
    const { id, host, rejection } = standing;
    if (host === undefined) return 'unknown-host';
    if (rejection !== undefined && rejection !== 'agent-too-old') return rejection;
    if (!this.#standings.hasZone(standing)) return 'no-transport-zone';
    if (rejection !== undefined) return rejection;
    if (!reaches(host)) return 'no-way-out';
    return this.#isBfdDownByMajority(id) ? 'bfd-down' : undefined;
  }

  #canFallBackTo(standing: Readonly<Standing>, reaches: (host: Host) => boolean): boolean {
    const { host, leaving } = standing;
    return leaving && host !== undefined && this.#standings.hasZone(standing) && reaches(host);
  }

  /** NAT runs on a host that reaches the external network; the other services need no external access of their own. */
  #wayOutOf({ type, subject }: Subject): (host: Host) => boolean {
    if (type !== 'nat') return anywhere;
    let reaches = this.#waysOut.get(subject);
    if (reaches === undefined) {
      const router = this.fleet.get(ROUTER, idOf(ROUTER, subject))?.doc;
      this.#waysOut.set(
        subject,
        (reaches = router === undefined ? anywhere : externalReachPredicate(this.fleet, router)),
      );
    }
    return reaches;
  }
}

const anywhere = (): boolean => true;

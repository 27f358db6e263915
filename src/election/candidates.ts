// Who could do a service, who could not and why, and how loaded each is. Every path asks here: first elections, losses, leaving
// hosts, moves that operators ask for. A poll is one look at one state of the fleet: what is chosen in it counts for the next.
import { idOf, type FleetReader } from '../fleet/index.ts';
import { DESIGNATIONS_VERSION, findHost, isTombstoned, type Host } from '../hosts/index.ts';
import { DEFAULT_TRANSPORT_ZONE, hostReaches, ROUTER, topologyOf, TRANSPORT_ZONE } from '../network/index.ts';
import {
  SERVICES_BY_HOST,
  weighsOn,
  WHY_LISTED_MAX,
  type Rejection,
  type Service,
  type StoredService,
} from './model.ts';
import { hasPresence, presentHosts, type Subject } from './wanted.ts';

export interface Candidate {
  readonly host: string;
  /** Designations minus base weight: the lowest is chosen, then the first by id. */
  readonly score: number;
}

export interface Rejected {
  readonly host: string;
  readonly because: Rejection;
}

export interface Candidates {
  readonly eligible: Shortlist<Candidate>;
  /** Leaving hosts that nothing else speaks against, not yet past the point of no return. */
  readonly leaving: Shortlist<Candidate>;
  readonly rejected: Shortlist<Rejected>;
}

/** The first few of many in their order, and how many there are. */
export class Shortlist<T> {
  readonly listed: T[] = [];
  count = 0;
  readonly #before: (one: T, other: T) => boolean;

  constructor(before: (one: T, other: T) => boolean) {
    this.#before = before;
  }

  get first(): T | undefined {
    return this.listed[0];
  }

  add(one: T): void {
    this.count += 1;
    const { listed } = this;
    const last = listed.at(-1);
    if (listed.length === WHY_LISTED_MAX && last !== undefined && !this.#before(one, last)) return;
    let at = listed.length;
    while (at > 0 && this.#before(one, listed[at - 1] as T)) at -= 1;
    listed.splice(at, 0, one);
    if (listed.length > WHY_LISTED_MAX) listed.pop();
  }
}

const byScore = (one: Candidate, other: Candidate): boolean =>
  one.score < other.score || (one.score === other.score && one.host < other.host);
const byHost = (one: Rejected, other: Rejected): boolean => one.host < other.host;

/** How a host stands, whatever the service. */
interface Standing {
  readonly host: Host | undefined;
  readonly because: Rejection | undefined;
  /** Nothing but its leaving speaks against it. */
  readonly leaving: boolean;
  /** Designations minus base weight. */
  score: number;
}

export class Poll {
  readonly fleet: FleetReader;
  readonly #standings = new Map<string, Standing>();
  readonly #waysOut = new Map<string, (host: Host) => boolean>();

  constructor(fleet: FleetReader) {
    this.fleet = fleet;
  }

  /** Costs O(presence). `except`: hosts that are not to be asked. */
  candidatesOf({ doc }: Pick<StoredService, 'doc'>, except: readonly string[] = []): Candidates {
    const eligible = new Shortlist(byScore);
    const leaving = new Shortlist(byScore);
    const rejected = new Shortlist(byHost);
    const reaches = this.#wayOutOf(doc);
    const own = weighsOn(doc);
    for (const host of presentHosts(this.fleet, doc)) {
      if (except.includes(host)) continue;
      const standing = this.#standing(host);
      const because = standing.because ?? (reaches(standing.host as Host) ? undefined : 'no-way-out');
      const score = host === own ? standing.score - 1 : standing.score;
      if (because === undefined) eligible.add({ host, score });
      else {
        rejected.add({ host, because });
        if (standing.leaving && reaches(standing.host as Host)) leaving.add({ host, score });
      }
    }
    return { eligible, leaving, rejected };
  }

  /** Why a host cannot do a service; `no-presence` when it has nothing of its subject. Costs O(1). */
  rejectionOf(doc: Service, host: string): Rejection | 'no-presence' | undefined {
    const { because, host: stored } = this.#standing(host);
    if (because !== undefined) return because;
    if (!this.#wayOutOf(doc)(stored as Host)) return 'no-way-out';
    return hasPresence(this.fleet, doc, host) ? undefined : 'no-presence';
  }

  /** Designations minus base weight, as the next choice sees it. */
  scoreOf(host: string): number {
    return this.#standing(host).score;
  }

  /** A service was given to a host: the next choice counts it there, and no longer where it was. */
  count(doc: Service, to: string | undefined): void {
    const from = weighsOn(doc);
    if (from !== undefined) this.#standing(from).score -= 1;
    if (to !== undefined) this.#standing(to).score += 1;
  }

  #standing(id: string): Standing {
    const known = this.#standings.get(id);
    if (known !== undefined) return known;
    const host = findHost(this.fleet, id)?.doc;
    const because = rejectionOf(this.fleet, host);
    const standing: Standing = {
      host,
      because,
      leaving: because === 'tombstoned' && host !== undefined && isOnlyLeaving(this.fleet, host),
      score: this.fleet.countOf(SERVICES_BY_HOST, id) - (host?.baseWeight ?? 0),
    };
    this.#standings.set(id, standing);
    return standing;
  }

  /** Address translation is done where the outside is reached; the others need no way out of their own. */
  #wayOutOf({ type, subject }: Subject): (host: Host) => boolean {
    if (type !== 'nat') return anywhere;
    const network = this.fleet.get(ROUTER, idOf(ROUTER, subject))?.doc.externalNetwork;
    if (network === undefined) return anywhere;
    let reaches = this.#waysOut.get(network);
    if (reaches === undefined) this.#waysOut.set(network, (reaches = wayOutBy(this.fleet, network)));
    return reaches;
  }
}

const anywhere = (): boolean => true;

/** A network without segments is reached by every host. */
function wayOutBy(fleet: FleetReader, network: string): (host: Host) => boolean {
  const segments = topologyOf(fleet).segmentsOf(network);
  if (segments.length === 0) return anywhere;
  return (host) => segments.some(({ doc }) => hostReaches(host, doc));
}

/** The first thing that speaks against a host, in the order of REJECTIONS. */
function rejectionOf(fleet: FleetReader, host: Host | undefined): Rejection | undefined {
  if (host === undefined) return 'unknown-host';
  if (host.state === 'removed') return 'removed';
  if (isTombstoned(host)) return 'tombstoned';
  if (host.state !== 'active') return 'not-in-service';
  return incapacityOf(fleet, host);
}

/** What keeps a host from doing any service, its state apart. */
function incapacityOf(fleet: FleetReader, host: Host): Rejection | undefined {
  if (host.quarantined !== undefined) return 'quarantined';
  if (host.connection.state !== 'up' || host.forcedDown !== undefined) return 'not-connected';
  if (host.switch?.datapathId === undefined) return 'no-datapath-id';
  if (host.tunnelAddress === undefined) return 'no-tunnel-address';
  const zone = idOf(TRANSPORT_ZONE, host.transportZone ?? DEFAULT_TRANSPORT_ZONE);
  if (fleet.get(TRANSPORT_ZONE, zone) === undefined) return 'no-transport-zone';
  return host.serviceVersion < DESIGNATIONS_VERSION ? 'agent-too-old' : undefined;
}

function isOnlyLeaving(fleet: FleetReader, host: Host): boolean {
  return host.state !== 'finalizing' && incapacityOf(fleet, host) === undefined;
}

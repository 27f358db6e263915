// The standing of each host, independent of the service, updated with every change: an election over a thousand hosts reads no documents, and
// looks hosts up only when the list is another than last time.
import type { AppliedChange, Forkable, Projection } from '../fleet/index.ts';
import {
  DESIGNATIONS_VERSION,
  findExclusion,
  HOST,
  isTombstoned,
  STANDBY_VERSION,
  transportZoneOf,
  type Host,
} from '../hosts/index.ts';
import { TRANSPORT_ZONE } from '../network/index.ts';
import { SERVICE, weightedHostOf, type CandidateRejection, type Service } from './model.ts';

export interface Standing {
  readonly id: string;
  host: Host | undefined;
  /** Its first rejection, its transport zone apart. */
  rejection: CandidateRejection | undefined;
  /** Its leaving is its only rejection, its transport zone apart. */
  leaving: boolean;
  /** The services that it serves, and the base weight that is subtracted. Here, because documents lie far apart in memory. */
  weight: number;
  baseWeight: number;
  /** The services that it is standby for, and whether it supports that: an older agent would consider itself designated. */
  standbys: number;
  canStandBy: boolean;
  zone: string;
}

const unknownStanding = (id: string): Standing => ({
  id,
  host: undefined,
  rejection: 'unknown-host',
  leaving: false,
  weight: 0,
  baseWeight: 0,
  standbys: 0,
  canStandBy: false,
  zone: '',
});

class Standings implements Forkable {
  readonly #hosts = new Map<string, Standing>();
  #zones = new Set<string>();
  /** The standings of a list of hosts, valid while no host is added: looking up a thousand costs more than the election. */
  #lists: WeakMap<readonly string[], readonly Standing[]> | undefined;

  /** For plans: only the leaving hosts have another standing in it. Costs O(hosts). */
  fork(): Standings {
    const fork = new Standings();
    for (const [id, standing] of this.#hosts) fork.#hosts.set(id, { ...standing });
    fork.#zones = new Set(this.#zones);
    return fork;
  }

  apply({ kind, before, after }: AppliedChange): void {
    const id = (after ?? before)?.id;
    if (id === undefined) return;
    if (kind === HOST.name) this.#host(id, after?.doc as Host | undefined);
    else if (kind === SERVICE.name) {
      this.#weigh(before?.doc as Service | undefined, -1);
      this.#weigh(after?.doc as Service | undefined, 1);
    } else if (after === undefined) this.#zones.delete(id);
    else this.#zones.add(id);
  }

  #host(id: string, host: Host | undefined): void {
    const standing = this.#entry(id);
    const because = rejectionOf(host);
    const leaving = host !== undefined && host.state !== 'finalizing' && because === 'tombstoned';
    standing.host = host;
    standing.rejection = because;
    standing.leaving = leaving && incapacityOf(host) === undefined;
    standing.baseWeight = host?.baseWeight ?? 0;
    standing.canStandBy = host !== undefined && host.serviceVersion >= STANDBY_VERSION;
    standing.zone = transportZoneOf(host ?? {});
    this.#forgetIfEmpty(id, standing);
  }

  #weigh(service: Service | undefined, by: 1 | -1): void {
    const host = service === undefined ? undefined : weightedHostOf(service);
    if (host !== undefined) this.#add(host, 'weight', by);
    if (service?.standby !== undefined) this.#add(service.standby, 'standbys', by);
  }

  #add(host: string, what: 'weight' | 'standbys', by: 1 | -1): void {
    const standing = this.#entry(host);
    standing[what] += by;
    this.#forgetIfEmpty(host, standing);
  }

  #entry(id: string): Standing {
    let standing = this.#hosts.get(id);
    if (standing === undefined) {
      this.#hosts.set(id, (standing = unknownStanding(id)));
      // Cached lists may hold a placeholder for a host of this name that was unknown, or was removed.
      this.#lists = undefined;
    }
    return standing;
  }

  #forgetIfEmpty(id: string, { host, weight, standbys }: Standing): void {
    if (host === undefined && weight === 0 && standbys === 0) this.#hosts.delete(id);
  }

  get(id: string): Readonly<Standing> {
    return this.#hosts.get(id) ?? unknownStanding(id);
  }

  /** In the order of the list, which must not change. They are looked up once for a list that is used again. */
  getAll(hosts: readonly string[]): readonly Readonly<Standing>[] {
    this.#lists ??= new WeakMap();
    let standings = this.#lists.get(hosts);
    if (standings === undefined) {
      standings = hosts.map((id) => this.#hosts.get(id) ?? unknownStanding(id));
      this.#lists.set(hosts, standings);
    }
    return standings;
  }

  /** Whether the zone of a host is defined: until then it has no tunnels. */
  hasZone({ zone }: Readonly<Standing>): boolean {
    return this.#zones.has(zone);
  }
}

export const STANDINGS: Projection<Standings> = {
  name: 'standings',
  kinds: [HOST.name, SERVICE.name, TRANSPORT_ZONE.name],
  create: () => new Standings(),
};

/** The first rejection of a host, in the order of REJECTIONS. */
function rejectionOf(host: Host | undefined): CandidateRejection | undefined {
  if (host === undefined) return 'unknown-host';
  if (host.state === 'removed') return 'removed';
  if (isTombstoned(host)) return 'tombstoned';
  return host.state === 'active' ? incapacityOf(host) : 'not-in-service';
}

/** What keeps a host from serving anything, its state and its zone apart. */
function incapacityOf(host: Host): CandidateRejection | undefined {
  if (host.quarantined !== undefined) return 'quarantined';
  if (host.connection.state !== 'up' || host.forcedDown !== undefined) return 'not-connected';
  if (findExclusion(host, 'services') !== undefined) return 'switch-out-of-control';
  if (host.switch?.datapathId === undefined) return 'no-datapath-id';
  if (host.tunnelAddress === undefined) return 'no-tunnel-address';
  return host.serviceVersion < DESIGNATIONS_VERSION ? 'agent-too-old' : undefined;
}

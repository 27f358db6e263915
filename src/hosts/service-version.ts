// What hosts' agents know, as a number that grows. The control plane asks a host for something new only when every host
// that counts knows it: neither removed nor forced down. One that is merely down counts, it may come back as it was.
import type { AppliedChange, ProjectionState, Projection } from '../fleet/index.ts';
import type { Host } from './model.ts';

/** From here on a host takes ports that were made for it, and makes none of its own. */
export const EARLY_CREATE_VERSION = 2;
/** From here on a host takes ports that are bound to it already. */
export const EARLY_BIND_VERSION = 3;
/** From here on a host does services for others: its view tells it which, and it reports its switch. */
export const DESIGNATIONS_VERSION = 4;
/** From here on a host copies its connections to whoever takes a service over from it, and takes those of others. */
export const CONNTRACK_SYNC_VERSION = 5;
/** From here on a host listens for others on the data path, and can stand by for one that does a service. */
export const STANDBY_VERSION = 6;
export const CURRENT_SERVICE_VERSION = 6;

class ServiceVersions implements ProjectionState {
  readonly #counts = new Map<number, number>();
  #minimum = 0;

  apply({ before, after }: AppliedChange): void {
    this.#add(before?.doc as Host | undefined, -1);
    this.#add(after?.doc as Host | undefined, 1);
  }

  #add(host: Host | undefined, by: number): void {
    if (host === undefined || !isCounted(host)) return;
    const count = (this.#counts.get(host.serviceVersion) ?? 0) + by;
    if (count === 0) this.#counts.delete(host.serviceVersion);
    else this.#counts.set(host.serviceVersion, count);
    // Versions come and go with upgrades; hosts of the same version do all the time.
    if (count <= 1) this.#minimum = this.#counts.size === 0 ? 0 : Math.min(...this.#counts.keys());
  }

  /** The lowest version of a host that counts; 0 when none does. */
  get minimum(): number {
    return this.#minimum;
  }

  /** How many hosts that count are below a version. */
  countBelow(version: number): number {
    return [...this.#counts].reduce((sum, [one, count]) => (one < version ? sum + count : sum), 0);
  }
}

/** A host that is joining has not said what it knows, and nothing is placed there: it counts when it has. */
function isCounted(host: Host): boolean {
  const silent = host.state === 'joining' && host.serviceVersion === 0;
  return host.state !== 'removed' && host.forcedDown === undefined && !silent;
}

export const SERVICE_VERSIONS: Projection<ServiceVersions> = {
  name: 'service-versions',
  kinds: ['host'],
  create: () => new ServiceVersions(),
};

// Service versions: what hosts' agents support, as a growing number. The control plane uses a new feature only when every host that counts
// supports it: all but removed and forced-down ones. A host that is merely down counts, as it may return unchanged.
import type { AppliedChange, ProjectionState, Projection } from '../fleet/index.ts';
import type { Host } from './model.ts';

/** From here on a host uses ports that were created for it, and creates none of its own. */
export const EARLY_CREATE_VERSION = 2;
/** From here on a host accepts ports that are bound to it already. */
export const EARLY_BIND_VERSION = 3;
/** From here on a host provides network services: its view names them, and it reports its switch. */
export const DESIGNATIONS_VERSION = 4;
/** From here on a host takes part in conntrack sync, as source and as target of a handover. */
export const CONNTRACK_SYNC_VERSION = 5;
/** From here on a host reports BFD and can stand by for a designated host. */
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
    // The version of a host changes only by upgrades; most changes leave it as it is.
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

/** A joining host has not reported its version, and nothing is placed there: it counts when it has. */
function isCounted(host: Host): boolean {
  const silent = host.state === 'joining' && host.serviceVersion === 0;
  return host.state !== 'removed' && host.forcedDown === undefined && !silent;
}

export const SERVICE_VERSIONS: Projection<ServiceVersions> = {
  name: 'service-versions',
  kinds: ['host'],
  create: () => new ServiceVersions(),
};

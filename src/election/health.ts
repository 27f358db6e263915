// How a designation stands: whether its host still does it, and if not, whether that is certain. Losing control of a host is
// not losing its data path: a silent host is lost only as far as its service says so.
import type { FleetReader } from '../fleet/index.ts';
import { DESIGNATIONS_VERSION, findHost, isTombstoned, type Host } from '../hosts/index.ts';
import type { Poll } from './candidates.ts';
import type { Service } from './model.ts';

/** Whether any host still hears another one on the data path. */
export type Hears = (host: string) => boolean;

/** Asks once for each host: a host may have hundreds of services, and to ask costs as much as it has peers. */
export function askingOnce(hears: Hears): Hears {
  const known = new Map<string, boolean>();
  return (host) => {
    let heard = known.get(host);
    if (heard === undefined) known.set(host, (heard = hears(host)));
    return heard;
  };
}

/** Whether a site's hosts are silent together: then it is its link, and nobody there is lost by that. */
export type IsQuiet = (site: string) => boolean;

/** Whether most of those that listen for a host do not hear it. */
export type IsUnheard = (host: string) => boolean;

export interface Senses {
  readonly hears: Hears;
  readonly isUnheard: IsUnheard;
  readonly isQuiet: IsQuiet;
}

export type Health =
  | 'fine'
  /** Nobody is designated. */
  | 'absent'
  /** It is silent: it may or may not still do it. */
  | 'silent'
  /** It is silent as its whole site is: that says nothing about the host. */
  | 'cut-off'
  /** Most of those that send to it do not hear it any more, whatever it says itself. */
  | 'unheard'
  /** It does not do it any more, for certain. */
  | 'gone'
  | 'leaving'
  | 'no-presence'
  /** Something that it needs is missing, such as its tunnel address. */
  | 'unfit';

export function healthOf(poll: Poll, doc: Service, { hears, isQuiet, isUnheard }: Senses): Health {
  if (doc.designated === undefined) return 'absent';
  const { host: id } = doc.designated;
  const host = findHost(poll.fleet, id)?.doc;
  if (host === undefined || isGone(host)) return 'gone';
  if (isUnheard(id)) return 'unheard';
  if (host.connection.state !== 'up') {
    // Held on to: what else would move it is not known to it while it is cut off.
    if (doc.onControlLoss === 'hold' && hears(id)) return 'fine';
    return host.connection.state === 'suspect' && isQuiet(host.site) ? 'cut-off' : 'silent';
  }
  if (isTombstoned(host)) return 'leaving';
  const because = poll.rejectionOf(doc, id);
  if (because === undefined || because === 'not-in-service') return 'fine';
  return because === 'no-presence' ? 'no-presence' : 'unfit';
}

/** Past the point of no return, wiped, vouched for being off, or joining as somebody new. */
function isGone({ state, forcedDown, quarantined }: Host): boolean {
  if (forcedDown !== undefined || quarantined !== undefined) return true;
  return state === 'removed' || state === 'joining' || state === 'finalizing';
}

/** Whether a host takes part in a hand-over: nobody waits for one that cannot hear, or leaves its switch as it is. */
export function isConnected(fleet: FleetReader, id: string): boolean {
  const host = findHost(fleet, id)?.doc;
  if (host === undefined || host.serviceVersion < DESIGNATIONS_VERSION) return false;
  return host.connection.state === 'up' && !isGone(host);
}

// Decides the health of a designation: whether its host still serves, and if not, whether that is certain. Losing control of a host is not
// losing its data path: a silent host counts as lost only as the policy of its service says.
import { mark, valueOf, type FleetReader } from '../fleet/index.ts';
import {
  CONDITIONS,
  DESIGNATIONS_VERSION,
  findExclusion,
  findHost,
  isOutOfControl,
  isTombstoned,
  type Host,
} from '../hosts/index.ts';
import type { ElectionContext } from './candidates.ts';
import type { Service } from './model.ts';

/** Whether any peer still reports BFD to another host up. */
export type HasBfdUp = (host: string) => boolean;

/** Cached per host: a host may have hundreds of services, and each query costs O(peers). */
export function memoizePerHost(hasBfdUp: HasBfdUp): HasBfdUp {
  const known = new Map<string, boolean>();
  return (host) => {
    let isUp = known.get(host);
    if (isUp === undefined) known.set(host, (isUp = hasBfdUp(host)));
    return isUp;
  };
}

/** Whether a site's hosts are silent together: then its uplink is suspected, and no host there is lost for it. */
export type MaybePartitioned = (site: string) => boolean;

/** Whether most of a host's BFD peers report it down. */
export type IsBfdDownByMajority = (host: string) => boolean;

/** Whether peers report a host's BFD down, and none reports it up. */
export type IsBfdDownUnanimously = (host: string) => boolean;

export interface FailureDetector {
  readonly hasBfdUp: HasBfdUp;
  /** Absent for callers without BFD reports: what depends on them is left to elections. */
  readonly isBfdDownByMajority?: IsBfdDownByMajority | undefined;
  readonly maybePartitioned: MaybePartitioned;
  /** Absent where no BFD sessions run. */
  readonly isBfdDownUnanimously?: IsBfdDownUnanimously | undefined;
  readonly nowMs: number;
}

export type Health =
  | 'fine'
  /** No host is designated. */
  | 'absent'
  /** It is silent: it may or may not still do it. */
  | 'silent'
  /** It is silent as its whole site is: that says nothing about the host. */
  | 'cut-off'
  /** Most of those that send to it report BFD down, whatever it says itself. */
  | 'bfd-down'
  /** Its switch is out of control, and forwards on as far as is known. */
  | 'uncontrolled'
  /** Its switch is out of control, and its data path is gone. */
  | 'data-path-lost'
  /** It does not do it any more, for certain. */
  | 'gone'
  | 'leaving'
  | 'no-presence'
  /** Something that it needs is missing, such as its tunnel address. */
  | 'unfit';

export function healthOf(context: ElectionContext, doc: Service, detector: FailureDetector): Health {
  const { hasBfdUp, maybePartitioned, isBfdDownByMajority } = detector;
  if (doc.designated === undefined) return 'absent';
  const { host: id } = doc.designated;
  const host = findHost(context.fleet, id)?.doc;
  if (host === undefined || isConfirmedLost(host)) return 'gone';
  if (isBfdDownByMajority?.(id) === true) return 'bfd-down';
  if (host.connection.state !== 'up') {
    // Kept there: other causes to move it are unknown to the host while it is cut off.
    if (doc.onControlLoss === 'hold' && hasBfdUp(id)) return 'fine';
    return host.connection.state === 'suspect' && maybePartitioned(host.site) ? 'cut-off' : 'silent';
  }
  const control = controlOf(context.fleet, { id, host }, detector);
  // Before leaving: a switch that cannot be ordered to stop would continue to serve beside the next host.
  if (control !== undefined) return control;
  if (isTombstoned(host)) return 'leaving';
  const because = context.rejectionOf(doc, id);
  if (because === undefined || because === 'not-in-service') return 'fine';
  return because === 'no-presence' ? 'no-presence' : 'unfit';
}

/**
 * Losing control of a switch is not losing its data path: its services stay there, unless the host itself reports that it cannot serve, or
 * its BFD peers do, for long enough that a restarting daemon is not taken for a lost one.
 */
function controlOf(
  fleet: FleetReader,
  { id, host }: { readonly id: string; readonly host: Host },
  { isBfdDownUnanimously, nowMs }: Pick<FailureDetector, 'isBfdDownUnanimously' | 'nowMs'>,
): 'uncontrolled' | 'data-path-lost' | undefined {
  const trouble = findExclusion(host, 'services');
  if (trouble === undefined) return undefined;
  if (nowMs - trouble.sinceMs < valueOf(fleet, CONDITIONS).moveAfterMs) return 'uncontrolled';
  if (trouble.cannotServe !== true && isBfdDownUnanimously?.(id) !== true) return 'uncontrolled';
  mark('data-path-lost');
  return 'data-path-lost';
}

/** Past the point of no return, wiped, forced down, or joining as a new host. */
function isConfirmedLost({ state, forcedDown, quarantined }: Host): boolean {
  if (forcedDown !== undefined || quarantined !== undefined) return true;
  return state === 'removed' || state === 'joining' || state === 'finalizing';
}

/** Whether a handover waits for a host: not for one that is disconnected, or whose switch does not change. */
export function canTakePartInHandover(fleet: FleetReader, id: string): boolean {
  const host = findHost(fleet, id)?.doc;
  if (host === undefined || host.serviceVersion < DESIGNATIONS_VERSION) return false;
  return host.connection.state === 'up' && !isConfirmedLost(host) && !isOutOfControl(host);
}

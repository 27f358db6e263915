// How a designation stands: whether its host still does it, and if not, whether that is certain. Losing control of a host is
// not losing its data path: a silent host is lost only as far as its service says so.
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

/** Whether any host still hears another one on the data path. */
export type HasBfdUp = (host: string) => boolean;

/** Asks once for each host: a host may have hundreds of services, and to ask costs as much as it has peers. */
export function memoizePerHost(hears: HasBfdUp): HasBfdUp {
  const known = new Map<string, boolean>();
  return (host) => {
    let heard = known.get(host);
    if (heard === undefined) known.set(host, (heard = hears(host)));
    return heard;
  };
}

/** Whether a site's hosts are silent together: then it is its link, and nobody there is lost by that. */
export type MaybePartitioned = (site: string) => boolean;

/** Whether most of those that listen for a host do not hear it. */
export type IsBfdDownByMajority = (host: string) => boolean;

/** Whether peers say that the BFD of a host is down, and none says that it is up. */
export type IsBfdDownUnanimously = (host: string) => boolean;

export interface FailureDetector {
  readonly hasBfdUp: HasBfdUp;
  /** Absent for who does not know: it is left to elections then what depends on it. */
  readonly isBfdDownByMajority?: IsBfdDownByMajority | undefined;
  readonly maybePartitioned: MaybePartitioned;
  /** Absent where nobody listens. */
  readonly isBfdDownUnanimously?: IsBfdDownUnanimously | undefined;
  readonly nowMs: number;
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
  | 'bfd-down'
  /** Its switch is out of control, and forwards on as far as anybody knows. */
  | 'uncontrolled'
  /** Its switch is out of control, and its data path is gone. */
  | 'data-path-lost'
  /** It does not do it any more, for certain. */
  | 'gone'
  | 'leaving'
  | 'no-presence'
  /** Something that it needs is missing, such as its tunnel address. */
  | 'unfit';

export function healthOf(context: ElectionContext, doc: Service, senses: FailureDetector): Health {
  const { hasBfdUp, maybePartitioned, isBfdDownByMajority } = senses;
  if (doc.designated === undefined) return 'absent';
  const { host: id } = doc.designated;
  const host = findHost(context.fleet, id)?.doc;
  if (host === undefined || isConfirmedLost(host)) return 'gone';
  if (isBfdDownByMajority?.(id) === true) return 'bfd-down';
  if (host.connection.state !== 'up') {
    // Held on to: what else would move it is not known to it while it is cut off.
    if (doc.onControlLoss === 'hold' && hasBfdUp(id)) return 'fine';
    return host.connection.state === 'suspect' && maybePartitioned(host.site) ? 'cut-off' : 'silent';
  }
  const control = controlOf(context.fleet, { id, host }, senses);
  // Before its leaving: a switch that cannot be told to stop would go on beside the next one.
  if (control !== undefined) return control;
  if (isTombstoned(host)) return 'leaving';
  const because = context.rejectionOf(doc, id);
  if (because === undefined || because === 'not-in-service') return 'fine';
  return because === 'no-presence' ? 'no-presence' : 'unfit';
}

/**
 * Losing control of a switch is not losing its data path: what it does stays there, unless the host itself says that it cannot serve, or
 * those that send to it say so, for long enough that a daemon that is only started again is not taken for one that is lost.
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

/** Past the point of no return, wiped, vouched for being off, or joining as somebody new. */
function isConfirmedLost({ state, forcedDown, quarantined }: Host): boolean {
  if (forcedDown !== undefined || quarantined !== undefined) return true;
  return state === 'removed' || state === 'joining' || state === 'finalizing';
}

/** Whether a host takes part in a hand-over: nobody waits for one that cannot hear, or whose switch stays as it is. */
export function canTakePartInHandover(fleet: FleetReader, id: string): boolean {
  const host = findHost(fleet, id)?.doc;
  if (host === undefined || host.serviceVersion < DESIGNATIONS_VERSION) return false;
  return host.connection.state === 'up' && !isConfirmedLost(host) && !isOutOfControl(host);
}

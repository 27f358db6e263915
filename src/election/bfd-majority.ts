// What hosts hear of each other on the data path, put together: one that most of its listeners do not hear is lost, whatever it says
// itself. One listener alone never decides: it may be the one that is cut off.
import type { FleetReader } from '../fleet/index.ts';
import { findHost, transportZoneOf } from '../hosts/index.ts';
import { canHaveTunnels, zoneOfHost } from '../network/index.ts';
import type { HasBfdUp, IsBfdDownByMajority, IsBfdDownUnanimously } from './health.ts';
import { bfdPeers } from './bfd-peers.ts';

/** What a listener says of a host; undefined when it is silent itself or listens for nobody. */
export type PeerBfdStatus = 'up' | 'down' | undefined;

export interface BfdStatusSource {
  bfdStatus(listener: string, host: string): PeerBfdStatus;
  /** How many say that they do not hear a host, whoever they are. Cheap: every candidate is asked for. */
  countBfdDown(host: string): number;
}

const AGAINST_MIN = 2;

export function isDownByMajority(said: readonly PeerBfdStatus[]): boolean {
  const against = said.filter((one) => one === 'down').length;
  const listening = said.filter((one) => one !== undefined).length;
  return against >= AGAINST_MIN && against * 2 > listening;
}

/**
 * Those of its heartbeat peers that have a tunnel to it. One without, such as one of another transport zone, misses no heartbeat: that
 * it does not complain must not count as hearing.
 */
function bfdObserversOf(fleet: FleetReader, id: string): string[] {
  const host = findHost(fleet, id)?.doc;
  if (host === undefined || !canHaveTunnels(host) || typeof zoneOfHost(fleet, host) !== 'object') return [];
  const zone = transportZoneOf(host);
  return bfdPeers(fleet, id).filter((name) => {
    const peer = findHost(fleet, name)?.doc;
    return peer !== undefined && canHaveTunnels(peer) && transportZoneOf(peer) === zone;
  });
}

export interface BfdDetector {
  readonly hasBfdUp: HasBfdUp;
  readonly isBfdDownByMajority: IsBfdDownByMajority;
  readonly isBfdDownUnanimously: IsBfdDownUnanimously;
}

export function bfdDetectorOf(fleet: FleetReader, reports: BfdStatusSource): BfdDetector {
  const hasBfdUp = (host: string): boolean =>
    bfdObserversOf(fleet, host).some((peer) => reports.bfdStatus(peer, host) === 'up');
  return {
    hasBfdUp,
    isBfdDownUnanimously: (host) => {
      if (reports.countBfdDown(host) === 0) return false;
      const heard = bfdObserversOf(fleet, host).map((peer) => reports.bfdStatus(peer, host));
      return heard.includes('down') && !heard.includes('up');
    },
    isBfdDownByMajority: (host) =>
      reports.countBfdDown(host) >= AGAINST_MIN &&
      isDownByMajority(bfdObserversOf(fleet, host).map((peer) => reports.bfdStatus(peer, host))),
  };
}

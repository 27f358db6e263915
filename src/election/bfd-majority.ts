// Combines the BFD reports of peers: a host whose BFD most of its peers report down is lost, whatever it reports itself. A single peer must
// never decide: that peer may be the one that is cut off.
import type { FleetReader } from '../fleet/index.ts';
import { findHost, transportZoneOf } from '../hosts/index.ts';
import { canHaveTunnels, zoneOfHost } from '../network/index.ts';
import type { HasBfdUp, IsBfdDownByMajority, IsBfdDownUnanimously } from './health.ts';
import { bfdPeers } from './bfd-peers.ts';

/** What a peer reports of a host; undefined when it is silent itself or has no BFD session. */
export type PeerBfdStatus = 'up' | 'down' | undefined;

export interface BfdStatusSource {
  bfdStatus(listener: string, host: string): PeerBfdStatus;
  /** How many hosts report BFD to a host down. Cheap: called for every candidate. */
  countBfdDown(host: string): number;
}

const AGAINST_MIN = 2;

export function isDownByMajority(said: readonly PeerBfdStatus[]): boolean {
  const against = said.filter((one) => one === 'down').length;
  const listening = said.filter((one) => one !== undefined).length;
  return against >= AGAINST_MIN && against * 2 > listening;
}

/**
 * Those of its BFD peers that have a tunnel to it. A peer without one, for example in another transport zone, has no session: its missing
 * report must not count as BFD up.
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
      const statuses = bfdObserversOf(fleet, host).map((peer) => reports.bfdStatus(peer, host));
      return statuses.includes('down') && !statuses.includes('up');
    },
    isBfdDownByMajority: (host) =>
      reports.countBfdDown(host) >= AGAINST_MIN &&
      isDownByMajority(bfdObserversOf(fleet, host).map((peer) => reports.bfdStatus(peer, host))),
  };
}

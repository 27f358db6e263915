// What hosts hear of each other on the data path, put together: one that most of its listeners do not hear is lost, whatever it says
// itself. One listener alone never decides: it may be the one that is cut off.
import type { FleetReader } from '../fleet/index.ts';
import { findHost, transportZoneOf } from '../hosts/index.ts';
import { canHaveTunnels, zoneOfHost } from '../network/index.ts';
import type { IsBfdDown, IsUnheard, Senses } from './health.ts';
import { heartbeatPeers } from './watchers.ts';

/** What a listener says of a host; undefined when it is silent itself or listens for nobody. */
export type Hearing = 'heard' | 'unheard' | undefined;

export interface Ears {
  hearing(listener: string, host: string): Hearing;
  /** How many say that they do not hear a host, whoever they are. Cheap: every candidate is asked for. */
  unheardBy(host: string): number;
}

const AGAINST_MIN = 2;

export function isUnheardByMost(said: readonly Hearing[]): boolean {
  const against = said.filter((one) => one === 'unheard').length;
  const listening = said.filter((one) => one !== undefined).length;
  return against >= AGAINST_MIN && against * 2 > listening;
}

/**
 * Those of its heartbeat peers that have a tunnel to it. One without, such as one of another transport zone, misses no heartbeat: that
 * it does not complain must not count as hearing.
 */
function listenersOf(fleet: FleetReader, id: string): string[] {
  const host = findHost(fleet, id)?.doc;
  if (host === undefined || !canHaveTunnels(host) || typeof zoneOfHost(fleet, host) !== 'object') return [];
  const zone = transportZoneOf(host);
  return heartbeatPeers(fleet, id).filter((name) => {
    const peer = findHost(fleet, name)?.doc;
    return peer !== undefined && canHaveTunnels(peer) && transportZoneOf(peer) === zone;
  });
}

export function sensesOf(
  fleet: FleetReader,
  ears: Ears,
): Pick<Senses, 'hears'> & { readonly isUnheard: IsUnheard; readonly isBfdDown: IsBfdDown } {
  const hears = (host: string): boolean =>
    listenersOf(fleet, host).some((peer) => ears.hearing(peer, host) === 'heard');
  return {
    hears,
    isBfdDown: (host) => {
      if (ears.unheardBy(host) === 0) return false;
      const heard = listenersOf(fleet, host).map((peer) => ears.hearing(peer, host));
      return heard.includes('unheard') && !heard.includes('heard');
    },
    isUnheard: (host) =>
      ears.unheardBy(host) >= AGAINST_MIN &&
      isUnheardByMost(listenersOf(fleet, host).map((peer) => ears.hearing(peer, host))),
  };
}

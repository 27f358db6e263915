// Decides the connection state of a host from its heartbeats. Heartbeats stay in memory; only transitions are committed. It must never
// blame a host for the control plane's own absence, nor declare a whole site down for a cut uplink.
import { Type } from 'typebox';
import { setting } from '../../fleet/index.ts';
import type { ConnectionState } from '../model.ts';

export const LIVENESS = setting('liveness', {
  about: 'When a silent host is suspect and when it is down, in milliseconds, and when silence is blamed on the site.',
  schema: Type.Object(
    {
      suspectAfterMs: Type.Integer({ minimum: 1000, maximum: 3_600_000 }),
      downAfterMs: Type.Integer({ minimum: 2000, maximum: 86_400_000 }),
      /** A down host is up again after reporting for this long; the time doubles with each recent loss. */
      steadyMs: Type.Integer({ minimum: 0, maximum: 600_000 }),
      /** When more than this share of a site falls silent within a minute, none of it is declared down. */
      massSilencePercent: Type.Integer({ minimum: 1, maximum: 100 }),
      /** A site with fewer silent hosts than this has lost hosts, not its uplink, as long as another host there reports. */
      massSilenceAtLeast: Type.Integer({ minimum: 1 }),
    },
    { additionalProperties: false },
  ),
  check: ({ suspectAfterMs, downAfterMs }) =>
    downAfterMs > suspectAfterMs
      ? []
      : [{ field: '/downAfterMs', message: 'must be more than suspectAfterMs: a host is suspect before it is down' }],
  defaultValue: {
    suspectAfterMs: 15_000,
    downAfterMs: 60_000,
    steadyMs: 5_000,
    massSilencePercent: 30,
    massSilenceAtLeast: 3,
  },
});

export type LivenessSettings = (typeof LIVENESS)['defaultValue'];

/** What the holder keeps in memory of one host's heartbeats. */
export interface HeartbeatHistory {
  /** Time of the last heartbeat; undefined if none came since this holder began to observe. */
  readonly lastMs: number | undefined;
  /** Start of the current time without a gap. */
  readonly steadySinceMs: number;
  /** How often it was down lately. */
  readonly losses: number;
  readonly lastLossMs: number;
}

export const NO_HEARTBEAT_HISTORY: HeartbeatHistory = { lastMs: undefined, steadySinceMs: 0, losses: 0, lastLossMs: 0 };

/** Losses older than this no longer count against a host. */
const LOSSES_FORGOTTEN_MS = 600_000;
const STEADY_DOUBLINGS_MAX = 5;
const MASS_SILENCE_WINDOW_MS = 60_000;

export function addHeartbeat(
  heartbeats: HeartbeatHistory,
  nowMs: number,
  settings: LivenessSettings,
): HeartbeatHistory {
  const gap = heartbeats.lastMs === undefined || nowMs - heartbeats.lastMs > settings.suspectAfterMs;
  return { ...heartbeats, lastMs: nowMs, steadySinceMs: gap ? nowMs : heartbeats.steadySinceMs };
}

export function addLoss(heartbeats: HeartbeatHistory, nowMs: number): HeartbeatHistory {
  const lately = nowMs - heartbeats.lastLossMs < LOSSES_FORGOTTEN_MS;
  return { ...heartbeats, losses: lately ? heartbeats.losses + 1 : 1, lastLossMs: nowMs };
}

/** One host, as input to liveness. */
export interface HostLiveness {
  readonly host: string;
  readonly site: string;
  readonly connection: ConnectionState;
  readonly heartbeats: HeartbeatHistory;
}

/** Silence counts from here at the earliest: the holder did not observe before. */
export interface ObservationWindow {
  readonly sinceMs: number;
  readonly nowMs: number;
}

/** What one host's connection should be; its present state when nothing is to change. */
export function assessConnection(
  watched: HostLiveness,
  listening: ObservationWindow,
  settings: LivenessSettings,
): ConnectionState {
  const { connection, heartbeats } = watched;
  const silentMs = silence(heartbeats, listening);
  if (hasHeartbeatInWindow(heartbeats, listening) && silentMs < settings.suspectAfterMs) {
    return connection === 'up' || isSteady(watched, listening.nowMs, settings) ? 'up' : connection;
  }
  // A host that never sent a heartbeat is unknown, not lost.
  if (connection === 'unknown') return 'unknown';
  if (silentMs >= settings.downAfterMs) return 'down';
  return connection === 'up' && silentMs >= settings.suspectAfterMs ? 'suspect' : connection;
}

/**
 * Heartbeats from before this holder's term do not count: another holder may have decided since, and this one's clock may have stood still.
 * A short observation is no reason to consider a lost host back.
 */
function hasHeartbeatInWindow({ lastMs }: HeartbeatHistory, { sinceMs }: ObservationWindow): boolean {
  return lastMs !== undefined && lastMs >= sinceMs;
}

function isSteady({ connection, heartbeats }: HostLiveness, nowMs: number, settings: LivenessSettings): boolean {
  if (connection === 'unknown' || heartbeats.losses === 0) return true;
  const neededMs = settings.steadyMs * 2 ** Math.min(heartbeats.losses - 1, STEADY_DOUBLINGS_MAX);
  return nowMs - heartbeats.steadySinceMs >= neededMs;
}

export function silence(heartbeats: HeartbeatHistory, { sinceMs, nowMs }: ObservationWindow): number {
  return nowMs - Math.max(heartbeats.lastMs ?? sinceMs, sinceMs);
}

/** The hosts of a site that ever sent a heartbeat, and those of them that are down already. */
export interface SiteSize {
  readonly hosts: number;
  readonly down: number;
}

/**
 * A site's hosts at the time when one would be declared down: how many fell silent at about the same time. `silentSinceMs` ascends: this is
 * called for each host that falls.
 */
export function isMassSilence(
  silentSinceMs: readonly number[],
  size: SiteSize,
  at: number,
  settings: LivenessSettings,
): boolean {
  const first = countBelow(silentSinceMs, at - MASS_SILENCE_WINDOW_MS);
  const together = countBelow(silentSinceMs, at + MASS_SILENCE_WINDOW_MS + 1) - first;
  return isMassSilenceSize(together, size, settings);
}

function countBelow(ascending: readonly number[], limit: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] as number) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Fewer hosts are never a mass outage: with one host, being off and being cut off look the same. */
export const ALL_AT_LEAST = 2;

/** Whether the silence of this many is more likely the site's uplink. */
export function isMassSilenceSize(silent: number, { hosts, down }: SiteSize, settings: LivenessSettings): boolean {
  const { massSilenceAtLeast, massSilencePercent } = settings;
  const areAll = silent >= ALL_AT_LEAST && silent >= hosts - down;
  if (!areAll && silent < massSilenceAtLeast) return false;
  return silent * 100 > massSilencePercent * (areAll ? hosts - down : hosts);
}

/** The heartbeat interval with its spread: hosts that are cut off together sent their last heartbeat within this time. */
const BETWEEN_HEARTBEATS_MS = 6000;

/**
 * Silent for this long, a host counts when its site is checked, so that all hosts that were cut off together count by the time that the
 * first of them is suspect. Hosts that are only between two heartbeats do not count.
 */
export function possiblePartitionAfterMs({ suspectAfterMs }: LivenessSettings): number {
  return Math.max(suspectAfterMs - BETWEEN_HEARTBEATS_MS, Math.min(BETWEEN_HEARTBEATS_MS, suspectAfterMs));
}

// Decides liveness for all hosts at once: which connections change, and which sites are silent as a whole. Pure.
import { idOf, mark, put, type Change, type FleetReader, type Steps } from '../../fleet/index.ts';
import { alarmId, clearAlarm, raiseAlarm } from '../../alarms/index.ts';
import { accept, type Decision } from '../../journal/index.ts';
import {
  ALL_AT_LEAST,
  isMassSilenceSize,
  isMassSilence,
  assessConnection,
  possiblePartitionAfterMs,
  silence,
  type HeartbeatHistory,
  type ObservationWindow,
  type LivenessSettings,
  type SiteSize,
} from './liveness.ts';
import { formatFact, type ReasonSentences } from '../../operations/index.ts';
import { HOST, HOSTS_BY_SITE, type ConnectionState, type Host } from '../model.ts';

export interface Transition {
  readonly host: string;
  readonly from: ConnectionState;
  readonly to: ConnectionState;
  /** For a host that is about to be declared down. */
  readonly silentSinceMs?: number;
}

export interface LivenessPlan {
  readonly transitions: readonly Transition[];
  /** Sites that are silent as a whole: none of their hosts is declared down. */
  readonly silentSites: readonly { readonly site: string; readonly silent: number; readonly hosts: number }[];
  /** Watched, and not in the fleet any more. */
  readonly gone: readonly string[];
}

/** What one pass finds about one site. */
interface SiteSilence {
  readonly silentSince: number[];
  readonly falling: Transition[];
}

/** Hosts in one step: well below a millisecond. */
const HOSTS_PER_STEP = 100;

/**
 * Decides for the given hosts: all that are silent, and those that may have come back. Hosts that are up and report need no check, so
 * that a pass costs O(problems), not O(fleet). In steps: of a large site that is cut off, every host is a problem.
 */
export function* planLiveness(
  fleet: FleetReader,
  watched: Iterable<readonly [host: string, history: HeartbeatHistory]>,
  listening: ObservationWindow,
  settings: LivenessSettings,
): Steps<LivenessPlan> {
  const sites = new Map<string, SiteSilence>();
  const transitions: Transition[] = [];
  const gone: string[] = [];
  let assessed = 0;
  for (const [host, heartbeats] of watched) {
    assessed += 1;
    if (assessed % HOSTS_PER_STEP === 0) yield;
    const doc = fleet.get(HOST, idOf(HOST, host))?.doc;
    if (doc === undefined) gone.push(host);
    if (doc === undefined || hasNoAgent(doc)) continue;
    const from = doc.connection.state;
    const site = siteSilenceOf(sites, doc.site);
    const silentMs = silence(heartbeats, listening);
    // Hosts that are down already fell silent earlier; they say nothing about the site's uplink now.
    if (silentMs >= settings.suspectAfterMs && from !== 'down' && from !== 'unknown') {
      site.silentSince.push(listening.nowMs - silentMs);
    }
    const to = assessConnection({ host, site: doc.site, connection: from, heartbeats }, listening, settings);
    if (to === from) continue;
    if (to === 'down') site.falling.push({ host, from, to, silentSinceMs: listening.nowMs - silentMs });
    else transitions.push({ host, from, to });
  }
  return { ...(yield* holdBackMassSilence(fleet, transitions, sites, settings)), gone };
}

/**
 * It was removed, or its agent has reported that it left, or it is to join again and its agent has not done so: the heartbeat came from
 * the agent that has left. Its credential is revoked, so no further heartbeat is accepted in its name.
 */
function hasNoAgent({ state, leaving, readmitted, credential }: Host): boolean {
  if (state === 'removed') return true;
  const isAwaited = state === 'joining' && readmitted === true;
  return credential === undefined && (isAwaited || leaving !== undefined);
}

/**
 * The sites of which too many hosts are silent just now to decide which of them are lost. `heartbeats` is ordered by the last of each, the oldest
 * first. Costs O(silent), and O(site) for a site that may be cut off.
 */
export function* findPossiblyPartitionedSites(
  fleet: FleetReader,
  heartbeats: Iterable<readonly [host: string, history: HeartbeatHistory]>,
  listening: ObservationWindow,
  settings: LivenessSettings,
): Steps<ReadonlySet<string>> {
  const quietMs = possiblePartitionAfterMs(settings);
  const silent = new Map<string, number>();
  let seen = 0;
  for (const [host, one] of heartbeats) {
    seen += 1;
    if (seen % HOSTS_PER_STEP === 0) yield;
    if (one.lastMs !== undefined && listening.nowMs - one.lastMs < quietMs) break;
    const doc = fleet.get(HOST, idOf(HOST, host))?.doc;
    if (doc === undefined || doc.state === 'removed' || silence(one, listening) < quietMs) continue;
    const { state } = doc.connection;
    if (state !== 'down' && state !== 'unknown') silent.set(doc.site, (silent.get(doc.site) ?? 0) + 1);
  }
  const found = new Set<string>();
  for (const [site, count] of silent) {
    if (count < Math.min(settings.massSilenceAtLeast, ALL_AT_LEAST)) continue;
    if (isMassSilenceSize(count, yield* sizeOf(fleet, site), settings)) found.add(site);
  }
  return found;
}

function siteSilenceOf(sites: Map<string, SiteSilence>, site: string): SiteSilence {
  let look = sites.get(site);
  if (look === undefined) sites.set(site, (look = { silentSince: [], falling: [] }));
  return look;
}

function* holdBackMassSilence(
  fleet: FleetReader,
  transitions: Transition[],
  sites: ReadonlyMap<string, SiteSilence>,
  settings: LivenessSettings,
): Steps<Omit<LivenessPlan, 'gone'>> {
  const silentSites: { site: string; silent: number; hosts: number }[] = [];
  for (const [site, { silentSince, falling }] of sites) {
    if (falling.length === 0) continue;
    const size = yield* sizeOf(fleet, site);
    silentSince.sort((one, other) => one - other);
    yield;
    if (!falling.some(({ silentSinceMs = 0 }) => isMassSilence(silentSince, size, silentSinceMs, settings))) {
      transitions.push(...falling);
      continue;
    }
    mark('mass-silence-held');
    silentSites.push({ site, silent: silentSince.length, hosts: size.hosts });
    // Not declared down, but silent.
    transitions.push(
      ...falling.filter(({ from }) => from === 'up').map(({ host, from }) => ({ host, from, to: 'suspect' as const })),
    );
  }
  return { transitions, silentSites };
}

/** Costs O(site), and only while several of its hosts are silent. */
function* sizeOf(fleet: FleetReader, site: string): Steps<SiteSize> {
  let [hosts, down, counted] = [0, 0, 0];
  for (const { doc } of fleet.find(HOSTS_BY_SITE, site)) {
    counted += 1;
    if (counted % HOSTS_PER_STEP === 0) yield;
    if (doc.state === 'removed' || doc.connection.state === 'unknown') continue;
    hosts += 1;
    if (doc.connection.state === 'down') down += 1;
  }
  return { hosts, down };
}

/** Commits a slice of transitions. A host that changed meanwhile is checked again in the next pass. */
export function recordTransitions(
  fleet: FleetReader,
  transitions: readonly Transition[],
  nowMs: number,
): Decision<number> {
  const changes = transitions.flatMap(({ host, from, to }): Change[] => {
    const stored = fleet.get(HOST, idOf(HOST, host));
    if (stored === undefined || hasNoAgent(stored.doc) || stored.doc.connection.state !== from) return [];
    const doc: Host = { ...stored.doc, connection: { state: to, sinceMs: nowMs } };
    return [put(HOST, stored.id, to === 'up' ? quarantineIfFenced(doc, nowMs) : doc)];
  });
  return accept(changes, changes.length);
}

/** It was forced down and its tenants were rebuilt elsewhere: it is not trusted with what it may still run. */
function quarantineIfFenced(host: Host, nowMs: number): Host {
  const { forcedDown, leaving, quarantined } = host;
  if (forcedDown === undefined || leaving?.rebuilt !== true || quarantined !== undefined) return host;
  mark('operator-fenced-host-connected');
  return { ...host, quarantined: { because: 'operator-fenced', atMs: nowMs } };
}

/** Raises and clears the alarms of silent sites. */
export function recordSilentSites(
  fleet: FleetReader,
  plan: Pick<LivenessPlan, 'silentSites'>,
  sites: readonly string[],
  nowMs: number,
): Decision<number> {
  const changes = sites.flatMap((site) => {
    const id = alarmId('mass-silence', site);
    const silent = plan.silentSites.find((one) => one.site === site);
    if (silent === undefined) return clearAlarm(fleet, id);
    const reason = { code: 'mass-silence', site, silent: silent.silent, hosts: silent.hosts };
    return raiseAlarm(fleet, id, { severity: 'critical', site, reason, sinceMs: nowMs });
  });
  return accept(changes, changes.length);
}

export const livenessSentences: ReasonSentences = {
  'mass-silence': ({ site, silent, hosts }) =>
    `${formatFact(silent)} of ${formatFact(hosts)} hosts of site ${formatFact(site)} fell silent together: the link of the site is suspected, and none of them is declared down. Check that link; if hosts are off for certain, say so with "muster hosts force-down".`,
};

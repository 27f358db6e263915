// The liveness of all hosts at once: which connections change, and which sites are silent as a whole.
import { idOf, mark, put, type Change, type FleetReader } from '../fleet/index.ts';
import { alarmId, cleared, raised } from '../alarms/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import {
  isMassSilence,
  judge,
  NEVER_HEARD,
  silence,
  type Heard,
  type Listening,
  type LivenessSettings,
  type Watched,
} from './liveness.ts';
import { said, type ReasonSentences } from '../operations/index.ts';
import { HOST, type ConnectionState, type Host } from './model.ts';

export interface Transition {
  readonly host: string;
  readonly from: ConnectionState;
  readonly to: ConnectionState;
}

export interface LivenessPlan {
  readonly transitions: readonly Transition[];
  /** Sites whose silence is their own: none of their hosts is declared down. */
  readonly silentSites: readonly { readonly site: string; readonly silent: number; readonly hosts: number }[];
}

/** Looks at every host: O(fleet), once a second at the holder. */
export function planLiveness(
  fleet: FleetReader,
  heard: ReadonlyMap<string, Heard>,
  listening: Listening,
  settings: LivenessSettings,
): LivenessPlan {
  const bySite = new Map<string, { hosts: number; silentSince: number[]; falling: Transition[] }>();
  const transitions: Transition[] = [];
  for (const { id, doc } of fleet.all(HOST)) {
    if (doc.state === 'removed' || (doc.connection.state === 'unknown' && !heard.has(id))) continue;
    const watched: Watched = {
      host: id,
      site: doc.site,
      connection: doc.connection.state,
      heard: heard.get(id) ?? NEVER_HEARD,
    };
    let site = bySite.get(doc.site);
    if (site === undefined) bySite.set(doc.site, (site = { hosts: 0, silentSince: [], falling: [] }));
    site.hosts += 1;
    const silentMs = silence(watched.heard, listening);
    // Hosts that are down already fell silent before; they say nothing about the site's uplink now.
    if (silentMs >= settings.suspectAfterMs && watched.connection !== 'down')
      site.silentSince.push(listening.nowMs - silentMs);
    const to = judge(watched, listening, settings);
    if (to === watched.connection) continue;
    const transition = { host: id, from: watched.connection, to };
    if (to === 'down') site.falling.push(transition);
    else transitions.push(transition);
  }
  return withSites(transitions, bySite, { heard, listening, settings });
}

function withSites(
  transitions: Transition[],
  bySite: ReadonlyMap<string, { hosts: number; silentSince: number[]; falling: Transition[] }>,
  told: { heard: ReadonlyMap<string, Heard>; listening: Listening; settings: LivenessSettings },
): LivenessPlan {
  const silentSites: { site: string; silent: number; hosts: number }[] = [];
  for (const [site, { hosts, silentSince, falling }] of bySite) {
    const held = falling.some(({ host }) => {
      const since = told.listening.nowMs - silence(told.heard.get(host) ?? NEVER_HEARD, told.listening);
      return isMassSilence(silentSince, hosts, since, told.settings);
    });
    if (!held) transitions.push(...falling);
    else {
      mark('mass-silence-held');
      silentSites.push({ site, silent: silentSince.length, hosts });
      // Down is not said, but silent they are.
      transitions.push(
        ...falling.filter(({ from }) => from === 'up').map((one) => ({ ...one, to: 'suspect' as const })),
      );
    }
  }
  return { transitions, silentSites };
}

/** Commits a slice of transitions. A host that changed meanwhile is judged again at the next look. */
export function recordTransitions(
  fleet: FleetReader,
  transitions: readonly Transition[],
  nowMs: number,
): Decision<number> {
  const changes = transitions.flatMap(({ host, from, to }): Change[] => {
    const stored = fleet.get(HOST, idOf(HOST, host));
    if (stored === undefined || stored.doc.state === 'removed' || stored.doc.connection.state !== from) return [];
    const doc: Host = { ...stored.doc, connection: { state: to, sinceMs: nowMs } };
    return [put(HOST, stored.id, doc)];
  });
  return accept(changes, changes.length);
}

/** Raises and clears the alarms of silent sites. */
export function recordSilentSites(
  fleet: FleetReader,
  plan: LivenessPlan,
  sites: readonly string[],
  nowMs: number,
): Decision<number> {
  const changes = sites.flatMap((site) => {
    const id = alarmId('mass-silence', site);
    const silent = plan.silentSites.find((one) => one.site === site);
    if (silent === undefined) return cleared(fleet, id);
    const reason = { code: 'mass-silence', site, silent: silent.silent, hosts: silent.hosts };
    return raised(fleet, id, { severity: 'critical', site, reason, sinceMs: nowMs });
  });
  return accept(changes, changes.length);
}

export const livenessSentences: ReasonSentences = {
  'mass-silence': ({ site, silent, hosts }) =>
    `${said(silent)} of ${said(hosts)} hosts of site ${said(site)} fell silent within a minute: its link is suspected, no host is declared down.`,
};

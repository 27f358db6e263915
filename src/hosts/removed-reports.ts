// Decides which machines report as a removed host: its own agent with the revoked credential, and other hosts whose switch is its switch. The
// alarm counts and names them, and is cleared when none is left.
import { ALARM, alarmId, clearAlarm, raiseOrUpdateAlarm } from '../alarms/index.ts';
import type { Change, FleetReader, Reason } from '../fleet/index.ts';
import type { ReasonSentences } from '../operations/index.ts';
import { findHost, type StoredHost } from './find-host.ts';
import { HOSTS_BY_IDENTITY, identityForms } from './model.ts';

export const REMOVED_HOST_REPORTS = 'removed-host-reports';

/** The alarm is for a person to read: with more copies than this, the inventory is the place to search. */
const NAMED_MAX = 8;

export interface Reporters {
  /** Its own agent, by the credential that was revoked with its removal. */
  readonly itself: boolean;
  /** Hosts that report its switch. */
  readonly as: readonly string[];
}

const NO_REPORTERS: Reporters = { itself: false, as: [] };

/** The recorded reporters of a removed host. Costs O(hosts that report its switch). */
export function reportersOf(fleet: FleetReader, id: string): Reporters {
  const reason = fleet.get(ALARM, alarmId(REMOVED_HOST_REPORTS, id))?.doc.reason;
  const removed = findHost(fleet, id);
  if (reason === undefined || removed?.doc.state !== 'removed') return NO_REPORTERS;
  return { itself: isItself(reason), as: findHostsWithSwitchOf(fleet, removed) };
}

/** Alarms of earlier versions name the one host that reported its switch, or none when it was the host itself. */
function isItself({ itself, as }: Omit<Reason, 'code'>): boolean {
  return itself === true || (itself === undefined && as === undefined);
}

function findHostsWithSwitchOf(fleet: FleetReader, removed: StoredHost): string[] {
  const found = new Set<string>();
  for (const form of identityForms(removed.doc.switch)) {
    for (const { id, doc } of fleet.find(HOSTS_BY_IDENTITY, form)) {
      const isOther = id !== removed.id && doc.state !== 'removed';
      // Host names do not count as ids of the switch: operators choose them freely.
      if (isOther && identityForms(doc.switch).includes(form)) found.add(id);
    }
  }
  return [...found].sort();
}

export interface RemovedHostReport {
  readonly removed: StoredHost;
  /** Whether its own agent reports; the recorded state when not given. */
  readonly itself?: boolean;
  /** A host that reports its switch from this commit on. */
  readonly by?: string;
  readonly nowMs: number;
}

/** The alarm as it should be: raised, changed, or cleared when nothing reports as the host any more. */
export function removedReportAlarm(fleet: FleetReader, reported: RemovedHostReport): Change[] {
  const { removed, by, nowMs } = reported;
  const { itself = reportersOf(fleet, removed.id).itself } = reported;
  const as = [...new Set([...findHostsWithSwitchOf(fleet, removed), ...(by === undefined ? [] : [by])])].sort();
  if (!itself && as.length === 0) return endRemovedReports(fleet, removed.id);
  const { site } = removed.doc;
  // A reader of the removed host's site may not see hosts of others.
  const named = as.filter((name) => findHost(fleet, name)?.doc.site === site).slice(0, NAMED_MAX);
  const count = as.length + (itself ? 1 : 0);
  const reason = { code: REMOVED_HOST_REPORTS, host: removed.id, itself, as: named, count };
  const alarm = { severity: 'warning' as const, site, reason, sinceMs: nowMs };
  return raiseOrUpdateAlarm(fleet, alarmId(REMOVED_HOST_REPORTS, removed.id), alarm);
}

/** It joins again by an operator's request: reports under this name are expected. */
export function endRemovedReports(fleet: FleetReader, host: string): Change[] {
  return clearAlarm(fleet, alarmId(REMOVED_HOST_REPORTS, host));
}

export const removedReportSentences: ReasonSentences = {
  [REMOVED_HOST_REPORTS]: ({ host, itself, as, count }) => {
    // Alarms of earlier versions name one host and have no count.
    const named = Array.isArray(as) ? as.map(String) : as === undefined ? [] : [String(as)];
    const isAgent = isItself({ itself, as });
    const others = Number(count ?? named.length + (isAgent ? 1 : 0)) - (isAgent ? 1 : 0);
    const places = [...(isAgent ? ['its own agent, with its old credential'] : []), ...reporterTexts(named, others)];
    const advice = [
      ...(isAgent ? [`stop that agent, or join ${String(host)} again`] : []),
      ...(others === 0 ? [] : ['re-admit a host that is meant to have the switch']),
    ];
    const total = others + (isAgent ? 1 : 0);
    const counted = total === 1 ? 'from one place' : `from ${total} places`;
    return `The removed host ${String(host)} still reports, ${counted} (${places.join('; ')}): ${advice.join('; ')}.`;
  },
};

function reporterTexts(named: readonly string[], count: number): string[] {
  const hidden = count - named.length;
  if (count === 0) return [];
  const names = named.length === 0 ? [] : [`${named.length === 1 ? 'host' : 'hosts'} ${named.join(', ')}`];
  const more = hidden === 0 ? [] : [`${hidden} ${named.length === 0 ? '' : 'more '}${hidden === 1 ? 'host' : 'hosts'}`];
  return [`${[...names, ...more].join(' and ')} in quarantine with its switch`];
}

// Decides what a reported switch identity means: it is recorded at the host, and the host is quarantined when it is another host's switch.
// Pure.
import { alarmId, clearAlarm, raiseOrUpdateAlarm } from '../../alarms/index.ts';
import { mark, put, type Change, type FleetReader } from '../../fleet/index.ts';
import {
  findHost,
  HOST,
  HOSTS_BY_IDENTITY,
  identityForms,
  removedReportAlarm,
  type Host,
  type StoredHost,
  type SwitchIdentity,
} from '../../hosts/index.ts';
import { accept, type Decision } from '../../journal/index.ts';

export interface SwitchReport {
  readonly host: string;
  readonly identity: SwitchIdentity;
  /** The author of the change. */
  readonly by: string;
  readonly nowMs: number;
}

export function isSameSwitch(one: SwitchIdentity | undefined, other: SwitchIdentity | undefined): boolean {
  return one?.datapathId === other?.datapathId && one?.systemId === other?.systemId && one?.bridge === other?.bridge;
}

/** A host whose switch has the identity of another host's is in quarantine until an operator re-admits it. */
export function recordSwitch(fleet: FleetReader, { host: id, identity, by, nowMs }: SwitchReport): Decision<null> {
  const host = findHost(fleet, id);
  if (host === undefined || host.doc.state === 'removed') return accept([], null);
  const twin = findTwin(fleet, id, identity);
  const distrusted = twin !== undefined && host.doc.quarantined === undefined;
  if (isSameSwitch(host.doc.switch, identity) && !distrusted) return accept(clearSharedIdentity(fleet, id, twin), null);
  const doc: Host = {
    ...host.doc,
    switch: identity,
    ...(distrusted && { quarantined: { because: 'identity', as: twin.id, atMs: nowMs } }),
    changedBy: by,
    changedAtMs: nowMs,
  };
  const changes = [put(HOST, host.id, doc), ...clearSharedIdentity(fleet, id, twin)];
  return accept(twin === undefined ? changes : [...changes, ...raiseSharedIdentity(fleet, host, twin, nowMs)], null);
}

/** Whether a trusted host reports the switch of another host. */
export function isImpostor(fleet: FleetReader, host: string, { quarantined, switch: identity }: Host): boolean {
  return quarantined === undefined && identity !== undefined && findTwin(fleet, host, identity) !== undefined;
}

/** Another host that has reported this very switch. Names do not count: operators choose them freely. */
function findTwin(fleet: FleetReader, id: string, identity: SwitchIdentity): StoredHost | undefined {
  const forms = identityForms(identity);
  for (const form of forms) {
    for (const other of fleet.find(HOSTS_BY_IDENTITY, form)) {
      const shares = other.id !== id && identityForms(other.doc.switch).includes(form);
      // A quarantined host proves nothing against others. A removed host does: its switch may still run.
      if (shares && (other.doc.quarantined === undefined || other.doc.state === 'removed')) return other;
    }
  }
  return undefined;
}

function raiseSharedIdentity(fleet: FleetReader, host: StoredHost, twin: StoredHost, nowMs: number): Change[] {
  mark('switch-identity-shared');
  if (twin.doc.state === 'removed') return removedReportAlarm(fleet, { removed: twin, by: host.id, nowMs });
  // A caller that may see this host may not see hosts of other sites.
  const isNear = twin.doc.site === host.doc.site;
  const reason = { code: 'switch-identity-shared', host: host.id, ...(isNear && { other: twin.id }) };
  return raiseOrUpdateAlarm(fleet, sharedIdentityAlarmId(host.id), {
    severity: 'critical',
    site: host.doc.site,
    reason,
    sinceMs: nowMs,
  });
}

function clearSharedIdentity(fleet: FleetReader, id: string, twin: StoredHost | undefined): Change[] {
  // A removed host has an alarm of its own, which names the host that reports its switch.
  return twin === undefined || twin.doc.state === 'removed' ? clearAlarm(fleet, sharedIdentityAlarmId(id)) : [];
}

function sharedIdentityAlarmId(host: string): ReturnType<typeof alarmId> {
  return alarmId('switch-identity-shared', host);
}

/** A removed host stays removed; that it still runs is for an operator to check. */
export function recordRemovedHostReport(
  fleet: FleetReader,
  { host: id, nowMs }: { host: string; nowMs: number },
): Decision<null> {
  const host = findHost(fleet, id);
  if (host?.doc.state !== 'removed') return accept([], null);
  mark('removed-host-reports');
  return accept(removedReportAlarm(fleet, { removed: host, itself: true, nowMs }), null);
}

// The alarm that two machines use the credential of one host. Neither is refused: only a person knows which of them is the host, and a stolen
// credential must not be able to put the host out of service.
import { alarmId, ALARMS_BY_CODE, clearAlarm, raiseOrUpdateAlarm, type Alarm } from '../alarms/index.ts';
import type { Change, FleetReader } from '../fleet/index.ts';
import type { ReasonSentences } from '../operations/index.ts';
import { findHost } from './find-host.ts';

const CREDENTIAL_SHARED = 'agent-credential-shared';

export interface SharedCredentialsRequest {
  /** The hosts of which this server is certain, and when it last saw it. */
  readonly shared: Iterable<readonly [host: string, sharedMs: number]>;
  /** Since when this server would have seen it. */
  readonly listeningSinceMs: number;
  /** After this long without a sighting the alarm ends. */
  readonly quietAfterMs: number;
  readonly nowMs: number;
}

export function planSharedCredentialAlarms(fleet: FleetReader, request: SharedCredentialsRequest): Change[] {
  const { shared, listeningSinceMs, quietAfterMs, nowMs } = request;
  const seenMs = new Map([...shared].filter(([, sharedMs]) => nowMs - sharedMs < quietAfterMs));
  const isOver = ({ reason, sinceMs }: Alarm): boolean => {
    const host = findHost(fleet, String(reason['host']));
    if (host === undefined || host.doc.state === 'removed') return true;
    return !seenMs.has(host.id) && nowMs - Math.max(listeningSinceMs, sinceMs) >= quietAfterMs;
  };
  const over = [...fleet.find(ALARMS_BY_CODE, CREDENTIAL_SHARED)].filter(({ doc }) => isOver(doc));
  return [
    ...over.flatMap(({ doc }) => clearAlarm(fleet, alarmId(CREDENTIAL_SHARED, String(doc.reason['host'])))),
    ...[...seenMs.keys()].flatMap((id) => raiseFor(fleet, id, nowMs)),
  ];
}

function raiseFor(fleet: FleetReader, id: string, nowMs: number): Change[] {
  const host = findHost(fleet, id);
  if (host === undefined || host.doc.state === 'removed') return [];
  const reason = { code: CREDENTIAL_SHARED, host: host.id };
  const alarm = { severity: 'critical' as const, site: host.doc.site, reason, sinceMs: nowMs };
  return raiseOrUpdateAlarm(fleet, alarmId(CREDENTIAL_SHARED, host.id), alarm);
}

export const sharedCredentialSentences: ReasonSentences = {
  [CREDENTIAL_SHARED]: ({ host }) =>
    `Two machines use the credential of host ${String(host)}, and the reports of one count as those of the other: stop the agent that should not run; if it is unknown which one, or the credential may be stolen, end this by joining the host again with a new join token (muster hosts join-token ${String(host)}).`,
};

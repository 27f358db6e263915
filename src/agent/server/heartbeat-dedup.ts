// Recognises a heartbeat with nothing new. Nearly all repeat the one before, from a host that has not changed: they have the same outcome,
// and are not evaluated again.
import type { StoredHost } from '../../hosts/index.ts';
import type { AgentIdentity } from './admission.ts';
import type { Heartbeat } from '../protocol/messages.ts';

/** A heartbeat that was accepted with nothing to record, and the host as it was then: up, and in the fleet. */
export interface HeartbeatBaseline {
  readonly token: string | undefined;
  readonly beat: Heartbeat;
  readonly host: StoredHost;
}

/** A heartbeat with a report is always evaluated: another host may have reported the same switch meanwhile. */
export function toBaseline({ token }: AgentIdentity, beat: Heartbeat, host: StoredHost): HeartbeatBaseline | undefined {
  return beat.report === undefined ? { token, beat, host } : undefined;
}

export function isRepeat(
  last: HeartbeatBaseline,
  token: string | undefined,
  beat: Heartbeat,
  host: StoredHost | undefined,
): boolean {
  return last.host === host && last.token === token && (last.beat === beat || isSameHeartbeat(last.beat, beat));
}

function isSameHeartbeat(one: Heartbeat, other: Heartbeat): boolean {
  const { serviceVersion, applied, asOf, report, unready, process } = other;
  // A heartbeat with services that are not ready, or with faults, is evaluated each time: it is rare, and does not last.
  const isBusy = unready !== undefined || one.unready !== undefined || hasConditions(one) || hasConditions(other);
  const isSame = one.serviceVersion === serviceVersion && one.applied === applied && one.asOf === asOf;
  return report === undefined && !isBusy && isSame && one.process === process;
}

function hasConditions({ conditions = [] }: Heartbeat): boolean {
  return conditions.length > 0;
}

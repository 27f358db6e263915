// When a heartbeat says nothing new. Nearly all say what the one before said, of a host that has not changed: what came of the
// one before then comes of this one too, and none of it has to be looked at again.
import type { StoredHost } from '../../hosts/index.ts';
import type { AgentIdentity } from './admission.ts';
import type { Heartbeat } from '../protocol/messages.ts';

/** A heartbeat that was listened to and left nothing to write down, and the host as it was then: up, and in the fleet. */
export interface HeartbeatBaseline {
  readonly token: string | undefined;
  readonly beat: Heartbeat;
  readonly host: StoredHost;
}

/** One that brings a report is always looked at: another host may have shown the same switch meanwhile. */
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
  // Whoever names services that are not ready, or something that fails, is looked at each time: it is rare, and does not last.
  const isBusy = unready !== undefined || one.unready !== undefined || hasConditions(one) || hasConditions(other);
  const isSame = one.serviceVersion === serviceVersion && one.applied === applied && one.asOf === asOf;
  return report === undefined && !isBusy && isSame && one.process === process;
}

function hasConditions({ conditions = [] }: Heartbeat): boolean {
  return conditions.length > 0;
}

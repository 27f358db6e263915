// Maps a back end's reply (status, code and binding type) to one outcome. A success status alone proves nothing.
import type { PortOutcome } from './back-end.ts';

export interface BackEndReply {
  /** The HTTP status. */
  readonly status: number;
  /** The back end's own code for a conflict. */
  readonly code?: string;
  /** How the port is connected, as in `binding:vif_type`. */
  readonly type?: string;
}

/** Types that mean that a port was not connected, whatever the status. */
const UNCONNECTED_TYPES: readonly string[] = ['binding_failed', 'unbound'];

/** Temporary refusals: timeout, too early, too many requests. */
const TRANSIENT: readonly number[] = [408, 425, 429];

const CONFLICTS: ReadonlyMap<string, PortOutcome> = new Map([
  ['IpAddressGenerationFailure', 'pool-empty'],
  ['HostNotConnectedToAnySegment', 'mapping-gone'],
  ['HostNotCompatibleWithFixedIps', 'address-not-carried'],
  ['IpAddressInUse', 'taken'],
  ['PortInUse', 'taken'],
  ['OverQuota', 'quota'],
]);

/** `wants: 'binding'` requires a connected port as well as success. */
export function replyOutcome(reply: BackEndReply, wants: 'binding' | 'success'): PortOutcome {
  const { status, code, type } = reply;
  if (status >= 200 && status < 300) {
    return wants === 'binding' && UNCONNECTED_TYPES.includes(type ?? 'unbound') ? 'binding-failed' : 'ok';
  }
  if (status === 404) return 'not-found';
  if (status === 413) return 'quota';
  if (status === 409) return CONFLICTS.get(code ?? '') ?? 'taken';
  // An unknown refusal is still a refusal: the same call again would be refused again.
  return status >= 500 || TRANSIENT.includes(status) ? 'unavailable' : 'forbidden';
}

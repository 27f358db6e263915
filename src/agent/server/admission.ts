// Authenticates the caller and decides whether a host's agent is admitted. A valid secret is not enough: the host must be in the fleet and
// bound to this very credential.
import {
  callerOfToken,
  denyUnlessSufficient,
  findTroubleOf,
  refuseToken,
  TOKEN,
  tokenIdIn,
  type TokenId,
} from '../../access/index.ts';
import { mark, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { findHost, removedHost, unknownHost, type StoredHost } from '../../hosts/index.ts';
import { type Reply, isSigned } from '../../link/index.ts';

export interface AgentIdentity {
  readonly host: string;
  /** The presented token. */
  readonly token: string | undefined;
}

interface PresentedSecret {
  readonly secret: string;
  readonly role: 'agent' | 'join';
  readonly hash: (text: string) => string;
}

/** The token of a secret, or the refusal of the HTTP edge. For links without one: HTTP callers are authenticated before they get here. */
export function authenticateAgent(
  fleet: FleetReader,
  { secret, role, hash }: PresentedSecret,
): AgentIdentity | Refusal {
  const id = tokenIdIn(secret);
  const stored = id === undefined ? undefined : fleet.get(TOKEN, id as TokenId);
  const token = stored?.doc.hash === hash(secret) ? stored : undefined;
  if (token === undefined) return refuseToken('unknown');
  if (token.doc.revoked !== undefined) return refuseToken('revoked');
  const denied = denyUnlessSufficient(callerOfToken(token), { access: role, scope: 'site' });
  // Tokens with these roles are made with a host, and no others are.
  return denied ?? { host: token.doc.host ?? '', token: token.id };
}

/** The host whose credential a valid secret was until it was revoked. */
export function hostOfRevokedToken(fleet: FleetReader, { secret, role, hash }: PresentedSecret): string | undefined {
  const token = fleet.get(TOKEN, (tokenIdIn(secret) ?? '') as TokenId)?.doc;
  if (token?.role !== role || token.revoked === undefined || token.hash !== hash(secret)) return undefined;
  return token.host;
}

/** Why an agent with a valid secret is not admitted; undefined when it is. */
function refuseUnlessBound(host: StoredHost | undefined, { host: id, token }: AgentIdentity): Refusal | undefined {
  if (host === undefined || host.doc.state === 'removed') return notInFleet(id, host);
  return host.doc.credential === token ? undefined : supersededCredential(id);
}

/** The same check on the fleet that a decision is made on: the token may have been revoked since the agent was admitted. */
export function denyUnlessAdmitted(fleet: FleetReader, identity: AgentIdentity, nowMs: number): Refusal | undefined {
  const refusal = refuseUnlessBound(findHost(fleet, identity.host), identity);
  if (refusal !== undefined) return refusal;
  const { token } = identity;
  const trouble = token === undefined ? 'missing' : findTroubleOf(fleet, token as TokenId, nowMs);
  return trouble === undefined ? undefined : { ...refuseToken(trouble), kind: 'forbidden' };
}

/** A removed host never comes back by itself; its agent gets an answer that it can distinguish from a lost link. */
export function notInFleet(id: string, host: StoredHost | undefined): Refusal {
  if (host === undefined) return { ...unknownHost(id), kind: 'forbidden' };
  mark('gateway-removed-host');
  const removed = removedHost(id);
  const message = `${removed.message} Its agent then needs the token of "muster hosts join-token ${id}". If the host is gone for good, stop its agent.`;
  return { ...removed, kind: 'forbidden', message };
}

export function supersededCredential(id: string): Refusal {
  const message = `Host "${id}" has another credential now: it was joined again. If this machine is to be the host, join it once more with the token of "muster hosts join-token ${id}".`;
  return { kind: 'forbidden', code: 'credential-superseded', message, facts: { host: id } };
}

/** A refusal in the form of the link. */
export function toRefusedReply({ code, message, facts }: Refusal): Reply<never> {
  const statement = facts?.['statement'];
  return { kind: 'refused', code, message, ...(isSigned(statement) && { statement }) };
}

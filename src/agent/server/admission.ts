// Authenticates the caller and decides whether a host's agent is admitted. A valid secret is not enough: the host must be in the fleet and
// bound to this very credential.
import { isTokenGood, refuseToken, TOKEN, tokenIdIn, type TokenId } from '../../access/index.ts';
import { mark, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { findHost, unknownHost, type StoredHost } from '../../hosts/index.ts';
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

/** The token of a secret. For links without an HTTP edge: HTTP callers are authenticated before they get here. */
export function authenticateAgent(
  fleet: FleetReader,
  { secret, role, hash }: PresentedSecret,
): AgentIdentity | Refusal {
  const id = tokenIdIn(secret);
  const stored = id === undefined ? undefined : fleet.get(TOKEN, id as TokenId);
  const token = stored?.doc.hash === hash(secret) ? stored : undefined;
  const good = token?.doc.role === role && token.doc.revoked === undefined;
  if (good && token.doc.host !== undefined) return { host: token.doc.host, token: token.id };
  const message = `This is not a valid ${role} token. Ask an operator for a new join token.`;
  return { kind: 'forbidden', code: 'unauthorized', message };
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
  const isGood = identity.token !== undefined && isTokenGood(fleet, identity.token as TokenId, nowMs);
  return isGood ? undefined : { ...refuseToken('revoked'), kind: 'forbidden' };
}

/** A removed host never comes back by itself; its agent gets an answer that it can tell from a lost link. */
export function notInFleet(id: string, host: StoredHost | undefined): Refusal {
  if (host === undefined) return { ...unknownHost(id), kind: 'forbidden' };
  mark('desk-removed-host');
  const message = `Host "${id}" was removed from the fleet. Join it again with a new join token, or stop its agent.`;
  return { kind: 'forbidden', code: 'host-removed', message, facts: { host: id } };
}

export function supersededCredential(id: string): Refusal {
  const message = `Host "${id}" has another credential now: it was joined again. Join it once more with a new join token.`;
  return { kind: 'forbidden', code: 'credential-superseded', message, facts: { host: id } };
}

/** A refusal in the form of the link. */
export function toRefusedReply({ code, message, facts }: Refusal): Reply<never> {
  const statement = facts?.['statement'];
  return { kind: 'refused', code, message, ...(isSigned(statement) && { statement }) };
}

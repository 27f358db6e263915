// Deciding about tokens: create, revoke, and turn a join token into a host's own credential. Secrets never come here:
// the edge hashes them and hands in the hash.
import { idOf, put, type Change, type FleetReader, type Refusal, type Stored } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { TOKEN, TOKENS_BY_HOST, TOKENS_BY_ROLE, type Token, type TokenId } from './model.ts';

export interface NewToken extends Omit<Token, 'revoked' | 'consumed'> {
  readonly id: TokenId;
}

export function createToken(fleet: FleetReader, { id, ...token }: NewToken): Decision<TokenId> {
  const forHost = token.role === 'agent' || token.role === 'join';
  const forManager = token.role === 'manager';
  if (forHost !== (token.host !== undefined)) return refuse(forHost ? hostMissing(token.role) : hostUnused(token.role));
  if (forManager !== (token.manager !== undefined))
    return refuse(forManager ? managerMissing() : managerUnused(token.role));
  if (forManager && token.site !== undefined) return refuse(managerOfSite());
  if (forHost && token.site !== undefined) return refuse(siteUnused(token.role));
  if (token.project !== undefined && token.role !== 'viewer' && token.role !== 'operator')
    return refuse(projectUnused(token.role));
  const { expiresAtMs, createdAtMs } = token;
  if (expiresAtMs !== undefined && expiresAtMs <= createdAtMs) return refuse(alreadyExpired(expiresAtMs, createdAtMs));
  if (fleet.get(TOKEN, id) !== undefined) throw new Error(`token id ${id} is taken`);
  return accept([put(TOKEN, id, token)], id);
}

export interface Revocation {
  readonly id: TokenId;
  readonly by: string;
  readonly nowMs: number;
}

export function revokeToken(fleet: FleetReader, { id, by, nowMs }: Revocation): Decision<TokenId> {
  const token = fleet.get(TOKEN, id);
  if (token === undefined) return refuse(noSuchToken(id));
  if (token.doc.revoked !== undefined) return accept([], id);
  if (isUnboundAdmin(token.doc, nowMs) && !hasOtherAdmin(fleet, id, nowMs)) return refuse(lastAdmin());
  return accept([markRevoked(token, { by, nowMs })], id);
}

export interface JoinTokenUse {
  /** The join token that the agent showed. */
  readonly joinToken: TokenId;
  readonly host: string;
  /** The credential that the host gets instead. */
  readonly agentToken: { readonly id: TokenId; readonly hash: string };
  readonly nowMs: number;
}

/**
 * One use of a join token, in the commit that creates the host's credential. The same credential requested again is
 * answered as before: the answer to an agent may have been lost. Older credentials of the host end here.
 */
export function consumeJoinToken(fleet: FleetReader, joining: JoinTokenUse): Decision<TokenId> {
  const { joinToken, host, agentToken, nowMs } = joining;
  const token = fleet.get(TOKEN, joinToken);
  if (token === undefined || token.doc.role !== 'join' || token.doc.revoked !== undefined)
    return refuse(notAJoinToken(host));
  if (token.doc.host !== host) return refuse(joinTokenOfOtherHost(token.doc.host ?? '', host));
  if (token.doc.consumed !== undefined) {
    const made = fleet.get(TOKEN, idOf(TOKEN, token.doc.consumed.token));
    const same = made !== undefined && made.doc.hash === agentToken.hash && made.doc.revoked === undefined;
    return same ? accept([], made.id) : refuse(joinTokenUsed(host));
  }
  const trouble = lifetimeTrouble(token.doc, nowMs);
  if (trouble !== undefined) return refuse(trouble === 'expired' ? joinTokenExpired(host) : joinTokenEarly(host));
  const before = [...fleet.find(TOKENS_BY_HOST, host)].filter((one) => one.doc.role === 'agent');
  const credential: Token = {
    name: `agent/${host}`.slice(0, 100),
    role: 'agent',
    host,
    hash: agentToken.hash,
    createdAtMs: nowMs,
    createdBy: token.doc.name,
  };
  const changes: Change[] = [
    put(TOKEN, token.id, { ...token.doc, consumed: { atMs: nowMs, token: agentToken.id } }),
    put(TOKEN, agentToken.id, credential),
    ...before.map((old) => markRevoked(old, { by: token.doc.name, nowMs })),
  ];
  return accept(changes, agentToken.id);
}

/** Every token of a removed host: none of them is valid for a later host of the same name. */
export function tokensOfHost(fleet: FleetReader, host: string): Stored<'token', Token>[] {
  return [...fleet.find(TOKENS_BY_HOST, host)];
}

export function revokeTokenChange(token: Stored<'token', Token>, by: string, nowMs: number): Change {
  return markRevoked(token, { by, nowMs });
}

export function isExpired(token: Token, nowMs: number): boolean {
  return token.expiresAtMs !== undefined && token.expiresAtMs <= nowMs;
}

/** Clocks of servers that are kept right differ by far less. */
const CLOCKS_DIFFER_MAX_MS = 5 * 60_000;

/**
 * A token with a lifetime counts from when it was made to when it expires, as a certificate does: one that was made by a clock that was ahead
 * would else be good for as much longer once the clock is right. Without a lifetime nothing is gained by it, and no caller is shut out.
 */
export function lifetimeTrouble(token: Token, nowMs: number): 'expired' | 'early' | undefined {
  if (isExpired(token, nowMs)) return 'expired';
  const isEarly = token.expiresAtMs !== undefined && token.createdAtMs > nowMs + CLOCKS_DIFFER_MAX_MS;
  return isEarly ? 'early' : undefined;
}

/** Whether anybody can still administer the whole fleet. */
export function hasAdmin(fleet: FleetReader, nowMs: number): boolean {
  return hasOtherAdmin(fleet, undefined, nowMs);
}

/** Whether anybody ever could, as far as is still known: tokens are kept for some time after their end. */
export function hadAdmin(fleet: FleetReader): boolean {
  for (const { doc } of fleet.find(TOKENS_BY_ROLE, 'admin')) if (doc.site === undefined) return true;
  return false;
}

function hasOtherAdmin(fleet: FleetReader, except: TokenId | undefined, nowMs: number): boolean {
  for (const token of fleet.find(TOKENS_BY_ROLE, 'admin')) {
    if (token.id !== except && isUnboundAdmin(token.doc, nowMs)) return true;
  }
  return false;
}

function isUnboundAdmin(token: Token, nowMs: number): boolean {
  if (token.role !== 'admin' || token.site !== undefined || token.revoked !== undefined) return false;
  return lifetimeTrouble(token, nowMs) === undefined;
}

function markRevoked(token: Stored<'token', Token>, ended: { readonly by: string; readonly nowMs: number }): Change {
  return put(TOKEN, token.id, { ...token.doc, revoked: { atMs: ended.nowMs, by: ended.by } });
}

function noSuchToken(id: string): Refusal {
  return {
    kind: 'not-found',
    code: 'token-not-found',
    message: `There is no token "${id}". List them with "muster token list".`,
  };
}

function hostMissing(role: string): Refusal {
  const message = `A token with the role "${role}" speaks for one host. Name that host.`;
  return { kind: 'invalid', code: 'host-required', message, field: '/host' };
}

function hostUnused(role: string): Refusal {
  const message = `A token with the role "${role}" is not bound to a host. Leave the host out, or use the role "join".`;
  return { kind: 'invalid', code: 'host-not-allowed', message, field: '/host' };
}

function managerMissing(): Refusal {
  const message = 'A token with the role "manager" speaks for one manager: name it.';
  return { kind: 'invalid', code: 'manager-required', message, field: '/manager' };
}

function managerUnused(role: string): Refusal {
  const message = `A token with the role "${role}" is not bound to a manager. Leave the manager out, or use the role "manager".`;
  return { kind: 'invalid', code: 'manager-not-allowed', message, field: '/manager' };
}

function managerOfSite(): Refusal {
  const message = 'A manager looks after nodes of all sites: its token is bound to none. Leave the site out.';
  return { kind: 'invalid', code: 'site-not-allowed', message, field: '/site' };
}

function siteUnused(role: string): Refusal {
  const message = `A token with the role "${role}" belongs to its host's site already. Leave the site out.`;
  return { kind: 'invalid', code: 'site-not-allowed', message, field: '/site' };
}

function projectUnused(role: string): Refusal {
  const message = `A token that is bound to a project is a viewer or an operator; "${role}" is for more than one. Leave the project out, or choose another role.`;
  return { kind: 'invalid', code: 'project-not-allowed', message, field: '/project' };
}

function alreadyExpired(expiresAtMs: number, nowMs: number): Refusal {
  const message = `The token would have expired at ${expiresAtMs}, and it is ${nowMs} now, in milliseconds since 1970. Choose a time that lies ahead.`;
  return { kind: 'invalid', code: 'expires-in-the-past', message, field: '/expiresAtMs' };
}

function lastAdmin(): Refusal {
  const message = 'This is the last token that may administer the whole fleet. Create another admin token first.';
  return { kind: 'conflict', code: 'last-admin-token', message };
}

function makeJoinToken(host: string): string {
  return `Make a new one with "muster hosts join-token ${host}".`;
}

function notAJoinToken(host: string): Refusal {
  const message = `This is not a join token, or it was revoked. ${makeJoinToken(host)}`;
  return { kind: 'forbidden', code: 'join-token-invalid', message };
}

/** The holder of a join token may know which host it is for: the token says so itself once it is used. */
export function joinTokenOfOtherHost(host: string, claimed: string): Refusal {
  const message = `This join token is for host "${host}", and the agent says that it is host "${claimed}". Start the agent with --host ${host}, or make a token for the other host with "muster hosts join-token ${claimed}".`;
  return { kind: 'forbidden', code: 'join-token-other-host', message, facts: { host } };
}

function joinTokenUsed(host: string): Refusal {
  const message = `This join token was used already, for host "${host}". If its agent lost its credential: ${makeJoinToken(host)}`;
  return { kind: 'gone', code: 'join-token-used', message };
}

function joinTokenExpired(host: string): Refusal {
  return {
    kind: 'gone',
    code: 'join-token-expired',
    message: `This join token of host "${host}" has expired. ${makeJoinToken(host)}`,
  };
}

function joinTokenEarly(host: string): Refusal {
  const message = `This join token of host "${host}" was made by a server whose clock was ahead, and does not count before that time. ${makeJoinToken(host)}`;
  return { kind: 'gone', code: 'join-token-early', message };
}

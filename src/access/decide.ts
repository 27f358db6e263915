// Deciding about tokens: create and revoke them. Secrets never come here:
// the edge hashes them and hands in the hash.
import { put, type Change, type FleetReader, type Refusal, type Stored } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { TOKEN, TOKENS_BY_HOST, TOKENS_BY_MANAGER, TOKENS_BY_ROLE, type Token, type TokenId } from './model.ts';

export interface NewToken extends Omit<Token, 'revoked' | 'consumed'> {
  readonly id: TokenId;
}

export function createToken(fleet: FleetReader, { id, ...token }: NewToken): Decision<TokenId> {
  const forManager = token.role === 'manager' || (token.role === 'join' && token.manager !== undefined);
  const forHost = !forManager && (token.role === 'agent' || token.role === 'join');
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

/** Every token of a removed host: none of them is valid for a later host of the same name. */
export function tokensOfHost(fleet: FleetReader, host: string): Stored<'token', Token>[] {
  return [...fleet.find(TOKENS_BY_HOST, host)];
}

/** Every token that speaks for a manager, or makes one that does. */
export function tokensOfManager(fleet: FleetReader, manager: string): Stored<'token', Token>[] {
  return [...fleet.find(TOKENS_BY_MANAGER, manager)];
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

/** Whether a valid token can still administer the whole fleet. */
export function hasAdmin(fleet: FleetReader, nowMs: number): boolean {
  return hasOtherAdmin(fleet, undefined, nowMs);
}

/** Whether a token ever could, as far as is still known: tokens are kept for some time after their end. */
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

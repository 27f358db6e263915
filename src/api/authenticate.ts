// Who calls: from the bearer token of a request to a caller. The id in the token finds it in one step; the rest is
// compared by hash in constant time. What is remembered holds only as long as the token is the very same document.
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isExpired, TOKEN, tokenIdIn, type Caller, type Token, type TokenId } from '../access/index.ts';
import type { Fleet, Stored } from '../fleet/index.ts';

export type Authenticated =
  | { readonly kind: 'caller'; readonly caller: Caller }
  | { readonly kind: 'missing' | 'unknown' | 'expired' }
  /** The host whose credential it was, if it was one. */
  | { readonly kind: 'revoked'; readonly host?: string };

/** SHA-256 as hexadecimal text. Secrets have 256 bits of their own: no salt and no slow hash is needed. */
export function hashSecret(text: string): string {
  return hash('sha256', text, 'hex');
}

const MISSING: Authenticated = { kind: 'missing' };
const UNKNOWN: Authenticated = { kind: 'unknown' };

/** Beyond this many the secrets seen are forgotten and hashed anew. */
const SEEN_MAX = 20_000;

interface Seen {
  readonly stored: Stored<'token', Token>;
  readonly found: Authenticated;
}

export class Authenticator {
  readonly #fleet: Fleet;
  /**
   * Secrets that were right when they came last, with the token as it was then. They are found by a keyed hash of the
   * whole text, so that a guess learns nothing from how long it takes; a token that has changed since is looked at anew.
   */
  readonly #seen = new Map<string, Seen>();

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  authenticate(headers: IncomingHttpHeaders, nowMs: number): Authenticated {
    const text = secretIn(headers);
    if (text === undefined) return MISSING;
    const seen = this.#seen.get(text);
    if (seen !== undefined && this.#fleet.get(TOKEN, seen.stored.id) === seen.stored) {
      return isExpired(seen.stored.doc, nowMs) ? { kind: 'expired' } : seen.found;
    }
    return this.#look(text, nowMs);
  }

  #look(text: string, nowMs: number): Authenticated {
    this.#seen.delete(text);
    const id = tokenIdIn(text);
    const stored = id === undefined ? undefined : this.#fleet.get(TOKEN, id as TokenId);
    if (stored === undefined) return UNKNOWN;
    if (!timingSafeEqual(hash('sha256', text, 'buffer'), Buffer.from(stored.doc.hash, 'hex'))) return UNKNOWN;
    const { revoked, host } = stored.doc;
    if (revoked !== undefined) return { kind: 'revoked', ...(host !== undefined && { host }) };
    if (isExpired(stored.doc, nowMs)) return { kind: 'expired' };
    if (this.#seen.size >= SEEN_MAX) this.#seen.clear();
    const found: Authenticated = { kind: 'caller', caller: callerOf(stored) };
    this.#seen.set(text, { stored, found });
    return found;
  }

  /** Whether a caller's token still opens anything: for streams that outlive a request. */
  isStillGood(caller: Caller, nowMs: number): boolean {
    if (caller.token === undefined) return true;
    const stored = this.#fleet.get(TOKEN, caller.token);
    return stored !== undefined && stored.doc.revoked === undefined && !isExpired(stored.doc, nowMs);
  }
}

function callerOf({ id, doc }: Stored<'token', Token>): Caller {
  const { name, role, site, host } = doc;
  return { name, role, token: id, ...(site !== undefined && { site }), ...(host !== undefined && { host }) };
}

function secretIn(headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined) {
    if (authorization.startsWith('Bearer ')) return authorization.slice(7);
    return authorization.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7) : '';
  }
  const other = headers['x-auth-token'];
  return typeof other === 'string' ? other : undefined;
}

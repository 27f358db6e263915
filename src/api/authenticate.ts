// Who calls: from the bearer token of a request to a caller. The id in the token finds it in one step; the rest is
// compared by hash in constant time. Nothing is remembered that a revocation would have to chase.
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isExpired, TOKEN, tokenIdIn, type Caller, type Token, type TokenId } from '../access/index.ts';
import type { Fleet, Stored } from '../fleet/index.ts';

export type Authenticated =
  | { readonly kind: 'caller'; readonly caller: Caller }
  | { readonly kind: 'missing' | 'unknown' | 'expired' | 'revoked' };

/** SHA-256 as hexadecimal text. Secrets have 256 bits of their own: no salt and no slow hash is needed. */
export function hashSecret(text: string): string {
  return hash('sha256', text, 'hex');
}

const MISSING: Authenticated = { kind: 'missing' };
const UNKNOWN: Authenticated = { kind: 'unknown' };

export class Authenticator {
  readonly #fleet: Fleet;
  /** A stored token is replaced, never changed: what is derived from it goes with it. */
  readonly #known = new WeakMap<Stored<'token', Token>, { readonly hash: Buffer; readonly found: Authenticated }>();

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  authenticate(headers: IncomingHttpHeaders, nowMs: number): Authenticated {
    const text = secretIn(headers);
    if (text === undefined) return MISSING;
    const id = tokenIdIn(text);
    const stored = id === undefined ? undefined : this.#fleet.get(TOKEN, id as TokenId);
    if (stored === undefined) return UNKNOWN;
    let known = this.#known.get(stored);
    if (known === undefined) {
      known = { hash: Buffer.from(stored.doc.hash, 'hex'), found: { kind: 'caller', caller: callerOf(stored) } };
      this.#known.set(stored, known);
    }
    if (!timingSafeEqual(hash('sha256', text, 'buffer'), known.hash)) return UNKNOWN;
    if (stored.doc.revoked !== undefined) return { kind: 'revoked' };
    return isExpired(stored.doc, nowMs) ? { kind: 'expired' } : known.found;
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
    return authorization.slice(0, 7).toLowerCase() === 'bearer ' ? authorization.slice(7).trim() : '';
  }
  const other = headers['x-auth-token'];
  return typeof other === 'string' ? other.trim() : undefined;
}

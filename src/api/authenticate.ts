// Who calls: from the bearer token of a request to a caller. The id in the token finds it in one step; the rest is
// compared by hash in constant time. A cached caller is valid only while the token is the very same document.
import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { newBucket, type CallerBucket } from './limits/rate-limit.ts';
import { RecentCache } from './recent-cache.ts';
import { newUsage, type Usage } from './limits/usage.ts';
import {
  callerOfToken,
  findTokenTrouble,
  lifetimeTrouble,
  TOKEN,
  tokenIdIn,
  type Caller,
  type Route,
  type StoredToken,
  type TokenId,
} from '../access/index.ts';
import type { Fleet } from '../fleet/index.ts';

/** What is remembered of a caller from one request to the next. It is all in one place: of ten thousand agents each comes too rarely to be near. */
export interface CallerState {
  readonly caller: Caller;
  /** Whose secret the caller has shown. */
  readonly token: StoredToken;
  readonly bucket: CallerBucket;
  readonly usage: Usage;
  /** The last body of a route whose callers repeat themselves. */
  lastBody?: LastBody;
}

export interface LastBody {
  readonly route: Route;
  readonly text: string;
  /** What the text says. It has passed the route's check. */
  readonly body: unknown;
}

export type AuthenticationResult =
  | { readonly kind: 'caller'; readonly known: CallerState }
  | { readonly kind: 'missing' | 'unknown' | 'expired' | 'early' }
  /** Which token it was, and the host whose credential it was, if it was one. */
  | { readonly kind: 'revoked'; readonly token: TokenId; readonly host?: string };

/** SHA-256 as hexadecimal text. Secrets have 256 bits of their own: no salt and no slow hash is needed. */
export function hashSecret(text: string): string {
  return hash('sha256', text, 'hex');
}

const MISSING: AuthenticationResult = { kind: 'missing' };
const UNKNOWN: AuthenticationResult = { kind: 'unknown' };

/** The callers that are known, and at most as many more. With what each said last that is some tens of megabytes. */
const CACHED_MAX = 20_000;

interface CachedAuthentication {
  readonly stored: StoredToken;
  readonly found: AuthenticationResult;
}

export class Authenticator {
  readonly #fleet: Fleet;
  /**
   * Headers with secrets that were right when they came last, with the token as it was then. They are found by a keyed hash of the
   * whole text, so that a guess learns nothing from how long it takes; a token that has changed since is looked at anew.
   */
  readonly #cache = new RecentCache<CachedAuthentication>(CACHED_MAX);

  constructor(fleet: Fleet) {
    this.#fleet = fleet;
  }

  authenticate(headers: IncomingHttpHeaders, nowMs: number): AuthenticationResult {
    const shown = bearerIn(headers);
    if (shown === undefined) return MISSING;
    const seen = this.#cache.get(shown);
    if (seen !== undefined && this.#fleet.get(TOKEN, seen.stored.id) === seen.stored) {
      const trouble = lifetimeTrouble(seen.stored.doc, nowMs);
      return trouble === undefined ? seen.found : { kind: trouble };
    }
    return this.#verify(shown, nowMs);
  }

  #verify(shown: string, nowMs: number): AuthenticationResult {
    const before = this.#cache.get(shown)?.found;
    this.#cache.delete(shown);
    const stored = this.#match(shown);
    if (stored === undefined) return UNKNOWN;
    const { revoked, host } = stored.doc;
    if (revoked !== undefined) return { kind: 'revoked', token: stored.id, ...(host !== undefined && { host }) };
    const trouble = lifetimeTrouble(stored.doc, nowMs);
    if (trouble !== undefined) return { kind: trouble };
    // A token that was changed is no reason to begin to count anew.
    const { bucket, usage } =
      before?.kind === 'caller' ? before.known : { bucket: newBucket(nowMs), usage: newUsage() };
    const found: AuthenticationResult = {
      kind: 'caller',
      known: { caller: callerOfToken(stored), token: stored, bucket, usage },
    };
    this.#cache.set(shown, { stored, found });
    return found;
  }

  /** The token with this secret, valid or not. */
  #match(shown: string): StoredToken | undefined {
    const text = shown.slice(BEARER.length);
    const id = tokenIdIn(text);
    const stored = id === undefined ? undefined : this.#fleet.get(TOKEN, id as TokenId);
    if (stored === undefined) return undefined;
    const isRight = timingSafeEqual(hash('sha256', text, 'buffer'), Buffer.from(stored.doc.hash, 'hex'));
    return isRight ? stored : undefined;
  }

  /** Who shows a token that is or was theirs: for the record alone, since it may be over. */
  identify(headers: IncomingHttpHeaders): Caller | undefined {
    const shown = bearerIn(headers);
    const stored = shown === undefined ? undefined : this.#match(shown);
    return stored === undefined ? undefined : callerOfToken(stored);
  }

  /** Whether what a caller has proved still holds: for requests whose body came late, and for streams. */
  isStillValid({ token }: CallerState, nowMs: number): boolean {
    return findTokenTrouble(this.#fleet, token, nowMs) === undefined;
  }
}

const BEARER = 'Bearer ';

/** The token as it is usually shown, which is what nearly all do: their header is taken as it is. */
function bearerIn(headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined) {
    if (authorization.startsWith(BEARER)) return authorization;
    return authorization.slice(0, BEARER.length).toLowerCase() === 'bearer '
      ? `${BEARER}${authorization.slice(BEARER.length)}`
      : BEARER;
  }
  const other = headers['x-auth-token'];
  return typeof other === 'string' ? `${BEARER}${other}` : undefined;
}

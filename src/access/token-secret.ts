// The form of a secret: `mst_<token id>_<secret>`. The id finds the token in one step; only the rest is secret.
import { idOf } from '../fleet/index.ts';
import { TOKEN, type TokenId } from './model.ts';
import type { RouteContext } from './route.ts';

const FORM = /^mst_([A-Za-z0-9.:@-]{1,100})_([A-Za-z0-9_-]{16,200})$/;

export function secretText(id: string, secret: string): string {
  return `mst_${id}_${secret}`;
}

export function tokenIdIn(text: string): string | undefined {
  return FORM.exec(text)?.[1];
}

/** A new token's id, secret and hash. */
export function newSecret({ ids, hash }: Pick<RouteContext, 'ids' | 'hash'>): {
  readonly id: TokenId;
  readonly secret: string;
  readonly hash: string;
} {
  const id = idOf(TOKEN, ids.next('tk'));
  const secret = secretText(id, ids.secret());
  return { id, secret, hash: hash(secret) };
}

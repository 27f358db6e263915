// The path from one server to the database: its latency and its failures. The fate of each call is drawn here.
import type { Rng } from '../kernel/rng.ts';
import { FaultyPath } from './faulty-path.ts';

/** The fate of one call. Times are from now. */
export type StoreCallFate =
  | { readonly kind: 'served'; readonly requestMs: number; readonly replyMs: number }
  /** Never reached the database, and the caller gets an error. */
  | { readonly kind: 'refused'; readonly afterMs: number }
  /** Never reached the database; the caller does not know. */
  | { readonly kind: 'request-lost'; readonly afterMs: number }
  /** Served, but the caller gets no answer. */
  | { readonly kind: 'reply-lost'; readonly requestMs: number; readonly afterMs: number }
  /** The caller times out first; the database serves it later all the same. */
  | { readonly kind: 'served-late'; readonly requestMs: number; readonly afterMs: number }
  /** The same, at the worst moment: just before the next write of the same sender. */
  | { readonly kind: 'served-before-next'; readonly afterMs: number };

export class StoreLink extends FaultyPath {
  draw(rng: Rng): StoreCallFate {
    if (this.cut) return { kind: 'refused', afterMs: rng.between(1, 50) };
    const requestMs = 1 + rng.below(3) + this.delay(rng);
    const replyMs = 1 + rng.below(3) + this.delay(rng);
    if (this.succeeds(rng)) return { kind: 'served', requestMs, replyMs };
    const afterMs = requestMs + replyMs + rng.between(10, 400);
    switch (rng.below(5)) {
      case 0:
        return { kind: 'refused', afterMs: requestMs };
      case 1:
        return { kind: 'request-lost', afterMs };
      case 2:
        return { kind: 'reply-lost', requestMs, afterMs };
      case 3:
        return { kind: 'served-before-next', afterMs };
      default:
        return { kind: 'served-late', requestMs: afterMs + rng.between(1, 6000), afterMs };
    }
  }
}

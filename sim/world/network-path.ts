// The path to the network back end, for servers and for hosts that call it themselves: its latency and its failures. The fate of each call
// is drawn here.
import type { Rng } from '../kernel/rng.ts';
import { FaultyPath } from './faulty-path.ts';

/** The fate of one call. Times are from now; without `afterMs` the caller gets no answer at all. */
export type CallFate =
  | { readonly kind: 'served'; readonly requestMs: number; readonly replyMs: number }
  /** Served, and once more much later. */
  | { readonly kind: 'repeated'; readonly requestMs: number; readonly replyMs: number; readonly againMs: number }
  | { readonly kind: 'request-lost'; readonly afterMs: number | undefined }
  /** Served, but the caller gets no answer. */
  | { readonly kind: 'reply-lost'; readonly requestMs: number; readonly afterMs: number | undefined }
  /** The caller times out first; it is served later all the same. */
  | { readonly kind: 'served-late'; readonly requestMs: number; readonly afterMs: number };

export class NetworkPath extends FaultyPath {
  draw(rng: Rng): CallFate {
    const requestMs = 1 + rng.below(20) + this.delay(rng);
    const replyMs = 1 + rng.below(20) + this.delay(rng);
    const soonMs = requestMs + replyMs + rng.between(10, 400);
    if (this.cut) return { kind: 'request-lost', afterMs: soonMs };
    if (this.succeeds(rng)) return { kind: 'served', requestMs, replyMs };
    const afterMs = rng.chance(0.2) ? undefined : soonMs;
    switch (rng.below(5)) {
      case 0:
        return { kind: 'request-lost', afterMs };
      case 1:
        return { kind: 'served-late', requestMs: soonMs + rng.between(1, 20_000), afterMs: soonMs };
      case 2:
        return { kind: 'repeated', requestMs, replyMs, againMs: requestMs + rng.between(1, 20_000) };
      default:
        return { kind: 'reply-lost', requestMs, afterMs };
    }
  }
}

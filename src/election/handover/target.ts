// Decides whether the target of a handover is still acceptable, and which host replaces it. A requested target is never replaced; a necessary
// move takes any candidate.
import type { FleetReader } from '../../fleet/index.ts';
import { findHost, isTombstoned } from '../../hosts/index.ts';
import { ElectionContext } from '../candidates.ts';
import { chooseHost } from '../choose.ts';
import type { StoredItem } from '../../operations/index.ts';
import type { Cause, Handover, CandidateRejection, StoredService } from '../model.ts';
import { fallbackFor } from '../verdict.ts';
import { hasPresence } from '../desired-services.ts';
import type { ElectedHost } from '../why.ts';

/** Nothing is wrong at the present host: without the requested target it stays. */
const VOLUNTARY: readonly Cause[] = ['fail-back', 'rebalance', 'asked-for'];

export function isVoluntary(cause: Cause): boolean {
  return VOLUNTARY.includes(cause);
}

/** Do not wait for it: it cannot become a candidate again soon, and the leaving host must not be held up by it. */
const HOPELESS: readonly (CandidateRejection | 'no-presence')[] = [
  'unknown-host',
  'removed',
  'tombstoned',
  'no-presence',
];

export type TargetVerdict =
  | { readonly kind: 'fit' }
  /** Another host takes its place; to be decided inside the commit. */
  | { readonly kind: 'another'; readonly choice: ElectedHost }
  | { readonly kind: 'none'; readonly because: CandidateRejection | 'no-presence' }
  /** It comes back into service: that is what the handover waits for. */
  | { readonly kind: 'recovering' }
  /** It was to leave a host that leaves no more. */
  | { readonly kind: 'host-stays' }
  | { readonly kind: 'abandon'; readonly because: CandidateRejection | 'no-presence' };

/** A target that is away, or connected and not ready, is skipped after this time; without another candidate the handover is cancelled. */
export const TARGET_TIMEOUT_MS = 60_000;

export interface ActiveHandover {
  readonly service: StoredService;
  readonly handover: Handover;
}

/** The service, while this item is its handover. */
export function findActiveHandover(service: StoredService | undefined, item: StoredItem): ActiveHandover | undefined {
  const by = service?.doc.handover;
  return service !== undefined && by !== undefined && by.operation === item.doc.operation
    ? { service, handover: by }
    : undefined;
}

export interface TargetQuery {
  readonly nowMs: number;
  /** Its time is over and it is not ready: another candidate is tried, if there is one. */
  readonly isTimedOut: boolean;
}

export function assessTarget(
  fleet: FleetReader,
  active: ActiveHandover,
  { nowMs, isTimedOut }: TargetQuery,
): TargetVerdict {
  const context = new ElectionContext(fleet);
  const { service, handover } = active;
  const { cause } = handover.why;
  if (cause === 'host-leaving' && !isTombstonedHost(fleet, handover.from)) return { kind: 'host-stays' };
  const because = context.rejectionOf(service.doc, handover.to);
  if (because === undefined && !isTimedOut) return { kind: 'fit' };
  if (isVoluntary(cause)) {
    if (because === undefined) return { kind: 'fit' };
    if (because === 'not-in-service' && isRecovering(fleet, handover.to)) return { kind: 'recovering' };
    return { kind: 'abandon', because };
  }
  const excluded = because === undefined ? [handover.from, handover.to] : [handover.from];
  const fallback = cause === 'host-leaving' ? fallbackFor(fleet, service.doc) : 'none';
  const choice = chooseHost(context, { service, cause, excluded, fallback }, nowMs);
  if (choice !== undefined && choice.host !== handover.to) return { kind: 'another', choice };
  // A leaving host was the best there is, and still is; or the one that is late has no better one beside it.
  if (choice !== undefined) return { kind: 'fit' };
  if (because === undefined) return { kind: 'fit' };
  const isHopeless = HOPELESS.includes(because) || !hasPresence(fleet, service.doc, handover.to);
  const isOver = nowMs - handover.sinceMs > TARGET_TIMEOUT_MS;
  if (isHopeless || isOver) return { kind: 'abandon', because };
  return { kind: 'none', because };
}

function isTombstonedHost(fleet: FleetReader, host: string): boolean {
  const doc = findHost(fleet, host)?.doc;
  return doc !== undefined && isTombstoned(doc);
}

function isRecovering(fleet: FleetReader, host: string): boolean {
  return findHost(fleet, host)?.doc.state === 'recovering';
}

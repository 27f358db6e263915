// How an item that could not be done waits until it is tried again: soon at first, then less and less often, because every try is
// written down.
import type { Reason } from '../fleet/index.ts';
import { backoffMs, type BackoffPolicy } from '../journal/index.ts';
import { wait, type RecordStep, type StoredItem } from './kind.ts';

const STEP_BACKOFF: BackoffPolicy = { firstMs: 2000, longestMs: 60_000 };

interface BackoffFrom {
  readonly nowMs: number;
  readonly policy?: BackoffPolicy;
}

/** Who plans the item counts the next attempt. */
export function waitWithBackoff(
  item: StoredItem,
  reason: Reason,
  { nowMs, policy = STEP_BACKOFF }: BackoffFrom,
): RecordStep {
  return wait(item, reason, nowMs + backoffMs(policy, item.doc.attempt));
}

/** What is done then is the next attempt. */
export function retryWithBackoff(item: StoredItem, reason: Reason, from: BackoffFrom): RecordStep {
  const waiting = waitWithBackoff(item, reason, from);
  return { ...waiting, progress: { ...waiting.progress, attempt: item.doc.attempt + 1 } };
}

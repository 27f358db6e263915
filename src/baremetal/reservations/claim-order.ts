// What the driver of claims is given and what it answers, as facts of its outcome: an inventory that says no has answered.
import type { Reason } from '../../fleet/index.ts';
import type { ActionOutcome } from '../../operations/index.ts';
import type { InventoryName } from '../model.ts';

export const CLAIMS_DRIVER = 'node-claims';

export interface ClaimOrder {
  readonly op: 'claim' | 'unclaim';
  readonly inventory: InventoryName;
  readonly node: string;
  readonly nodeEpoch: number;
  readonly instance: string;
  readonly traits: readonly string[];
  /** No caller waits for the answer any more; what became of it is then not known. */
  readonly deadlineAtMs: number;
}

export type ClaimResult =
  /** `free`: no claim of this instance stands on the node. */
  | { readonly kind: 'claimed' | 'free' }
  | { readonly kind: 'unanswered'; readonly reason: Reason; readonly retryAfterMs?: number };

/** What an inventory answered, as the outcome of an action. */
export function toActionOutcome(result: ClaimResult): ActionOutcome {
  if (result.kind !== 'unanswered') return { kind: 'applied', facts: { result: result.kind } };
  const { reason, retryAfterMs } = result;
  return { kind: 'failed', reason: { ...reason, ...(retryAfterMs !== undefined && { retryAfterMs }) } };
}

export function readClaimResult(outcome: ActionOutcome): ClaimResult {
  if (outcome.kind === 'stale') throw new Error('a claim is not refused by its lease epoch');
  if (outcome.kind === 'failed') {
    const { retryAfterMs, ...reason } = outcome.reason;
    return { kind: 'unanswered', reason, ...(typeof retryAfterMs === 'number' && { retryAfterMs }) };
  }
  return { kind: outcome.facts?.['result'] === 'claimed' ? 'claimed' : 'free' };
}

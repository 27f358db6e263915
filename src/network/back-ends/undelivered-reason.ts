// Why an order did not reach its back end, when a person has to act: the wait then names that reason.
import type { Reason } from '../../fleet/index.ts';
import type { ActionOutcome } from '../../operations/index.ts';

export function undeliveredReason(outcome: ActionOutcome): Reason | undefined {
  if (outcome.kind !== 'failed') return undefined;
  const { reason } = outcome;
  if (reason.code === 'network-credentials-missing') return { ...reason, code: 'network-credentials-needed' };
  return reason.code === 'back-end-not-configured' ? reason : undefined;
}

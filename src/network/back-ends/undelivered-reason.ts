// Why an order did not reach its back end, when somebody has to do something about it: then the wait says what.
import type { Reason } from '../../fleet/index.ts';
import type { ActionOutcome } from '../../operations/index.ts';

export function undeliveredReason(outcome: ActionOutcome): Reason | undefined {
  if (outcome.kind !== 'failed') return undefined;
  const { reason } = outcome;
  if (reason.code === 'network-credentials-missing') return { ...reason, code: 'network-credentials-needed' };
  return reason.code === 'back-end-not-configured' ? reason : undefined;
}

// What the driver of new tokens is called, and what its answer means.
import type { ActionOutcome } from '../../operations/index.ts';
import type { NewBootstrapToken } from '../join/decide.ts';

export const NEW_TOKENS_DRIVER = 'kubernetes-new-tokens';

/** Undefined when none could be sealed. */
export function readToken(outcome: ActionOutcome): NewBootstrapToken | undefined {
  return outcome.kind === 'applied' ? (outcome.facts?.['token'] as NewBootstrapToken) : undefined;
}

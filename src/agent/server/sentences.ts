// Sentences for the reasons that agents' reports give rise to.
import type { ReasonSentences } from '../../operations/index.ts';

export const agentSentences: ReasonSentences = {
  'switch-identity-shared': ({ host, other }) =>
    `The switch of host ${String(host)} has the identity of ${other === undefined ? 'the switch of a host of another site' : `host ${String(other)}'s`}. The host is in quarantine: give its switch an identity of its own, then trust it again with "muster hosts re-admit ${String(host)} --reason <why>".`,
};

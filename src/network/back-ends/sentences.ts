// The sentences of back ends' reasons: why something waits or failed.
import { formatFact, type ReasonSentences } from '../../operations/index.ts';

export const backEndSentences: ReasonSentences = {
  'network-unavailable': ({ backEnd, text }) =>
    `The network back end "${formatFact(backEnd)}" gave no answer${text === undefined ? '' : ` (${formatFact(text)})`}; the order is repeated.`,
  'back-end-not-configured': ({ backEnd }) =>
    `The network back end "${formatFact(backEnd)}" is not configured at the server that decides. Configure it there and try again.`,
  'network-credentials-needed': ({ backEnds }) =>
    `The server that decides needs credentials for the network back end ${formatFact(backEnds)} to do this. ` +
    'Give it some with --network-credentials; the operation then continues by itself.',
  'network-credentials-missing': ({ backEnds }) =>
    `This server has no credentials for the network back end ${formatFact(backEnds)}: hosts create and bind ports themselves, as before. ` +
    'Give it some with --network-credentials; the next release requires them.',
};

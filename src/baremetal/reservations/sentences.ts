// The reasons of claims that are made outside, in words.
import { endSentence, formatFact, type ReasonSentences } from '../../operations/index.ts';

export const reservationSentences: ReasonSentences = {
  'nodes-contended': ({ instance, lost }) =>
    `Every node that matches for ${formatFact(instance)} was being claimed by others (${formatFact(lost)} so far). They are tried again in a second.`,
  'reservation-failed': ({ instance, because }) =>
    `There is no node for ${formatFact(instance)}: ${endSentence(formatFact(because))}`,
  'inventory-refused': ({ inventory, node, text }) =>
    `The inventory ${formatFact(inventory)} refused the claim of node ${formatFact(node)}${textAfter(text)}; the claim is retried.`,
  'inventory-silent': ({ inventory }) =>
    `The inventory ${formatFact(inventory)} did not answer in time; the claim is retried.`,
  'inventory-not-configured': ({ inventory }) =>
    `This server does not know the inventory ${formatFact(inventory)}. Start it with the options that name it.`,
};

/** What it said, where it said something. */
function textAfter(text: unknown): string {
  return typeof text === 'string' && text !== '' ? `: ${text.replace(/[.\s]+$/, '')}` : '';
}

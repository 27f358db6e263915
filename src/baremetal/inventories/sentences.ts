// The alarms of inventories in words: what is wrong, what it concerns and what to do.
import { endSentence, formatFact, type ReasonSentences } from '../../operations/index.ts';
import { INVENTORY_UNREACHABLE } from '../model.ts';
import { ALLOCATIONS_MISSING, WITHOUT_ALLOCATIONS } from './alarms.ts';

export const inventorySentences: ReasonSentences = {
  // Of a claim that waits for it, and of the alarm, which says how many nodes it concerns.
  [INVENTORY_UNREACHABLE]: ({ inventory, text, nodes }) => {
    const said = typeof text === 'string' && text !== '' ? `: ${text.replace(/[.\s]+$/, '')}` : '';
    const what = `The inventory ${formatFact(inventory)} does not answer${said}; requests are retried.`;
    if (nodes === undefined) return what;
    return `${what} Its ${formatFact(nodes)} nodes are shown and counted as they were seen last, and none is removed; none of them can be claimed meanwhile. See that it runs, and that the server that decides is started with its address and reaches it.`;
  },
  [ALLOCATIONS_MISSING]: ({ inventory, missing, missingOf, unknown, unknownOf }) =>
    [
      `The inventory ${formatFact(inventory)} and Muster differ on who has which node.`,
      missing === undefined
        ? ''
        : endSentence(
            `It has no claim for ${formatFact(missing)} that Muster holds: ${formatFact(missingOf)}. Another client may get the node: claim it there again, or delete the instance`,
          ),
      unknown === undefined
        ? ''
        : endSentence(
            `It has ${formatFact(unknown)} of Muster that no reservation holds: ${formatFact(unknownOf)}. Delete it there; its node is not offered until then`,
          ),
    ]
      .filter((part) => part !== '')
      .join(' '),
  [WITHOUT_ALLOCATIONS]: ({ inventory }) =>
    `The inventory ${formatFact(inventory)} is too old to allocate nodes (Ironic: API 1.52): each claim is written on the chosen node itself, and no other node is touched. Upgrade it; its endpoint is used from then on, without a restart of Muster.`,
};

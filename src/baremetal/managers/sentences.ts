// The reasons of managers in words: each says what is wrong and what to do.
import { formatFact, type ReasonSentences } from '../../operations/index.ts';
import { MANAGER_LOST, NO_MANAGER_ALIVE } from './alarms.ts';

export const managerSentences: ReasonSentences = {
  [MANAGER_LOST]: ({ manager }) =>
    `Manager "${formatFact(manager)}" of bare-metal nodes does not renew its lease: others take over its nodes, and nothing is done to their machines for that. Start it again, or forget it with "muster baremetal managers forget ${formatFact(manager)}".`,
  [NO_MANAGER_ALIVE]: () =>
    'No manager of bare-metal nodes is alive: requests are accepted and wait. Start one with "muster manager", or a server with --manager.',
  'nodes-to-take-over': ({ manager, nodes }) =>
    `Manager "${formatFact(manager)}" has ${formatFact(nodes)} nodes that others take over, each as soon as no step is under way for it. "muster baremetal managers list" shows how far they are.`,
  'no-other-manager': ({ manager, nodes }) =>
    `Manager "${formatFact(manager)}" has ${formatFact(nodes)} nodes, and no other manager is there to take them over. Start one, or cancel the drain with "muster baremetal managers undrain ${formatFact(manager)}".`,
  'manager-rebalance-ended': ({ manager }) =>
    `Manager "${formatFact(manager)}" gives no nodes away any more: it drains, is gone, or is the only one that takes nodes.`,
  'manager-drain-ended': ({ manager }) =>
    `Manager "${formatFact(manager)}" does not drain any more: it takes nodes again, and those that others have taken over stay with them.`,
};

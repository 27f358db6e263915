// The reasons of builds on bare metal in words.
import { endSentence, formatFact, type ReasonSentences } from '../../operations/index.ts';
import { WORK_WAITS } from './long-waits.ts';
import { CLEAN_FAILED } from '../nodes/clean-failed-alarm.ts';

const FAULT: ReasonSentences[string] = ({ code, message }) => endSentence(formatFact(message ?? `It failed: ${code}.`));

const REMEDIES: Readonly<Record<string, string>> = {
  manager:
    'Start a manager for these nodes; "muster baremetal managers list" shows which are alive, and what each of them drives.',
  machine: 'Look at these machines, and at what switches and boots them.',
  inventory: 'See that it runs and that Muster reaches it: "muster baremetal inventories list".',
};

export const builderSentences: ReasonSentences = {
  'node-connecting': ({ instance, node }) =>
    `Node ${formatFact(node)} of instance ${formatFact(instance)} is being connected to its networks.`,
  'node-deploying': ({ instance, node }) =>
    `Instance ${formatFact(instance)} is being deployed to node ${formatFact(node)}.`,
  'node-disconnecting': ({ instance, node }) =>
    `Node ${formatFact(node)} is being disconnected from the networks of instance ${formatFact(instance)}.`,
  'node-cleaning': ({ instance, node }) =>
    `Node ${formatFact(node)}, which instance ${formatFact(instance)} was on, is being cleaned.`,
  'node-powering-on': ({ instance, node }) =>
    `Node ${formatFact(node)} of instance ${formatFact(instance)} is being switched on.`,
  'node-powering-off': ({ instance, node }) =>
    `Node ${formatFact(node)} of instance ${formatFact(instance)} is being switched off.`,
  'node-rebooting': ({ instance, node }) =>
    `Node ${formatFact(node)} of instance ${formatFact(instance)} is being rebooted.`,
  'claim-given-back': ({ instance }) =>
    `The inventory is taking back the node of ${formatFact(instance)}. The build continues when the inventory has answered.`,
  'node-unmanaged': ({ instance, node, manager }) =>
    `Manager ${formatFact(manager)} of node ${formatFact(node)} is not live: requests for instance ${formatFact(instance)} continue when another manager has taken over the node. "muster baremetal managers list" shows which are alive.`,
  'reservation-retried': ({ instance, text }) =>
    `No node was reserved for instance ${formatFact(instance)}: ${endSentence(formatFact(text))} The reservation is retried.`,
  'clean-retried': ({ node, text }) =>
    `Node ${formatFact(node)} was not cleaned: ${endSentence(formatFact(text))} The step is retried.`,
  'power-retried': ({ node, text }) =>
    `Node ${formatFact(node)} was not powered on or off: ${endSentence(formatFact(text))} The step is retried.`,
  'power-failed': ({ node, instance, text }) =>
    `Node ${formatFact(node)} of instance ${formatFact(instance)} could not be powered on or off: ${endSentence(formatFact(text))} Check the machine, then repeat the command.`,
  'node-gone': ({ instance }) =>
    `The node of instance ${formatFact(instance)} was taken from it while it was built. Delete the instance and create it again.`,
  [CLEAN_FAILED]: ({ node, instance, text }) =>
    `Node ${formatFact(node)}, which instance ${formatFact(instance)} was on, was not cleaned: ${endSentence(formatFact(text))} It is out of service with the data on it. Clean its disks, then say so with "muster baremetal nodes confirm-clean ${formatFact(node)} --reason <how you know>".`,
  [WORK_WAITS]: ({ waitsFor, count, operation }) => {
    const what = waitsFor === 'inventory' ? 'an inventory' : `a ${formatFact(waitsFor)}`;
    return `Work on bare-metal nodes has waited for ${what} for more than 15 minutes: ${formatFact(count)} in all, the first of operation ${formatFact(operation)}. It continues by itself, whenever that is. ${REMEDIES[String(waitsFor)] ?? ''}`;
  },
  'machine-busy': ({ node }) => `The machine of node ${formatFact(node)} is busy; the call is retried.`,
  'machine-unavailable': ({ node }) => `The machine of node ${formatFact(node)} does not answer; the call is retried.`,
  'claimed-by-other': ({ node }) =>
    `Another client has claimed node ${formatFact(node)} at its inventory. The next node is tried.`,
  'no-match': FAULT,
  'deploy-failed': FAULT,
  'connect-failed': FAULT,
  'clean-failed': FAULT,
};

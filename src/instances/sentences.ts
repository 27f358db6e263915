// The sentences of reasons and faults of builds, moves and deletions.
import type { Reason } from '../fleet/index.ts';
import { endSentence, formatFact, formatProblems, type ReasonSentences } from '../operations/index.ts';
import { FAULTS, type FaultCode } from './faults.ts';

type Sentence = ReasonSentences[string];

/**
 * Faults carry a text. A text of a back end or a host is not a sentence of ours: it follows the meaning of the fault.
 */
const FAULT_SENTENCE: Sentence = ({ code, message }) => {
  const meaning = Object.hasOwn(FAULTS, code) ? FAULTS[code as FaultCode].sentence : undefined;
  const text = formatFact(message ?? meaning ?? `It failed: ${code}.`);
  if (/^[A-Z]/.test(text)) return endSentence(text);
  return `${(meaning ?? 'It failed.').slice(0, -1)}: ${endSentence(text)}`;
};

const FAULT_SENTENCES: ReasonSentences = Object.fromEntries(Object.keys(FAULTS).map((code) => [code, FAULT_SENTENCE]));

/** Why nothing binds for the host: the sentence names what has to change; a move helps in each case. */
function hostBindsSentence({ instance, host, because, needs, below }: Reason): string {
  const begin = `Host ${formatFact(host)} binds the ports of its instances by itself`;
  const move = `move the instance with "muster instances move ${formatFact(instance)}"`;
  const left = `not all of instance ${formatFact(instance)} are connected`;
  switch (because) {
    case 'driver':
      return `${begin} (bindsAt: driver), and ${left}: only its driver can connect them. Search for the cause on that host, or ${move}.`;
    case 'credentials':
      return `${begin} while the servers have no credentials for the network back end, and ${left}. They are bound as soon as the servers have credentials; or ${move}.`;
    case 'agents':
      return `${begin} until the agents of all hosts have service version ${formatFact(needs)} (below it: ${formatFact(below)}), and ${left}. They are bound as soon as those agents are upgraded; or ${move}.`;
    default:
      return `${begin}, and ${left}. Upgrade the agents of all hosts, or ${move}.`;
  }
}

/** The operation failed in the middle, and nothing of it is open: the sentence names what continues it. */
function leftUnfinishedSentence({ instance, state, operation }: Reason): string {
  const begin = `Instance ${formatFact(instance)} is ${formatFact(state)}, and the operation that did it has ended: nothing continues it.`;
  if (state === 'deleting') return `${begin} Delete it again with "muster instances delete ${formatFact(instance)}".`;
  if (operation === undefined)
    return `${begin} "muster operations list --state failed" names the operation; continue it with "muster operations retry <id>".`;
  return `${begin} Continue it with "muster operations retry ${formatFact(operation)}".`;
}

export const instanceSentences: ReasonSentences = {
  ...FAULT_SENTENCES,
  // Reasons of an earlier version may name no instance.
  'instance-gone': ({ instance }) =>
    instance === undefined
      ? 'The instance is not there any more.'
      : `Instance ${formatFact(instance)} is not there any more.`,
  'instance-deleted': ({ instance }) => `Instance ${formatFact(instance)} was deleted meanwhile.`,
  'no-valid-host': FAULT_SENTENCE,
  'attempts-exhausted': FAULT_SENTENCE,
  'given-up': FAULT_SENTENCE,
  'host-removed': FAULT_SENTENCE,
  'ports-not-plugged': ({ instance }) =>
    `The network has not reported every port of instance ${formatFact(instance)} as plugged.`,
  'instance-degraded': ({ instance, host, trouble }) =>
    `Instance ${formatFact(instance)} runs on host ${formatFact(host)} and is degraded: ${formatFact(trouble)}. It is connected again by itself as soon as that can be done; "muster instances show ${formatFact(instance)}" says why it was not yet. If it has to be connected now, move it with "muster instances move ${formatFact(instance)}".`,
  'instance-ended': ({ instance, host, times }) =>
    `Instance ${formatFact(instance)} ended by itself on host ${formatFact(host)} (${Number(times) === 1 ? 'once' : `${formatFact(times)} times`} since it came there) and does not run. Its host starts it again by itself, less and less often while it goes on ending. Search there for the cause. To have it made anew on another host: "muster instances shelve ${formatFact(instance)}", then "muster instances unshelve ${formatFact(instance)}".`,
  'instance-host-off': ({ instance, host }) =>
    `Instance ${formatFact(instance)} does not run: its host ${formatFact(host)} was forced down. Build it on another host with "muster instances rebuild ${formatFact(instance)}". If host ${formatFact(host)} is on after all, an operator of it takes that back with "muster hosts clear-force-down ${formatFact(host)}".`,
  'moved-and-degraded': ({ instance, from, host, trouble }) =>
    `Instance ${formatFact(instance)} was moved off host ${formatFact(from)} to host ${formatFact(host)}, and is not connected there: ${formatFact(trouble)}. It does not count as moved until it is; "muster instances show ${formatFact(instance)}" says what is tried.`,
  'not-connected': ({ instance, host, fault, message }) =>
    `The ports of instance ${formatFact(instance)} could not be connected to host ${formatFact(host)} (${formatFact(fault)})${message === undefined ? '.' : `: ${endSentence(formatFact(message))}`} It is tried again, less and less often.`,
  'ports-bound-again': ({ instance, host }) =>
    `The ports of instance ${formatFact(instance)} are being bound to host ${formatFact(host)} again.`,
  'host-binds': (reason) => hostBindsSentence(reason),
  'released-by-host': () => 'The host has destroyed the instance and released its ports.',
  'too-few': FAULT_SENTENCE,
  'back-end-unavailable': (reason, explain) =>
    reason['message'] === undefined
      ? `The network back end does not answer${reason['text'] === undefined ? '' : ` (${formatFact(reason['text'])})`}. The order is repeated.`
      : FAULT_SENTENCE(reason, explain),
  'host-not-connected': ({ host, instance }) =>
    `Host ${formatFact(host)} is not connected. ${instance === undefined ? 'What is left there' : `What is left there of instance ${formatFact(instance)}`} is destroyed as soon as it is connected again.`,
  'only-copy': ({ host, instance, home }) =>
    home === undefined
      ? `Host ${formatFact(host)} may have the only copy of instance ${formatFact(instance)}, which does not run elsewhere yet. It is kept there until the instance runs on another host ("muster instances rebuild ${formatFact(instance)}") or is deleted.`
      : `Host ${formatFact(host)} may have the only copy of instance ${formatFact(instance)}: it is not known whether host ${formatFact(home)} has one, too. It is kept there until the instance runs on another host than ${formatFact(home)} ("muster instances move ${formatFact(instance)}", or "muster instances rebuild ${formatFact(instance)}" while host ${formatFact(home)} is forced down) or is deleted.`,
  'host-silent': ({ host, instance }) =>
    `Host ${formatFact(host)} is silent, and may still run instance ${formatFact(instance)}. If it is off, say so with "muster hosts force-down ${formatFact(host)} --reason <why>".`,
  'host-forced-down': ({ host, instance }) =>
    `Host ${formatFact(host)} was forced down: nothing is done there for instance ${formatFact(instance)}. Build it elsewhere with "muster instances rebuild ${formatFact(instance)}"; if the host is on after all, say so with "muster hosts clear-force-down ${formatFact(host)}".`,
  'not-destroyed': ({ instance, host, problems }) =>
    host === undefined
      ? `What a host has of instance ${formatFact(instance)} could not be destroyed: ${formatProblems(problems)}. It is tried again.`
      : `Host ${formatFact(host)} could not destroy what it has of instance ${formatFact(instance)}: ${formatProblems(problems)}. The task is repeated.`,
  'other-work-ends-first': ({ instance }) =>
    `Another operation on instance ${formatFact(instance)} is open; it ends first.`,
  'left-unfinished': (reason) => leftUnfinishedSentence(reason),
  'others-without-ports': ({ instance }) =>
    `Instances of one request are placed together, and the ports of ${formatFact(instance)} do not exist yet.`,
  'ports-not-released': ({ instance, ports }) =>
    `The network back end has not released these ports of instance ${formatFact(instance)}: ${formatFact(ports)}. The order is repeated.`,
  'ports-not-unbound': ({ instance, ports }) =>
    `The network back end has not unbound these ports of instance ${formatFact(instance)}: ${formatFact(ports)}. The order is repeated.`,
  'move-superseded': ({ instance }) =>
    `Instance ${formatFact(instance)} was moved or rebuilt since. Request a new move if it is still wanted.`,
  'source-not-connected': ({ instance, host }) =>
    `Host ${formatFact(host)}, which is to migrate instance ${formatFact(instance)}, is not connected. If it is off, say so with "muster hosts force-down ${formatFact(host)} --reason <why>".`,
  'target-not-connected': ({ instance, host }) =>
    `Host ${formatFact(host)}, which instance ${formatFact(instance)} was migrated to, is not connected. Its task waits until it is.`,
  'migration-outcome-unknown': ({ instance, host, from, removed }) =>
    `Host ${formatFact(from)} was ${removed === true ? 'removed' : 'forced down'} while it migrated instance ${formatFact(instance)}. Host ${formatFact(host)}, which may have received it, is not connected; its task waits until it is. If it is off too, say so with "muster hosts force-down ${formatFact(host)} --reason <why>".`,
  'source-lost': FAULT_SENTENCE,
  'target-lost': FAULT_SENTENCE,
  'instance-lost': FAULT_SENTENCE,
  'not-migrated': ({ instance, host, problems }) =>
    `Host ${formatFact(host)} could not migrate instance ${formatFact(instance)}, and does not run it any more: ${formatProblems(problems)}. The task is repeated.`,
  'not-activated': ({ instance, host, problems }) =>
    `Host ${formatFact(host)} could not take over instance ${formatFact(instance)}: ${formatProblems(problems)}. The task is repeated.`,
  'not-bound': ({ instance, host, fault }) =>
    `The ports of instance ${formatFact(instance)} could not be bound to host ${formatFact(host)}, where it is now (${formatFact(fault)}). It is tried again.`,
  'target-not-bound': ({ instance, host, from, fault }) =>
    `The network back end has not bound the ports of instance ${formatFact(instance)} to host ${formatFact(host)} (${formatFact(fault)}). The order is repeated; until then the instance runs on host ${formatFact(from)} as before.`,
  'not-bound-again': ({ instance, host, fault }) =>
    `The network back end has not bound the ports of instance ${formatFact(instance)} to host ${formatFact(host)} again, which it did not leave (${formatFact(fault)}). The order is repeated.`,
  'binding-left': ({ instance, host, at, fault }) =>
    `The network back end has not deleted the binding of the ports of instance ${formatFact(instance)} at host ${formatFact(host)} (${formatFact(fault)}). The order is repeated; the instance runs on host ${formatFact(at)}.`,
  'move-failed': ({ instance, message }) =>
    `Instance ${formatFact(instance)} could not be moved: ${endSentence(formatFact(message))} It is tried again, less and less often.`,
  'rebuild-failed': ({ instance, message }) =>
    `Instance ${formatFact(instance)} could not be built elsewhere: ${endSentence(formatFact(message))} It is tried again, less and less often.`,
  'held-together': ({ instance, host, group, others }) =>
    `Instance ${formatFact(instance)} must be on one host with the ${formatFact(others)} ${others === 1 ? 'other' : 'others'} of server group ${formatFact(group)} (affinity), and all of them are on host ${formatFact(host)}: none may leave it first. If what is on their disks may be lost, shelve all of them with "muster instances shelve", then unshelve them: the first goes to a host that fits, and the others follow it.`,
  'group-limit': ({ instance, group, limit }) =>
    `Instance ${formatFact(instance)} waits: server group ${formatFact(group)} allows ${formatFact(limit)} moves at once.`,
  'instance-in-error': ({ instance }) =>
    `Instance ${formatFact(instance)} is in error. "muster instances show ${formatFact(instance)}" says why; delete it, or repair what is wrong.`,
};

// The reasons of joins in words: each names the worker, what it waits for, and what to do.
import type { Reason } from '../../fleet/index.ts';
import { endSentence, formatFact, type ReasonSentences } from '../../operations/index.ts';

const READINESS: Readonly<Record<string, string>> = {
  missing: 'the cluster has no such Node yet',
  'not-ready': 'it is not Ready yet: its kubelet runs, and something it needs (a network plugin, mostly) does not',
  unknown: 'its kubelet is silent',
};

export const joinSentences: ReasonSentences = {
  'instance-building': ({ worker, instance, state }) =>
    `Worker ${formatFact(worker)} joins as soon as its instance ${formatFact(instance)} runs. It is ${formatFact(state)}.`,
  'failed-instance-deleting': ({ worker, instance }) =>
    `Instance ${formatFact(instance)} of worker ${formatFact(worker)} could not be built and is deleted. Another one is built by its name then.`,
  'instance-refused': ({ worker, text }) =>
    `The instance of worker ${formatFact(worker)} cannot be built${textAfter(text)}. Retry the operation when that is settled, or cancel it.`,
  'instance-not-running': ({ worker, instance, state, text }) =>
    `Instance ${formatFact(instance)} of worker ${formatFact(worker)} is ${formatFact(state)}${textAfter(text)}. Retry the operation to build it again, or cancel it.`,
  'worker-instance-gone': ({ worker, instance }) =>
    `Instance ${formatFact(instance)} of worker ${formatFact(worker)} is not there any more. Retry the operation, or cancel it.`,
  'joins-at-once': ({ worker, max }) =>
    `Worker ${formatFact(worker)} waits for its turn: ${formatFact(max)} of its operation join at once.`,
  'token-awaited': ({ worker }) =>
    `Worker ${formatFact(worker)} waits for the bootstrap token of its operation, which is being made.`,
  'machine-address-unknown': ({ worker, instance }) =>
    `Instance ${formatFact(instance)} of worker ${formatFact(worker)} has no address on its first NIC by which its machine could be reached. Give it one, or say another address with "muster clusters set --ssh-address", and retry.`,
  'machine-unreachable': ({ worker, text }) =>
    `The machine of worker ${formatFact(worker)} does not answer${textAfter(text)}. It is tried again until the time for its join is over.`,
  'machine-refuses-login': ({ worker, text }) =>
    `The machine of worker ${formatFact(worker)} does not let Muster in${textAfter(text)}. It is tried again until the time for its join is over; see that the image has the key or the password of "muster clusters set --ssh-user".`,
  'wrong-host-key': ({ worker, expected, found }) =>
    `The machine of worker ${formatFact(worker)} proves itself by the host key ${formatFact(found)}, and ${formatFact(expected)} is expected. Nothing was sent to it. Somebody may be in between. If the machine was made anew, remove the worker and add another one.`,
  'script-failed': ({ worker, exitCode, text }) =>
    `The script on the machine of worker ${formatFact(worker)} ended with exit code ${formatFact(exitCode)}${textAfter(text)}. "muster workers log ${formatFact(worker)}" shows what it wrote. Retry the operation when that is mended.`,
  'script-cut-off': ({ worker, text }) =>
    `The script on the machine of worker ${formatFact(worker)} was cut off${textAfter(text)}. It is begun again, until the time for its join is over.`,
  'node-awaited': ({ worker, node, readiness }) =>
    `The script of worker ${formatFact(worker)} has ended, and Node ${formatFact(node)} is waited for: ${READINESS[formatFact(readiness)] ?? formatFact(readiness)}.`,
  'join-timed-out': ({ worker, waitedFor, ...facts }, explain) =>
    `The time for the join of worker ${formatFact(worker)} is over.${waitedFor === undefined ? '' : ` Until then it waited: ${explain({ ...facts, worker, code: formatFact(waitedFor) })}`} "muster workers log ${formatFact(worker)}" shows what its script wrote. Retry the operation, or cancel it.`,
  'other-node': ({ worker, cluster, node, expected, found }) =>
    `Node ${formatFact(node)} of cluster ${formatFact(cluster)} is not the machine of worker ${formatFact(worker)}: its provider id is ${found === '' ? 'not set' : formatFact(found)}, and not ${formatFact(expected)}. Delete that Node if nothing needs it, or have the script start the kubelet with --provider-id. Then retry the operation.`,
};

/** What it said, where it said something. */
function textAfter(text: Reason[string]): string {
  return typeof text === 'string' && text !== '' ? `: ${endSentence(text).replace(/\.$/, '')}` : '';
}

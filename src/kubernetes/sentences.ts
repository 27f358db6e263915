// The reasons of work on Kubernetes workers in words: each names the worker, what holds it, and what to do.
import type { Reason } from '../fleet/index.ts';
import { endSentence, formatFact, type ReasonSentences } from '../operations/index.ts';

const BLOCKS: Readonly<Record<string, string>> = {
  bare: 'has no controller that would make it again. Delete it, or drain with --evict-bare and lose it',
  'local-volume': 'has a volume that is on this node alone. Move its data, or delete the pod',
  'two-budgets': 'is under two PodDisruptionBudgets, and Kubernetes evicts no such pod. Remove one of them',
  'empty-dir': 'has data in an emptyDir. Drain without --keep-empty-dir and lose it, or delete the pod',
};

export const kubernetesSentences: ReasonSentences = {
  'pods-leaving': ({ worker, left, terminating }) =>
    `${countOf(left, 'pod is', 'pods are')} to leave worker ${formatFact(worker)}; ${countOf(terminating, 'is', 'are')} terminating.`,
  'budget-blocks': ({ worker, pod, budget, left, ...more }) =>
    `Worker ${formatFact(worker)} has ${countOf(left, 'pod that is', 'pods that are')} to leave: the PodDisruptionBudget${nameOf(budget)} allows no eviction of pod ${formatFact(pod)} now${countOthers(more)}. It is tried again until the deadline.`,
  'drain-blocked': ({ worker, pod, why, budget, ...more }) =>
    `Worker ${formatFact(worker)} cannot be drained, and no waiting changes that: pod ${formatFact(pod)} ${BLOCKS[formatFact(why)] ?? formatFact(why)}${nameOf(budget)}${countOthers(more)}. Nothing was evicted for this; "muster workers show ${formatFact(worker)}" lists what blocks.`,
  'other-worker-failed': ({ worker, other }) =>
    `Worker ${formatFact(worker)} is of one batch with ${formatFact(other)}, which failed: nothing more is done with it until the operation is retried.`,
  'others-to-cordon': ({ worker }) =>
    `Worker ${formatFact(worker)} is cordoned. Nothing is evicted before all of its batch are.`,
  'others-to-check': ({ worker }) =>
    `No pod on worker ${formatFact(worker)} blocks for good. Nothing is evicted before that is known of all of its batch.`,
  'others-to-drain': ({ worker }) =>
    `Worker ${formatFact(worker)} is drained. The others of its batch are not yet: until they are, nothing is removed, and a cancel gives it back.`,
  'node-uncordoned': ({ worker, node }) =>
    `The cordon of Node ${formatFact(node)} was taken back while worker ${formatFact(worker)} was drained: nothing more is evicted. Retry the operation to drain it all the same, or give the worker back.`,
  'node-replaced': ({ worker }) =>
    `The cluster has another Node by the name of worker ${formatFact(worker)}: nothing is done to that. If it is the same machine, say so with "muster workers adopt"; if not, forget the worker ("muster workers forget ${formatFact(worker)}"), or remove one that Muster has joined by a new request.`,
  'volumes-attached': ({ worker, attached }) =>
    `Worker ${formatFact(worker)} is drained, and ${countOf(attached, 'volume is', 'volumes are')} attached to it still. That is waited for, for a minute at most.`,
  'machine-awaited': ({ worker, text }) =>
    `The Node of worker ${formatFact(worker)} is gone, and its machine is to leave the cluster, which it does not yet${textAfter(text)}. It is tried again for some minutes.`,
  'machine-not-left': ({ worker, text }) =>
    `The machine of worker ${formatFact(worker)} did not leave its cluster${textAfter(text)}. Its Node is gone; its kubelet may run still, and make another one. "muster workers log ${formatFact(worker)}" shows what its script wrote. Retry the operation, or remove the worker without --keep-instances: its instance is deleted then.`,
  'instance-deleting': ({ worker, instance }) =>
    `The Node of worker ${formatFact(worker)} is gone, and its instance ${formatFact(instance)} is being deleted.`,
  'instance-not-deleted': ({ instance, text }) =>
    `Instance ${formatFact(instance)} cannot be deleted: ${endSentence(formatFact(text))}`,
  'worker-superseded': ({ worker }) =>
    `Another operation has worker ${formatFact(worker)} in hand by now, or it is gone: this one does nothing more with it.`,
  'worker-leaves-first': ({ worker, instance }) =>
    `Worker ${formatFact(worker)} on instance ${formatFact(instance)} is drained before the instance moves.`,
  'worker-in-hand': ({ worker, operation }) =>
    `Worker ${formatFact(worker)} is in the hands of operation ${formatFact(operation)}, which ends first. "muster operations show ${formatFact(operation)}" says how far it is.`,
  'drains-at-once': ({ worker, cluster, atOnce, other }) =>
    `Worker ${formatFact(worker)} waits for its turn: of cluster ${formatFact(cluster)}, no more than ${formatFact(atOnce)} may be out of service at once because of hosts that leave. Now it is the turn of ${formatFact(other)}, until it is given back elsewhere.`,
  'worker-turn-later': ({ worker }) =>
    `Worker ${formatFact(worker)} takes pods again until its turn to be drained comes: the other workers of its cluster that stay have no room for all of them.`,
  'worker-stays': ({ worker }) =>
    `The host of worker ${formatFact(worker)} does not leave any more: nothing more is evicted, and the worker is given back.`,
  'scale-in-ended': ({ worker }) =>
    `The scale-in of the host of worker ${formatFact(worker)} moves nothing off any more: nothing more is evicted, and the worker stays cordoned. Start the scale-in again, or bring the host back with "muster scale-in recover".`,
  'worker-host-lost': ({ worker }) =>
    `The host of worker ${formatFact(worker)} is dead: there is nothing to drain. The worker joins again when its instance is built elsewhere.`,
  'instance-comes-back': ({ worker, instance }) =>
    `Worker ${formatFact(worker)} joins its cluster again when its instance ${formatFact(instance)} is active. "muster instances show ${formatFact(instance)}" says how far it is.`,
  'token-not-sealed': ({ worker, text }) =>
    `Worker ${formatFact(worker)} cannot join again yet: the secret of its token cannot be kept. ${endSentence(formatFact(text))}`,
  'worker-not-joined': ({ worker, cluster, node }) =>
    `The instance of worker ${formatFact(worker)} was built anew and has not joined cluster ${formatFact(cluster)} yet: it is in service when Node ${formatFact(node)} is Ready. Join it as you joined it before.`,
  'cluster-unreachable': ({ cluster, text }) =>
    `The API of cluster ${formatFact(cluster)} does not answer${textAfter(text)}. It is tried again.`,
  'cluster-silent': ({ cluster, text }) =>
    `The API of cluster ${formatFact(cluster)} does not answer${textAfter(text)}. What its workers run goes on; nothing is drained or removed there until it answers. Look at its control plane, and at the way to it.`,
  'cluster-refused': ({ cluster, node, text }) =>
    `Cluster ${formatFact(cluster)} refuses what was asked for Node ${formatFact(node)}${textAfter(text)}. "muster clusters show ${formatFact(cluster)}" says what Muster may not do there.`,
  'unknown-cluster': ({ cluster }) => `Cluster ${formatFact(cluster)} is not registered any more.`,
};

/** One of them, or how many. */
function countOf(count: Reason[string], one: string, many: string): string {
  return `${formatFact(count)} ${count === 1 ? one : many}`;
}

function nameOf(budget: Reason[string]): string {
  return budget === undefined ? '' : ` ${formatFact(budget)}`;
}

function countOthers({ others }: Readonly<Record<string, Reason[string]>>): string {
  return others === undefined ? '' : ` (and ${countOf(others, 'other pod is', 'other pods are')} blocked)`;
}

/** What it said, where it said something. */
function textAfter(text: Reason[string]): string {
  return typeof text === 'string' && text !== '' ? `: ${text.replace(/[.\s]+$/, '')}` : '';
}

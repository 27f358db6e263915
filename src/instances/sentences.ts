// How builds, moves and deletions explain themselves.
import type { Reason } from '../fleet/index.ts';
import { said, type ReasonSentences } from '../operations/index.ts';
import { FAULTS, type FaultCode } from './faults.ts';

type Sentence = ReasonSentences[string];

/** A build that was given up for good: what the fault is, and what the back end or the host said of it. */
function ended(code: FaultCode): Sentence {
  const { sentence } = FAULTS[code];
  return ({ message }) => {
    if (message === undefined || message === sentence) return sentence;
    return `${sentence.slice(0, -1)}: ${said(message).replace(/[.]$/, '')}.`;
  };
}

/** Whoever binds for the host, this is what has to change before somebody does; a move helps in each case. */
function hostBindsSentence({ instance, host, because, needs, below }: Reason): string {
  const begin = `Host ${said(host)} binds the ports of its instances by itself`;
  const move = `move the instance with "muster instances move ${said(instance)}"`;
  const left = `not all of instance ${said(instance)} are connected`;
  switch (because) {
    case 'driver':
      return `${begin} (bindsAt: driver), and ${left}: only its driver can connect them. Look for the cause on that host, or ${move}.`;
    case 'credentials':
      return `${begin} while the servers have no credentials for the network back end, and ${left}. They are bound as soon as the servers have credentials; or ${move}.`;
    case 'agents':
      return `${begin} until the agents of all hosts have service version ${said(needs)} (below it: ${said(below)}), and ${left}. They are bound as soon as those agents are upgraded; or ${move}.`;
    default:
      return `${begin}, and ${left}. Upgrade the agents of all hosts, or ${move}.`;
  }
}

export const instanceSentences: ReasonSentences = {
  'instance-gone': ({ instance }) => `Instance ${said(instance)} is not there any more.`,
  'instance-deleted': ({ instance }) => `Instance ${said(instance)} was deleted meanwhile.`,
  'no-valid-host': ({ message }) => said(message),
  'addresses-exhausted': ({ message }) => said(message),
  'attempts-exhausted': ({ message }) => said(message),
  'given-up': ({ message }) => said(message),
  'ports-not-plugged': ({ instance }) =>
    `The network has not reported every port of instance ${said(instance)} as plugged.`,
  'instance-degraded': ({ instance, host, trouble }) =>
    `Instance ${said(instance)} runs on host ${said(host)} and is degraded: ${said(trouble)}. It is connected again by itself as soon as that can be done; "muster instances show ${said(instance)}" says why it was not yet. If it has to run now, move it with "muster instances move ${said(instance)}".`,
  'moved-and-degraded': ({ instance, from, host, trouble }) =>
    `Instance ${said(instance)} was moved off host ${said(from)} to host ${said(host)}, and is not connected there: ${said(trouble)}. It does not count as moved until it is; "muster instances show ${said(instance)}" says what is tried.`,
  'not-connected': ({ instance, host, fault, message }) =>
    `The ports of instance ${said(instance)} could not be connected to host ${said(host)} (${said(fault)})${message === undefined ? '' : `: ${said(message).replace(/[.]$/, '')}`}. It is tried again, less and less often.`,
  'ports-bound-again': ({ instance, host }) =>
    `The ports of instance ${said(instance)} are being bound to host ${said(host)} again.`,
  'host-binds': (reason) => hostBindsSentence(reason),
  'not-plugged': ({ message }) => said(message),
  'released-by-host': () => 'The host has destroyed the instance and released its ports.',
  'too-few': ({ message }) => said(message),
  'back-end-unavailable': (reason, explain) =>
    reason['message'] === undefined
      ? `The network back end does not answer${reason['text'] === undefined ? '' : ` (${said(reason['text'])})`}. It is asked again.`
      : ended('back-end-unavailable')(reason, explain),
  'not-found': ended('not-found'),
  forbidden: ended('forbidden'),
  quota: ended('quota'),
  taken: ended('taken'),
  'bad-image': ended('bad-image'),
  'bad-flavor': ended('bad-flavor'),
  'host-not-heard': ({ host }) => `Host ${said(host)} is not heard. It is swept as soon as it is.`,
  'only-copy': ({ host, instance }) =>
    `Host ${said(host)} may have the only copy of instance ${said(instance)}, which does not run elsewhere yet. It is kept there until the instance runs on another host ("muster instances rebuild ${said(instance)}") or is deleted.`,
  'host-silent': ({ host, instance }) =>
    `Host ${said(host)} is not heard, and may still run instance ${said(instance)}. If it is off, say so with "muster hosts force-down ${said(host)}".`,
  'host-forced-down': ({ host, instance }) =>
    `Host ${said(host)} was forced down or removed: nothing is done there for instance ${said(instance)}. Build it elsewhere with "muster instances rebuild ${said(instance)}"; if the host is on after all, say so with "muster hosts force-up ${said(host)}".`,
  'not-destroyed': ({ instance, problems }) =>
    `Instance ${said(instance)} could not be destroyed: ${said(problems)}. It is tried again.`,
  'other-work-ends-first': ({ instance }) =>
    `Something else is under way for instance ${said(instance)}; it ends first.`,
  'others-without-ports': ({ instance }) =>
    `Instances of one request are placed together, and the ports of ${said(instance)} are not there yet.`,
  'ports-not-released': ({ instance, ports }) =>
    `The network back end has not released these ports of instance ${said(instance)}: ${said(ports)}. It is asked again.`,
  'ports-not-unbound': ({ instance, ports }) =>
    `The network back end has not unbound these ports of instance ${said(instance)}: ${said(ports)}. It is asked again.`,
  'move-superseded': ({ instance }) =>
    `Instance ${said(instance)} was moved or rebuilt since. Ask for a new move if it is still wanted.`,
  'source-not-heard': ({ instance, host }) =>
    `Host ${said(host)}, which is to hand instance ${said(instance)} over, is not heard. If it is off, say so with "muster hosts force-down ${said(host)}".`,
  'target-not-heard': ({ instance, host }) =>
    `Host ${said(host)}, which instance ${said(instance)} was handed over to, is not heard. It is asked as soon as it is.`,
  'binding-failed': ({ message }) => said(message),
  'mapping-gone': ({ message }) => said(message),
  'pool-empty': ({ message }) => said(message),
  'address-not-carried': ({ message }) => said(message),
  'source-lost': ({ message }) => said(message),
  'target-lost': ({ message }) => said(message),
  'instance-lost': ({ message }) => said(message),
  'not-migrated': ({ instance, host, problems }) =>
    `Host ${said(host)} could not hand instance ${said(instance)} over, and does not run it any more: ${said(problems)}. It is asked again.`,
  'not-activated': ({ instance, host, problems }) =>
    `Host ${said(host)} could not take over instance ${said(instance)}: ${said(problems)}. It is asked again.`,
  'not-bound': ({ instance, host, fault }) =>
    `The ports of instance ${said(instance)} could not be bound to host ${said(host)}, where it is now (${said(fault)}). It is tried again.`,
  'move-failed': ({ instance, message }) =>
    `Instance ${said(instance)} could not be moved: ${said(message).replace(/[.]$/, '')}. It is tried again, less and less often.`,
  'rebuild-failed': ({ instance, message }) =>
    `Instance ${said(instance)} could not be built elsewhere: ${said(message).replace(/[.]$/, '')}. It is tried again, less and less often.`,
  'group-limit': ({ instance, group, limit }) =>
    `Instance ${said(instance)} waits: no more than ${said(limit)} of server group ${said(group)} move at once.`,
  'instance-in-error': ({ instance }) =>
    `Instance ${said(instance)} is in error. "muster instances show ${said(instance)}" says why; delete it, or repair what is wrong.`,
};

// How builds, moves and deletions explain themselves.
import { said, type ReasonSentences } from '../operations/index.ts';

export const instanceSentences: ReasonSentences = {
  'instance-gone': ({ instance }) => `Instance ${said(instance)} is not there any more.`,
  'instance-deleted': ({ instance }) => `Instance ${said(instance)} was deleted meanwhile.`,
  'no-valid-host': ({ message }) => said(message),
  'addresses-exhausted': ({ message }) => said(message),
  'attempts-exhausted': ({ message }) => said(message),
  'given-up': ({ message }) => said(message),
  'ports-not-plugged': ({ ports }) => `The network has not reported these ports as plugged: ${said(ports)}.`,
  'back-end-unavailable': ({ text }) =>
    `The network back end does not answer${text === undefined ? '' : ` (${said(text)})`}. It is asked again.`,
  'host-not-heard': ({ host }) => `Host ${said(host)} is not heard. It is swept as soon as it is.`,
  'host-silent': ({ host, instance }) =>
    `Host ${said(host)} is not heard, and may still run instance ${said(instance)}. If it is off, say so with "muster hosts force-down ${said(host)}".`,
  'not-destroyed': ({ instance, problems }) =>
    `Instance ${said(instance)} could not be destroyed: ${said(problems)}. It is tried again.`,
  'other-work-ends-first': ({ instance }) =>
    `Something else is under way for instance ${said(instance)}; it ends first.`,
  'ports-not-released': ({ instance, ports }) =>
    `The network back end has not released these ports of instance ${said(instance)}: ${said(ports)}. It is asked again.`,
};

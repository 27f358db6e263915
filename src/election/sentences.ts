// How this room says why something waits or failed.
import type { Reason } from '../fleet/index.ts';
import { said, type ReasonSentences } from '../operations/index.ts';
import { REJECTION_SENTENCES } from './why.ts';

function rejection(because: Reason[string]): string {
  const sentences: Readonly<Record<string, string>> = REJECTION_SENTENCES;
  return sentences[said(because)] ?? said(because);
}

function behindOf(hosts: Reason[string]): string {
  return Array.isArray(hosts) && hosts.length > 0 ? `: ${said(hosts)} did not say that it is done` : '';
}

export const electionSentences: ReasonSentences = {
  'elections-held': ({ service }) =>
    `${said(service)} stays where it is while elections are held still. Set "held" of the setting "election" to false to go on.`,
  'held-out-of-control': ({ service, host }) =>
    `${said(service)} stays at ${said(host)}, whose switch is out of control and could not be told to stop: two hosts would do it. It goes on when the switch obeys again, or when its peers see its BFD down; "muster hosts show ${said(host)}" says what is wrong.`,
  'no-candidate': ({ service, host, because }) =>
    host === undefined
      ? `No host can take ${said(service)}. "muster services why ${said(service)}" says what each lacks.`
      : `No host can take ${said(service)}: ${said(host)} ${rejection(because)}, and nobody else can. The old host serves meanwhile.`,
  'service-not-ready': ({ service, host, because, servedBy }) =>
    `${said(service)} cannot be provided by ${said(host)} yet: ${said(because)}. ${servedBy === undefined ? 'Its old host serves' : `${said(servedBy)} serves`} meanwhile.`,
  'host-stays': ({ service, host }) => `${said(service)} stays at ${said(host)}, which leaves no more.`,
  'host-recovering': ({ service, host }) =>
    `${said(service)} goes to ${said(host)} as soon as ${said(host)} is in service again.`,
  'target-unfit': ({ service, host, because }) =>
    `${said(service)} stays where it is: ${said(host)} ${rejection(because)}.`,
  'target-unheard': ({ service, host }) =>
    `${said(service)} is not given to ${said(host)}, which most of its peers do not hear. Its old host serves meanwhile.`,
  'hand-over-drains': ({ service, host }) => `${said(host)} passes on what still comes to it for ${said(service)}.`,
  'connections-not-copied': ({ service, uncopied }) =>
    `Connections of ${said(service)} were not copied to its new host in time${behindOf(uncopied)}. Those that were open then may be cut.`,
  'hand-over-under-way': ({ service, to }) => `${said(service)} is being handed over to ${said(to)}.`,
  'held-while-heard': ({ service, host }) =>
    `${said(host)} is not connected, and ${said(service)} stays there as long as its peers see its BFD up ("on control loss" is "hold"). If the host is off for certain, say so with "muster hosts force-down ${said(host)}".`,
  'host-just-silent': ({ service, host }) =>
    `${said(host)} is silent. ${said(service)} moves if that host is lost, and stays while its whole site is silent.`,
  'service-gone': ({ service }) => `${said(service)} does not exist any more.`,
  'elected-anew': ({ service, host }) =>
    `${said(service)} is${host === undefined ? '' : ` at ${said(host)}`} by a later decision: this hand-over has nothing left to do. "muster services why ${said(service)}" says why.`,
  'service-withdrawn': ({ service }) =>
    `${said(service)} was withdrawn meanwhile, and nobody does it now: this hand-over has nothing left to do. "muster services why ${said(service)}" says why.`,
};

// The sentences of this module's reasons: why something waits or failed.
import type { Reason } from '../fleet/index.ts';
import { formatFact, type ReasonSentences } from '../operations/index.ts';
import { REJECTION_SENTENCES } from './why.ts';

function rejection(because: Reason[string]): string {
  const sentences: Readonly<Record<string, string>> = REJECTION_SENTENCES;
  return sentences[formatFact(because)] ?? formatFact(because);
}

function behindOf(hosts: Reason[string]): string {
  return Array.isArray(hosts) && hosts.length > 0 ? `: ${formatFact(hosts)} did not report its part as done` : '';
}

export const electionSentences: ReasonSentences = {
  'elections-held': ({ service }) =>
    `${formatFact(service)} stays where it is while elections are held. Set "held" of the setting "election" to false to continue.`,
  'held-out-of-control': ({ service, host }) =>
    `${formatFact(service)} stays at ${formatFact(host)}, whose switch is out of control and could not be ordered to stop: two hosts would serve it. The handover continues when the switch is under control again, or when its peers see its BFD down; "muster hosts show ${formatFact(host)}" says what is wrong.`,
  'no-candidate': ({ service, host, because }) =>
    host === undefined
      ? `No host can take ${formatFact(service)}. "muster services why ${formatFact(service)}" says what each lacks.`
      : `No host can take ${formatFact(service)}: ${formatFact(host)} ${rejection(because)}, and there is no other candidate. The old host serves meanwhile.`,
  'service-not-ready': ({ service, host, because, servedBy }) =>
    `${formatFact(service)} cannot be provided by ${formatFact(host)} yet: ${formatFact(because)}. ${servedBy === undefined ? 'Its old host serves' : `${formatFact(servedBy)} serves`} meanwhile.`,
  'host-stays': ({ service, host }) =>
    `${formatFact(service)} stays at ${formatFact(host)}, which is no longer leaving.`,
  'host-recovering': ({ service, host }) =>
    `${formatFact(service)} goes to ${formatFact(host)} as soon as ${formatFact(host)} is in service again.`,
  'target-unfit': ({ service, host, because }) =>
    `${formatFact(service)} stays where it is: ${formatFact(host)} ${rejection(because)}.`,
  'target-bfd-down': ({ service, host }) =>
    `${formatFact(service)} is not given to ${formatFact(host)}, whose BFD sessions most of its peers see down. Its old host serves meanwhile.`,
  'handover-drains': ({ service, host }) =>
    `${formatFact(host)} forwards late packets of ${formatFact(service)} to its new host.`,
  'connections-not-copied': ({ service, uncopied }) =>
    `Connections of ${formatFact(service)} were not copied to its new host in time${behindOf(uncopied)}. Connections that were open then may be cut.`,
  'handover-under-way': ({ service, to }) => `A handover of ${formatFact(service)} to ${formatFact(to)} is under way.`,
  'held-while-bfd-up': ({ service, host }) =>
    `${formatFact(host)} is not connected, and ${formatFact(service)} stays there as long as its peers see its BFD up ("on control loss" is "hold"). If the host is off for certain, say so with "muster hosts force-down ${formatFact(host)} --reason <why>".`,
  'host-just-silent': ({ service, host }) =>
    `${formatFact(host)} is silent. ${formatFact(service)} moves if that host is lost, and stays while its whole site is silent.`,
  'service-gone': ({ service }) => `${formatFact(service)} does not exist any more.`,
  'elected-anew': ({ service, host }) =>
    `${formatFact(service)} is${host === undefined ? '' : ` at ${formatFact(host)}`} by a later decision: this handover has nothing left to do. "muster services why ${formatFact(service)}" says why.`,
  'service-withdrawn': ({ service }) =>
    `${formatFact(service)} was withdrawn meanwhile, and is not served now: this handover has nothing left to do. "muster services why ${formatFact(service)}" says why.`,
};

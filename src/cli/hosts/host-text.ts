// A host as the API shows it, and as people read it.
import { resourcesText } from '../output/amounts.ts';
import { relativeTime } from '../output/duration.ts';
import { listChangedFacts, listText } from '../resource-commands.ts';
import type { LabelledFacts } from '../session.ts';
import { gib } from '../output/size.ts';
import type { AgentCertificate, Host } from '../client/representations.ts';

type AuditedCommand = NonNullable<Host['disabled']>;

export const HOSTS_PATH = '/api/v1/hosts';

export function hostPath(name: string): string {
  return `${HOSTS_PATH}/${encodeURIComponent(name)}`;
}

export function hostFacts(host: Host, nowMs: number): LabelledFacts {
  const { capacity, connection, disabled, forcedDown } = host;
  const { ratios } = capacity;
  const formatCommand = (one: AuditedCommand | undefined): string | undefined =>
    one === undefined ? undefined : `${one.reason} (${one.by}, ${relativeTime(one.atMs, nowMs)})`;
  return [
    ['Name', host.name],
    ['Site', host.site],
    ['Zone', host.zone],
    ['State', host.state],
    ['Connection', `${connection.state}, since ${relativeTime(connection.sinceMs, nowMs)}`],
    ...(host.degraded ?? []).map(({ sentence, sinceMs }): LabelledFacts[number] => [
      'Degraded',
      `${sentence} (since ${relativeTime(sinceMs, nowMs)})`,
    ]),
    ['Strays', straysText(host)],
    ...(host.unready ?? []).map(({ service, because, operation }): LabelledFacts[number] => [
      'Not ready',
      `${service}: ${because} (${operation} waits)`,
    ]),
    ['Leaving', leavingText(host, nowMs)],
    ['Forced', formatCommand(host.leaving?.forced)],
    ['Quarantined', quarantineText(host, nowMs)],
    ['Disabled', formatCommand(disabled)],
    ['Forced down', formatCommand(forcedDown)],
    ['Capacity', `${capacity.vcpus} vcpus, ${gib(capacity.memoryMiB / 1024)} memory, ${gib(capacity.diskGiB)} disk`],
    [
      'Ratios',
      Object.entries(ratios)
        .map(([name, ratio]) => `${name} ${ratio}`)
        .join(', '),
    ],
    ['Aggregates', listText(host.aggregates)],
    ['Traits', listText(host.traits)],
    ['Resources', resourcesText(host.resources)],
    ['Physical networks', listText(host.physicalNetworks)],
    ['Tunnel address', host.tunnelAddress],
    ['Transport zone', host.transportZone],
    ['Switch', switchText(host)],
    ['Base weight', String(host.baseWeight)],
    ['Agent version', host.serviceVersion === 0 ? undefined : String(host.serviceVersion)],
    ['Joined', host.joinedAtMs === undefined ? undefined : relativeTime(host.joinedAtMs, nowMs)],
    ...listChangedFacts(host, nowMs),
  ];
}

/** Undefined where agents have none. */
export function certificateText({ state, expiresAtMs }: AgentCertificate, nowMs: number): string | undefined {
  const expiry = expiresAtMs === undefined ? '' : expiryText(expiresAtMs, nowMs);
  switch (state) {
    case 'valid':
      return expiry;
    case 'renewal-overdue':
      return `${expiry}; its renewal is overdue: the log of the agent says why`;
    case 'none':
      return 'none: the agent showed none';
    case 'not-seen':
      return 'not seen: the agent has not polled since this server holds the lease';
    case 'off':
      return undefined;
  }
}

function expiryText(expiresAtMs: number, nowMs: number): string {
  const at = new Date(expiresAtMs).toISOString().slice(0, 16).replace('T', ' ');
  return `${expiresAtMs > nowMs ? 'expires' : 'expired'} ${at} UTC (${relativeTime(expiresAtMs, nowMs)})`;
}

/** What its agent reports that the fleet does not know. */
export function straysText({ strays }: Pick<Host, 'strays'>): string | undefined {
  if (strays === undefined) return undefined;
  const more = strays.count - strays.names.length;
  return `${strays.names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function leavingText({ leaving }: Host, nowMs: number): string | undefined {
  if (leaving === undefined) return undefined;
  const { operation, drain, by, why, atMs } = leaving;
  const how = drain ? '' : ', not drained by Muster';
  return `by ${operation} (${by}, ${relativeTime(atMs, nowMs)}${how})${why === undefined ? '' : `: ${why}`}`;
}

const QUARANTINE_TEXTS: Readonly<Record<string, string>> = {
  removed: 'it was removed and reports again; join it to let it in',
  'operator-fenced': 'an operator fenced it (force-down), and what it had was rebuilt elsewhere',
  identity: 'its switch shows the identity of another host',
};

/** Why it is not trusted, in a few words. */
export function quarantineReason({ quarantined }: Pick<Host, 'quarantined'>): string | undefined {
  if (quarantined === undefined) return undefined;
  const { because, as } = quarantined;
  return `${QUARANTINE_TEXTS[because] ?? because}${as === undefined ? '' : ` (${as})`}`;
}

function quarantineText(host: Host, nowMs: number): string | undefined {
  const why = quarantineReason(host);
  return why === undefined ? undefined : `${why}, ${relativeTime(host.quarantined?.atMs ?? nowMs, nowMs)}`;
}

/** All 64 bits of a datapath id, in both forms in which it is written. */
function switchText({ switch: identity }: Host): string | undefined {
  if (identity === undefined) return undefined;
  const { datapathId, systemId, bridge } = identity;
  const known = [
    ...(datapathId === undefined
      ? ['no datapath id yet']
      : [`datapath ${datapathId} (openflow:${BigInt(`0x${datapathId}`)})`]),
    ...(systemId === undefined ? [] : [`system ${systemId}`]),
    ...(bridge === undefined ? [] : [`bridge ${bridge}`]),
  ];
  return known.join(', ');
}

// A host as the API shows it, and as people read it.
import { resourcesText } from './amounts.ts';
import { relative } from './duration.ts';
import { changedFacts, some, type Changed } from './resource-commands.ts';
import type { Facts } from './session.ts';
import { gib } from './size.ts';

interface Decree {
  readonly reason: string;
  readonly by: string;
  readonly atMs: number;
}

export interface Host extends Changed {
  readonly name: string;
  readonly site: string;
  readonly zone: string;
  readonly aggregates: readonly string[];
  readonly traits: readonly string[];
  readonly resources?: Readonly<Record<string, number>>;
  readonly physicalNetworks: readonly string[];
  readonly tunnelAddress?: string;
  readonly baseWeight: number;
  readonly capacity: {
    readonly vcpus: number;
    readonly memoryMiB: number;
    readonly diskGiB: number;
    readonly ratios: Readonly<Record<string, number>>;
  };
  readonly disabled?: Decree;
  readonly forcedDown?: Decree;
  readonly state: string;
  readonly connection: { readonly state: string; readonly sinceMs: number };
  readonly serviceVersion: number;
  readonly joinedAtMs?: number;
}

export const HOSTS = '/api/v1/hosts';

export function hostPath(name: string): string {
  return `${HOSTS}/${encodeURIComponent(name)}`;
}

export function hostFacts(host: Host, nowMs: number): Facts {
  const { capacity, connection, disabled, forcedDown } = host;
  const { ratios } = capacity;
  const decree = (one: Decree | undefined): string | undefined =>
    one === undefined ? undefined : `${one.reason} (${one.by}, ${relative(one.atMs, nowMs)})`;
  return [
    ['Name', host.name],
    ['Site', host.site],
    ['Zone', host.zone],
    ['State', host.state],
    ['Connection', `${connection.state}, since ${relative(connection.sinceMs, nowMs)}`],
    ['Disabled', decree(disabled)],
    ['Forced down', decree(forcedDown)],
    ['Capacity', `${capacity.vcpus} vcpus, ${gib(capacity.memoryMiB / 1024)} memory, ${gib(capacity.diskGiB)} disk`],
    [
      'Ratios',
      Object.entries(ratios)
        .map(([name, ratio]) => `${name} ${ratio}`)
        .join(', '),
    ],
    ['Aggregates', some(host.aggregates)],
    ['Traits', some(host.traits)],
    ['Resources', resourcesText(host.resources)],
    ['Physical networks', some(host.physicalNetworks)],
    ['Tunnel address', host.tunnelAddress],
    ['Base weight', String(host.baseWeight)],
    ['Agent version', host.serviceVersion === 0 ? undefined : String(host.serviceVersion)],
    ['Joined', host.joinedAtMs === undefined ? undefined : relative(host.joinedAtMs, nowMs)],
    ...changedFacts(host, nowMs),
  ];
}

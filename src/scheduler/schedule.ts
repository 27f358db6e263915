// The one answer to a request: the best host that has what it needs, or why there is none.
import type { FleetReader } from '../fleet/index.ts';
import { bandwidthClass, type Claim, type PoolKey } from '../network/index.ts';
import { amountsOf } from './amounts.ts';
import { askOf, AVOIDS_NOTHING, type Avoided } from './ask.ts';
import { hostIndexOf } from './host-index.ts';
import { reportOn } from './report.ts';
import type { Chosen, Scheduled, ScheduleRequest } from './request.ts';
import { findBest, type Found } from './search.ts';

export function schedule(fleet: FleetReader, request: ScheduleRequest): Scheduled {
  const found = findInOrder(fleet, request);
  if (found !== undefined) return { kind: 'chosen', host: found.host, pools: found.pools };
  const { brief = false } = request;
  return { kind: 'none', report: brief ? { hosts: hostIndexOf(fleet).size, stages: [] } : reportOn(fleet, request) };
}

/**
 * The hosts that would be tried one after the other if each failed: the first, then the best that differ from those before
 * in pools and site, as far as there are any.
 */
export function alternates(fleet: FleetReader, request: ScheduleRequest, count: number): Chosen[] {
  const chosen: Chosen[] = [];
  const tried = [...(request.tried ?? [])];
  const excludedHosts = [...(request.excludedHosts ?? [])];
  while (chosen.length < count) {
    const ask = { ...request, tried, excludedHosts };
    const found = findInOrder(fleet, ask);
    if (found === undefined) break;
    chosen.push({ host: found.host, pools: found.pools });
    excludedHosts.push(found.host);
    tried.push({ site: found.site, pools: found.pools });
  }
  return chosen;
}

/** What was tried is kept clear of as far as possible: pools and site, then pools, then nothing. */
function findInOrder(fleet: FleetReader, request: ScheduleRequest): (Found & { readonly site: string }) | undefined {
  for (const avoided of avoidances(request)) {
    const ask = askOf(fleet, request, avoided);
    const found = findBest(ask);
    if (found !== undefined) return { ...found, site: ask.index.table.hosts[found.slot]?.site ?? '' };
  }
  return undefined;
}

function avoidances({ tried = [], nics, site, onlyHost }: ScheduleRequest): readonly Avoided[] {
  if (tried.length === 0 || onlyHost !== undefined) return [AVOIDS_NOTHING];
  const triedPools = new Set(tried.flatMap(({ pools }) => pools));
  // A NIC with one choice goes there, tried or not: that is no reason to give up on the others.
  const elsewhere = nics.filter(({ choices }) => choices.length > 1);
  const pools = new Set(elsewhere.flatMap(({ choices }) => choices.map(({ pool }) => pool)));
  const avoidable = new Set([...triedPools].filter((pool) => pools.has(pool)));
  const sites = new Set(tried.map((one) => one.site));
  return [
    ...(site === undefined || !sites.has(site) ? [{ sites, pools: avoidable }] : []),
    ...(avoidable.size > 0 ? [{ ...AVOIDS_NOTHING, pools: avoidable }] : []),
    AVOIDS_NOTHING,
  ];
}

/** What the claim of a request takes on the host and in the pools that were chosen. */
export function takenBy(
  request: ScheduleRequest,
  { host, pools }: Chosen,
): Pick<Claim, 'host' | 'vcpus' | 'memoryMiB' | 'diskGiB' | 'resources' | 'group' | 'addresses'> {
  const { nics, group } = request;
  const amounts = amountsOf(request);
  const resources = new Map(Object.entries(amounts.resources ?? {}));
  const addresses = new Map<string, Claim['addresses'][number]>();
  nics.forEach(({ choices, minBandwidthKbps }, nic) => {
    const choice = choices.find(({ pool }) => pool === pools[nic]);
    for (const version of choice?.takes ?? []) {
      const pool = pools[nic] as PoolKey;
      const key = `${pool}|${version}`;
      addresses.set(key, { pool, version, count: (addresses.get(key)?.count ?? 0) + 1 });
    }
    if (minBandwidthKbps === undefined || choice === undefined) return;
    const resource = bandwidthClass(choice.physicalNetwork);
    resources.set(resource, (resources.get(resource) ?? 0) + minBandwidthKbps);
  });
  return {
    host,
    vcpus: amounts.vcpus,
    memoryMiB: amounts.memoryMiB,
    diskGiB: amounts.diskGiB,
    ...(resources.size > 0 && { resources: Object.fromEntries(resources) }),
    ...(group !== undefined && { group: group.id }),
    addresses: [...addresses.values()],
  };
}

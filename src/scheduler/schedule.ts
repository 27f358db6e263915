// Answers a request: the best host that satisfies it, or why there is none. It claims nothing itself.
import type { FleetReader } from '../fleet/index.ts';
import { bandwidthClass, type Claim, type PoolChoice } from '../network/index.ts';
import { amountsOf } from './amounts.ts';
import { prepareRequest, NO_AVOIDANCE, type Avoidance } from './search/prepared-request.ts';
import { hostIndexOf } from './host-index/host-index.ts';
import { composeReport } from './report/report.ts';
import type { HostChoice, ScheduleResult, ScheduleRequest } from './request.ts';
import { findBest, type BestHost } from './search/search.ts';

export function schedule(fleet: FleetReader, request: ScheduleRequest): ScheduleResult {
  const found = findWithAvoidance(fleet, request);
  if (found !== undefined) return { kind: 'chosen', host: found.host, pools: found.pools };
  const { brief = false } = request;
  return {
    kind: 'none',
    report: brief ? { hosts: hostIndexOf(fleet).size, stages: [] } : composeReport(fleet, request),
  };
}

/**
 * The hosts that would be tried one after the other if each failed: the first, then the best that differ from those before in pools and site, if there
 * are any.
 */
export function findAlternates(fleet: FleetReader, request: ScheduleRequest, count: number): HostChoice[] {
  const chosen: HostChoice[] = [];
  const tried = [...(request.tried ?? [])];
  const excludedHosts = [...(request.excludedHosts ?? [])];
  while (chosen.length < count) {
    const refined = { ...request, tried, excludedHosts };
    const found = findWithAvoidance(fleet, refined);
    if (found === undefined) break;
    chosen.push({ host: found.host, pools: found.pools });
    excludedHosts.push(found.host);
    const site = hostIndexOf(fleet).table.hosts[found.slot]?.site ?? '';
    tried.push({ site, pools: found.pools });
  }
  return chosen;
}

/** Avoids earlier tries as far as possible: pools and site, then pools, then nothing. */
function findWithAvoidance(fleet: FleetReader, request: ScheduleRequest): BestHost | undefined {
  for (const avoidance of avoidanceOrder(request)) {
    const found = findBest(prepareRequest(fleet, request, avoidance));
    if (found !== undefined) return found;
  }
  return undefined;
}

const AVOID_NOTHING_ONLY: readonly Avoidance[] = [NO_AVOIDANCE];

function avoidanceOrder({ tried, nics, site, onlyHost }: ScheduleRequest): readonly Avoidance[] {
  if (tried === undefined || tried.length === 0 || onlyHost !== undefined) return AVOID_NOTHING_ONLY;
  const triedPools = new Set(tried.flatMap(({ pools }) => pools));
  // A NIC with one choice uses it, tried or not: that is no reason to stop avoiding the others.
  const elsewhere = nics.filter(({ choices }) => choices.length > 1);
  const pools = new Set(elsewhere.flatMap(({ choices }) => choices.map(({ pool }) => pool)));
  const avoidable = new Set([...triedPools].filter((pool) => pools.has(pool)));
  const sites = new Set(tried.map((one) => one.site));
  return [
    ...(site === undefined || !sites.has(site) ? [{ sites, pools: avoidable }] : []),
    ...(avoidable.size > 0 ? [{ ...NO_AVOIDANCE, pools: avoidable }] : []),
    NO_AVOIDANCE,
  ];
}

type ClaimedResources = Pick<Claim, 'host' | 'vcpus' | 'memoryMiB' | 'diskGiB' | 'resources' | 'group' | 'addresses'>;

const NO_NIC_HELD: readonly boolean[] = [];

/**
 * The claim of a request on the host and in the chosen pools. `held`, by NIC: its port has its addresses already, or gets them in the same commit.
 */
export function composeClaim(
  request: ScheduleRequest,
  { host, pools }: HostChoice,
  held = NO_NIC_HELD,
): ClaimedResources {
  const { nics, group } = request;
  const { vcpus, memoryMiB, diskGiB, resources } = amountsOf(request);
  const addresses: Claim['addresses'] = [];
  let sums = resources;
  nics.forEach(({ choices, minBandwidthKbps }, nic) => {
    if (held[nic] === true && minBandwidthKbps === undefined) return;
    const choice = choices.find(({ pool }) => pool === pools[nic]);
    if (choice === undefined) return;
    if (held[nic] !== true) countAddresses(addresses, choice);
    if (minBandwidthKbps === undefined) return;
    const resource = bandwidthClass(choice.physicalNetwork);
    sums = { ...sums, [resource]: (sums?.[resource] ?? 0) + minBandwidthKbps };
  });
  const taken: ClaimedResources = { host, vcpus, memoryMiB, diskGiB, addresses };
  if (sums !== undefined && Object.keys(sums).length > 0) taken.resources = sums;
  if (group !== undefined) taken.group = group.id;
  return taken;
}

/** Adds one address of each version of the choice. */
function countAddresses(addresses: Claim['addresses'], { pool, takes }: PoolChoice): void {
  for (const version of takes) {
    const counted = addresses.find((one) => one.pool === pool && one.version === version);
    if (counted === undefined) addresses.push({ pool, version, count: 1 });
    else counted.count += 1;
  }
}

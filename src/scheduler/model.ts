// The model of this module: its documents and projections, and what must never be untrue of claims.
import { idOf, type AppliedChange, type FleetReader, type Invariant, type Model } from '../fleet/index.ts';
import { findExclusion, HOST } from '../hosts/index.ts';
import { CLAIM, CLAIMS_BY_HOST, type Claim } from '../network/index.ts';
import { BUILD_FAILURES } from './build-failures.ts';
import { HOST_INDEX, hostIndexOf } from './host-index/host-index.ts';
import { allocatable } from './host-index/host-table.ts';
import type { GroupPolicy } from './request.ts';

type Amount = 'vcpus' | 'memoryMiB' | 'diskGiB';
const AMOUNTS: readonly Amount[] = ['vcpus', 'memoryMiB', 'diskGiB'];

interface ClaimChange {
  readonly before: Claim | undefined;
  readonly after: Claim | undefined;
}

function claimChanges(changed: readonly AppliedChange[]): ClaimChange[] {
  return changed
    .filter(({ kind }) => kind === CLAIM.name)
    .map(({ before, after }) => ({
      before: before?.doc as Claim | undefined,
      after: after?.doc as Claim | undefined,
    }));
}

function hostsOf(changes: readonly ClaimChange[]): Set<string> {
  return new Set(changes.flatMap(({ before, after }) => [before, after].flatMap((claim) => claim?.host ?? [])));
}

function sumClaims(fleet: FleetReader, host: string, amountOf: (claim: Claim) => number): number {
  let sum = 0;
  for (const { doc } of fleet.find(CLAIMS_BY_HOST, host)) sum += amountOf(doc);
  return sum;
}

/** How much more a commit claims of a host than was claimed before. */
function increaseOn(changes: readonly ClaimChange[], host: string, amountOf: (claim: Claim) => number): number {
  let more = 0;
  for (const { before, after } of changes) {
    if (after?.host === host) more += amountOf(after);
    if (before?.host === host) more -= amountOf(before);
  }
  return more;
}

/** A host whose capacity was lowered under its claims is not oversold by that; claiming still more of it is. */
const neverOvercommitted: Invariant = {
  name: 'never: more is claimed of a host than it has to give',
  check: (changed, fleet) => {
    const changes = claimChanges(changed);
    return [...hostsOf(changes)].flatMap((id) => {
      const host = fleet.get(HOST, idOf(HOST, id))?.doc;
      if (host === undefined) return [];
      const { capacity, resources = {} } = host;
      const { ratios } = capacity;
      const has: Readonly<Record<Amount, number>> = {
        vcpus: allocatable(capacity.vcpus, ratios.vcpus),
        memoryMiB: allocatable(capacity.memoryMiB, ratios.memory),
        diskGiB: allocatable(capacity.diskGiB, ratios.disk),
      };
      const findOverclaim = (what: string, total: number, amountOf: (claim: Claim) => number): string[] => {
        if (increaseOn(changes, id, amountOf) <= 0) return [];
        const claimed = sumClaims(fleet, id, amountOf);
        return claimed <= total ? [] : [`host ${id}: ${claimed} of ${total} ${what}`];
      };
      const further = new Set(changes.flatMap(({ after }) => Object.keys(after?.resources ?? {})));
      return [
        ...AMOUNTS.flatMap((name) => findOverclaim(name, has[name], (claim) => claim[name])),
        ...[...further].flatMap((name) =>
          findOverclaim(name, resources[name] ?? 0, (claim) => claim.resources?.[name] ?? 0),
        ),
      ];
    });
  },
};

/** A claim that a move had there already, or that is unchanged, is not a new one. */
const neverOnExcludingHost: Invariant = {
  name: 'never: a claim is taken on a host that is degraded in a way that excludes new instances',
  check: (changed, fleet) => {
    const changes = claimChanges(changed);
    return changes.flatMap(({ before, after }) => {
      if (after === undefined || after.host === before?.host) return [];
      const { instance, host } = after;
      if (changes.some((other) => other.before?.instance === instance && other.before.host === host)) return [];
      const condition = findExclusion(fleet.get(HOST, idOf(HOST, host))?.doc ?? {}, 'instances');
      return condition === undefined ? [] : [`instance ${instance} on ${host}, whose ${condition.type} fails`];
    });
  },
};

const indexMatchesClaims: Invariant = {
  name: 'never: the host index counts otherwise than the claims',
  check: (changed, fleet) => {
    const index = hostIndexOf(fleet);
    return [...hostsOf(claimChanges(changed))].flatMap((id) => {
      const taken = index.usageOn(id);
      const wrong = AMOUNTS.filter((name) => (taken?.[name] ?? 0) !== sumClaims(fleet, id, (claim) => claim[name]));
      const instances = (taken?.instances ?? 0) === sumClaims(fleet, id, () => 1) ? [] : ['instances'];
      return [...wrong, ...instances].map((name) => `host ${id}: ${name}`);
    });
  },
};

/** For the module that knows the groups: no new claim puts a second member of an anti-affinity group on a host. */
export function antiAffinityInvariant(
  policyOf: (fleet: FleetReader, group: string) => GroupPolicy | undefined,
): Invariant {
  return {
    name: 'never: two members of an anti-affinity group are put on one host',
    check: (changed, fleet) =>
      claimChanges(changed).flatMap(({ before, after }) => {
        const group = after?.group;
        if (after === undefined || group === undefined || after.host === before?.host) return [];
        if (policyOf(fleet, group) !== 'anti-affinity') return [];
        const others = sumClaims(fleet, after.host, (claim) =>
          claim.group === group && claim.instance !== after.instance ? 1 : 0,
        );
        return others === 0 ? [] : [`host ${after.host}: instance ${after.instance} of group ${group} is the second`];
      }),
  };
}

export const schedulerModel: Model = {
  kinds: [BUILD_FAILURES],
  projections: [HOST_INDEX],
  invariants: [neverOvercommitted, neverOnExcludingHost, indexMatchesClaims],
};

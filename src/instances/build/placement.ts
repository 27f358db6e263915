// Places an instance: its requirements on host and networks, the chosen host, the claim there, and, where the network's back end is in the journal,
// the bound ports. All of it is one decision.
import { idOf, put, type Change, type FleetReader, type Stored } from '../../fleet/index.ts';
import { EARLY_BIND_VERSION, EARLY_CREATE_VERSION, findHost, type Host } from '../../hosts/index.ts';
import {
  capabilitiesOf,
  bindPorts,
  CLAIM,
  claimId,
  hostReaches,
  nicRequirementsOf,
  PORT,
  SEGMENT,
  segmentOfPool,
  type BindRequest,
  type BindFault,
  type Claim,
  type PoolKey,
  type Port,
  type PortId,
  type StoredPort,
} from '../../network/index.ts';
import { schedule, composeClaim, type ScheduleReport, type ScheduleRequest } from '../../scheduler/index.ts';
import { exclusionsOf } from './exclusions.ts';
import { listExcludedPools } from '../faults.ts';
import { GROUP, type Instance } from '../model.ts';

export type StoredInstance = Stored<'instance', Instance>;

/** Who binds the ports of an instance on a host, and which are left to the host itself. */
export type BindMode = 'ready' | 'bind' | 'allocate' | 'driver';

export interface PlacementRequest {
  readonly id: string;
  readonly instance: Instance;
  /** In NIC order. */
  readonly ports: readonly StoredPort[];
  readonly role: Claim['role'];
  readonly by: string;
  readonly nowMs: number;
  /** Replaces the host that the instance itself requests. */
  readonly onlyHost?: string;
  /** Hosts that it leaves. */
  readonly excludedHosts?: readonly string[];
  /** Only hosts of this site, whatever the instance itself requests. */
  readonly within?: string | undefined;
  /** Without the report of a failure: it costs a scan of the whole fleet. */
  readonly brief?: true;
}

export type Placement =
  | {
      readonly kind: 'placed';
      readonly host: string;
      readonly site: string;
      readonly pools: readonly PoolKey[];
      readonly mode: BindMode;
      readonly claim: Change;
      /** The ports that are bound by this decision. */
      readonly bound: readonly { readonly id: PortId; readonly doc: Port }[];
    }
  | { readonly kind: 'none'; readonly report: ScheduleReport }
  | {
      readonly kind: 'fault';
      readonly host: string;
      readonly site: string;
      readonly pools: readonly PoolKey[];
      readonly fault: BindFault;
    };

export function portsOf(fleet: FleetReader, instance: Instance): StoredPort[] {
  return instance.nics.flatMap(({ port }) => fleet.get(PORT, idOf(PORT, port)) ?? []);
}

/** Whether a port's back end is decided in the journal. */
export function isInline(fleet: FleetReader, port: Port): boolean {
  return capabilitiesOf(fleet, port.network).inline;
}

export function placeInstance(fleet: FleetReader, placement: PlacementRequest): Placement {
  const request = composeScheduleRequest(fleet, placement);
  const chosen = schedule(fleet, request);
  if (chosen.kind === 'none') return chosen;
  const { host, pools } = chosen;
  const at = findHost(fleet, host)?.doc as Host;
  const mode = bindModeOn(at, placement.instance);
  // A move binds its ports when it switches over, not while the instance still runs at its source.
  const now = mode === 'ready' && placement.role === 'home';
  const inline = placement.ports.map((port) => now && isInline(fleet, port.doc));
  const bindRequests: BindRequest[] = [];
  placement.ports.forEach((port, nic) => {
    if (inline[nic] === true) bindRequests.push({ port, pool: pools[nic] as PoolKey });
  });
  const bound = bindPorts(fleet, bindRequests, { host, by: placement.by, nowMs: placement.nowMs });
  if (bound.kind === 'fault') return { kind: 'fault', host, site: at.site, pools, fault: bound.fault };
  const claim: Claim = {
    instance: placement.id,
    role: placement.role,
    sinceMs: placement.nowMs,
    // The addresses of ports that are bound in this decision are held, and need no claim.
    ...composeClaim(request, chosen, inline),
  };
  const change = put(CLAIM, claimId(placement.id, placement.role), claim);
  return { kind: 'placed', host, site: at.site, pools, mode, claim: change, bound: bound.ports };
}

export function bindModeOn(host: Host, { path }: Instance): BindMode {
  if (host.bindsAt === 'driver') return 'driver';
  if (path.create === 'host') return 'allocate';
  return path.bind === 'host' ? 'bind' : 'ready';
}

/** The requirements of an instance for the scheduler. */
export function composeScheduleRequest(fleet: FleetReader, placement: PlacementRequest): ScheduleRequest {
  const { instance } = placement;
  const { site, zone, aggregates, requiredTraits, forbiddenTraits, group: groupId, onlyHost } = instance.place;
  const group = groupId === undefined ? undefined : fleet.get(GROUP, idOf(GROUP, groupId));
  return {
    amounts: instance.amounts,
    site: placement.within ?? site,
    zone,
    aggregates,
    requiredTraits,
    forbiddenTraits,
    group: group === undefined ? undefined : { id: group.id, policy: group.doc.policy },
    onlyHost: placement.onlyHost ?? onlyHost,
    nics: placement.ports.map((port) => nicRequirementsOf(fleet, port.doc, instance)),
    serviceVersion: findRequiredServiceVersion(instance),
    ...exclusionsOf(fleet, {
      id: placement.id,
      attempts: instance.attempts,
      role: placement.role,
      leavingHosts: placement.excludedHosts ?? NONE,
    }),
    excludedPools: listExcludedPools(instance.attempts),
    tried: listTriedPlaces(instance),
    brief: placement.brief,
  };
}

/** The build keeps its path, also when older hosts have joined since: those are excluded if they do not support it. */
function findRequiredServiceVersion({ path, nics }: Instance): number | undefined {
  if (nics.length === 0 || path.create === 'host') return undefined;
  return path.bind === 'conductor' ? EARLY_BIND_VERSION : EARLY_CREATE_VERSION;
}

function listTriedPlaces({ attempts }: Instance): ScheduleRequest['tried'] {
  if (attempts.length === 0) return undefined;
  return attempts.flatMap(({ fault, site, pools }) =>
    fault === undefined || site === undefined ? [] : [{ site, pools: pools as PoolKey[] }],
  );
}

const NONE: readonly string[] = [];

/** Whether a host still reaches the chosen pools: its report can change at any moment. */
export function canReachPools(fleet: FleetReader, host: string, pools: readonly string[]): boolean {
  const doc = findHost(fleet, host)?.doc;
  return pools.every((pool) => {
    const id = segmentOfPool(pool as PoolKey);
    const segment = id === undefined ? undefined : fleet.get(SEGMENT, idOf(SEGMENT, id))?.doc;
    return id === undefined || (doc !== undefined && segment !== undefined && hostReaches(doc, segment));
  });
}

/** A host that does not return by itself: it is forced down, or not in the fleet any more. */
export function isFencedOrRemoved(fleet: FleetReader, host: string): boolean {
  return isRemoved(fleet, host) || findHost(fleet, host)?.doc.forcedDown !== undefined;
}

export function isRemoved(fleet: FleetReader, host: string): boolean {
  const stored = findHost(fleet, host);
  return stored === undefined || stored.doc.state === 'removed';
}

/** A host that does nothing now, certainly or apparently. A suspect host may still answer. */
export function isUnavailable(fleet: FleetReader, host: string): boolean {
  return isFencedOrRemoved(fleet, host) || findHost(fleet, host)?.doc.connection.state === 'down';
}

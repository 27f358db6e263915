// Hosts: compute nodes with their capacity, their place, and their state between joining and removed. Transitions outside the state table
// must never be committed; invariants hold that.
import { Type, type Static } from 'typebox';
import { schemaKind, type Id, type Index } from '../fleet/index.ts';
import { NAME, type SiteUse } from '../sites/index.ts';
import { DEGRADED } from './conditions.ts';
import { STRAYS_SCHEMA } from './strays-schema.ts';
import { LEFT_ZONES_MAX } from './transport-zone.ts';

const CLOSED = { additionalProperties: false };
const word = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$',
  'x-form': 'a word of letters, digits and _ . : - (at most 100)',
});
const words = (maxItems: number) => Type.Array(word, { maxItems, uniqueItems: true });

/** More tags on one host than this is a mistake in some script. */
const AGGREGATES_MAX = 64;
const TRAITS_MAX = 200;
const PHYSICAL_NETWORKS_MAX = 64;
const RESOURCES_MAX = 64;
export const HOST_STATES = ['joining', 'active', 'draining', 'drained', 'finalizing', 'removed', 'recovering'] as const;
export type HostState = (typeof HOST_STATES)[number];

export const CONNECTION_STATES = ['unknown', 'up', 'suspect', 'down'] as const;
export type ConnectionState = (typeof CONNECTION_STATES)[number];

export const CAPACITY = Type.Object(
  {
    vcpus: Type.Integer({ minimum: 0, maximum: 100_000 }),
    memoryMiB: Type.Integer({ minimum: 0, maximum: 2 ** 40 }),
    diskGiB: Type.Integer({ minimum: 0, maximum: 2 ** 40 }),
    /** The overcommit ratio of each resource. */
    ratios: Type.Object(
      {
        vcpus: Type.Number({ exclusiveMinimum: 0, maximum: 1000 }),
        memory: Type.Number({ exclusiveMinimum: 0, maximum: 1000 }),
        disk: Type.Number({ exclusiveMinimum: 0, maximum: 1000 }),
      },
      CLOSED,
    ),
  },
  CLOSED,
);

/** What an operator sets on a host. */
export const HOST_FACTS = {
  zone: word,
  aggregates: words(AGGREGATES_MAX),
  capacity: CAPACITY,
  traits: words(TRAITS_MAX),
  physicalNetworks: words(PHYSICAL_NETWORKS_MAX),
  tunnelAddress: Type.Union([Type.String({ format: 'ipv4' }), Type.String({ format: 'ipv6' })]),
  /** Counts in elections: a host with 2 takes two services before one with 0 takes its first. */
  baseWeight: Type.Integer({ minimum: -1000, maximum: 1000 }),
  /** Further resource classes it has, by name: `bandwidth-kbps:<physical network>`, `bandwidth-kbps`, `pci:<request>`. */
  resources: Type.Record(word, Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
    maxProperties: RESOURCES_MAX,
  }),
  /** Whether ports are bound by the control plane once the host is chosen, or by the host's own driver during the build. */
  bindsAt: Type.Enum(['conductor', 'driver']),
  /** The transport zones that it has tunnels in; the default zone when none is named. An undefined zone has no tunnels until it is defined. */
  transportZone: word,
};

/** A datapath id has 64 bits: a number would lose some of them. */
const DATAPATH_ID = Type.String({ pattern: '^[0-9a-f]{16}$', 'x-form': '16 lower-case hexadecimal digits' });

/** The identity of its switch, as its agent reports it. */
export const SWITCH_IDENTITY = Type.Object(
  {
    /** Absent while the integration bridge has none: the host is a candidate for no service until then. */
    datapathId: Type.Optional(DATAPATH_ID),
    systemId: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    /** The UUID of the OVSDB server's bridge row, from which the topology id is made. */
    bridge: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  },
  CLOSED,
);
export type SwitchIdentity = Static<typeof SWITCH_IDENTITY>;

const AUDITED_REASON = Type.Object(
  { reason: Type.String({ minLength: 1, maxLength: 500 }), by: Type.String(), atMs: Type.Integer() },
  CLOSED,
);

const LEAVING = Type.Object(
  {
    /** The scale-in by which it leaves. */
    operation: Type.String(),
    /** False when the operator moves everything off it by other means. */
    drain: Type.Boolean(),
    by: Type.String(),
    why: Type.Optional(Type.String()),
    atMs: Type.Integer(),
    /** Tenants of it were rebuilt elsewhere because it was forced down: it is not trusted when it returns. */
    rebuilt: Type.Optional(Type.Boolean()),
    /** It returns, and so does what left it. */
    failBack: Type.Optional(Type.Boolean()),
    /** It is removed whatever lives on it: who requested it, and why. Kept with the removed host. */
    forced: Type.Optional(AUDITED_REASON),
  },
  CLOSED,
);

const QUARANTINED = Type.Object(
  {
    /** `removed`: it was removed and reports again. `operator-fenced`: it was forced down, and what it had was
     * built elsewhere. `identity`: its switch shows the identity of another host. */
    because: Type.Enum(['removed', 'operator-fenced', 'identity']),
    /** The host whose identity it shows. */
    as: Type.Optional(Type.String()),
    atMs: Type.Integer(),
  },
  CLOSED,
);

const HOST_SCHEMA = Type.Object(
  {
    name: NAME,
    site: Type.String(),
    ...HOST_FACTS,
    tunnelAddress: Type.Optional(HOST_FACTS.tunnelAddress),
    resources: Type.Optional(HOST_FACTS.resources),
    bindsAt: Type.Optional(HOST_FACTS.bindsAt),
    transportZone: Type.Optional(HOST_FACTS.transportZone),
    /** Zones that it was edited out of, the last one first: peers there that have not converged since may have a tunnel to it. */
    leftZones: Type.Optional(Type.Array(word, { maxItems: LEFT_ZONES_MAX })),
    switch: Type.Optional(SWITCH_IDENTITY),
    /** Set from the start of its scale-in until it is active again. */
    leaving: Type.Optional(LEAVING),
    /** Set while it is not trusted: it is a candidate for nothing, has no tunnels, and its old flows are wiped. */
    quarantined: Type.Optional(QUARANTINED),
    /** Set while the host gets nothing new: maintenance. */
    disabled: Type.Optional(AUDITED_REASON),
    /** Set while an operator states that it is off (force-down). */
    forcedDown: Type.Optional(AUDITED_REASON),
    /** Set while its agent reports a failure: the host is no candidate for work that needs the failing part. */
    degraded: Type.Optional(DEGRADED),
    /** What its agent reports that the fleet does not know: with strays a host is removed only by force. */
    strays: Type.Optional(STRAYS_SCHEMA),
    /** It was removed before and joins again: if that join is cancelled it stays removed, so that it is still recognised. */
    readmitted: Type.Optional(Type.Literal(true)),
    state: Type.Enum(HOST_STATES),
    connection: Type.Object({ state: Type.Enum(CONNECTION_STATES), sinceMs: Type.Integer() }, CLOSED),
    /** The service version of its agent; 0 until it is reported. */
    serviceVersion: Type.Integer({ minimum: 0 }),
    /** The credential that its agent got when it joined. */
    credential: Type.Optional(Type.String()),
    joinedAtMs: Type.Optional(Type.Integer()),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
  CLOSED,
);

export type Host = Static<typeof HOST_SCHEMA>;
export type HostId = Id<'host'>;

export const HOST = schemaKind('host', HOST_SCHEMA);

export const HOST_TRANSITIONS: Readonly<Record<HostState, readonly HostState[]>> = {
  // To finalizing when its join is cancelled and peers may have tunnels to it.
  joining: ['active', 'finalizing', 'removed'],
  active: ['draining'],
  // To finalizing by force.
  draining: ['drained', 'recovering', 'finalizing'],
  drained: ['draining', 'finalizing', 'recovering'],
  finalizing: ['removed'],
  recovering: ['active', 'draining'],
  removed: ['joining'],
};

const TOMBSTONED: readonly HostState[] = ['draining', 'drained', 'finalizing'];

/** Leaving: a candidate for nothing. */
export function isTombstoned(host: Host): boolean {
  return TOMBSTONED.includes(host.state);
}

export const HOSTS_BY_SITE: Index<'host', Host> = {
  name: 'hosts-by-site',
  kind: HOST,
  keysOf: (doc) => [doc.site],
};

/** For counts in metrics and lists, without a walk over the fleet. */
export const HOSTS_BY_STATE: Index<'host', Host> = {
  name: 'hosts-by-state',
  kind: HOST,
  keysOf: (doc) => [`state:${doc.state}`, `connection:${doc.connection.state}`],
};

/**
 * Every form that identifies a host: its name, its topology id, its datapath id in hexadecimal and as an inventory id, its system id.
 * Removed hosts keep theirs, so that a host that reports one of them is recognised.
 */
export const HOSTS_BY_IDENTITY: Index<'host', Host> = {
  name: 'hosts-by-identity',
  kind: HOST,
  keysOf: (doc) => [doc.name, ...identityForms(doc.switch)],
};

export function identityForms(identity: SwitchIdentity | undefined): string[] {
  const { datapathId, systemId, bridge } = identity ?? {};
  return [
    ...(datapathId === undefined ? [] : [datapathId, `openflow:${BigInt(`0x${datapathId}`)}`]),
    ...(systemId === undefined ? [] : [systemId]),
    ...(bridge === undefined ? [] : [`ovsdb://uuid/${bridge}/bridge/br-int`]),
  ];
}

export const hostsOfSite: SiteUse = {
  what: 'hosts',
  count: (fleet, site) => fleet.countOf(HOSTS_BY_SITE, site),
};

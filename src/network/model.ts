// Networks, their segments and subnets, and the ports on them. A port knows who made it, how it came by its addresses,
// and where it is bound; nothing of that is ever derived from a cache.
import { Type, type Static } from 'typebox';
import { schemaKind, type Id, type Index } from '../fleet/index.ts';
import { NAME } from '../sites/index.ts';

const CLOSED = { additionalProperties: false };
const WORD = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$',
  'x-form': 'a word of letters, digits and _ . : - (at most 100)',
});
export const IP = Type.Union([Type.String({ format: 'ipv4' }), Type.String({ format: 'ipv6' })]);
const CHANGED = { changedBy: Type.String(), changedAtMs: Type.Integer() };

/** Pools of one subnet; more is a list of single addresses that should be ports. */
const POOLS_MAX = 64;
/** A port with more addresses than this is a mistake in some script. */
export const ADDRESSES_MAX = 16;
const SECURITY_GROUPS_MAX = 32;

/** The project of what names none. */
export const DEFAULT_PROJECT = 'default';

export const PROJECT = NAME;
const MAC = Type.String({
  pattern: '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$',
  'x-form': 'a MAC address of six pairs of lower-case hexadecimal digits, with colons',
});

/**
 * Who looks after a network's ports. `embedded`: Muster's own address management, decided in the journal. `host-local`:
 * hosts do their own networking, everything is allocated after the choice of host. `simulated`: a back end outside the
 * journal, with faults that can be armed. A Neutron back end takes its place beside them.
 */
export const BACK_ENDS = ['embedded', 'host-local', 'simulated', 'simulated-single'] as const;
export type BackEndName = (typeof BACK_ENDS)[number];

/** What a user says of a network. */
export const NETWORK_ATTRIBUTES = {
  shared: Type.Boolean({ description: 'may be used by every project' }),
  external: Type.Boolean({ description: 'leads outside; without `shared` only administrators attach instances to it' }),
  portSecurity: Type.Boolean({ description: 'security groups apply to its ports' }),
  qosPolicy: Type.Optional(WORD),
  /** What a port on it needs at least; counted against the bandwidth of the host's physical network, or of the host. */
  minBandwidthKbps: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 ** 9 })),
};

export const NETWORK_SCHEMA = Type.Object(
  { name: NAME, project: PROJECT, backEnd: Type.Enum(BACK_ENDS), ...NETWORK_ATTRIBUTES, ...CHANGED },
  CLOSED,
);
export type Network = Static<typeof NETWORK_SCHEMA>;
export type NetworkId = Id<'network'>;
export const NETWORK = schemaKind('network', NETWORK_SCHEMA);

export const SEGMENT_TYPES = ['flat', 'vlan', 'vxlan', 'gre', 'geneve'] as const;

export const SEGMENT_SCHEMA = Type.Object(
  {
    name: NAME,
    network: Type.String(),
    type: Type.Enum(SEGMENT_TYPES),
    /** Hosts that report it reach the segment; without one, every host does. */
    physicalNetwork: Type.Optional(WORD),
    segmentationId: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 24 - 1 })),
    /** Made by the network for itself: no subnet may be on it. */
    dynamic: Type.Boolean(),
    ...CHANGED,
  },
  CLOSED,
);
export type Segment = Static<typeof SEGMENT_SCHEMA>;
export const SEGMENT = schemaKind('segment', SEGMENT_SCHEMA);

const POOL = Type.Object({ first: IP, last: IP }, CLOSED);

export const SUBNET_SCHEMA = Type.Object(
  {
    name: NAME,
    network: Type.String(),
    segment: Type.Optional(Type.String()),
    cidr: Type.String({ maxLength: 50 }),
    version: Type.Union([Type.Literal(4), Type.Literal(6)]),
    gateway: Type.Optional(IP),
    /** Where addresses are picked from, in order; they do not overlap. */
    pools: Type.Array(POOL, { maxItems: POOLS_MAX }),
    /** A host of those with ports in it answers DHCP; IPv4 only. Absent: nobody does. */
    dhcp: Type.Optional(Type.Literal(true)),
    ...CHANGED,
  },
  CLOSED,
);
export type Subnet = Static<typeof SUBNET_SCHEMA>;
export const SUBNET = schemaKind('subnet', SUBNET_SCHEMA);

const IP_ALLOCATIONS = ['immediate', 'deferred', 'none'] as const;

const ADDRESS = Type.Object(
  {
    ip: IP,
    subnet: Type.String(),
    /** `user`: asked for. `create`: picked when the port was made. `bind`: picked for the host it is bound to. */
    chosenBy: Type.Enum(['user', 'create', 'bind']),
  },
  CLOSED,
);
export type Address = Static<typeof ADDRESS>;

const BINDING = Type.Object(
  {
    host: Type.String(),
    /** Every bind has a higher one than the one before: an event or an answer of an older one does not count. */
    serial: Type.Integer({ minimum: 1 }),
    /** The segment that the port is on there; none on a network that every host reaches. */
    segment: Type.Optional(Type.String()),
    /** How the host connects it, as the back end said. */
    type: Type.String(),
  },
  CLOSED,
);

const USED_BY = Type.Object({ kind: Type.Enum(['router', 'floating-address']), id: Type.String() }, CLOSED);

export const PORT_SCHEMA = Type.Object(
  {
    name: Type.Optional(Type.String({ maxLength: 200 })),
    network: Type.String(),
    project: Type.String(),
    createdBy: Type.Enum(['user', 'muster']),
    /** `wanted`: intended, the back end may not know of it yet. `releasing`: it is to go, the back end may still have it. */
    state: Type.Enum(['wanted', 'made', 'releasing']),
    mac: MAC,
    /** The instance it is attached to, and which of its NICs it is. */
    instance: Type.Optional(Type.String()),
    nic: Type.Optional(Type.Integer({ minimum: 0 })),
    tag: Type.Optional(Type.String({ maxLength: 100 })),
    /** What has its address in place of an instance: then it is never attached, never bound, and goes with its user. */
    usedBy: Type.Optional(USED_BY),
    ipAllocation: Type.Enum(IP_ALLOCATIONS),
    addresses: Type.Array(ADDRESS, { maxItems: ADDRESSES_MAX }),
    binding: Type.Optional(BINDING),
    /** The highest binding serial that was ever given out for it. */
    serial: Type.Integer({ minimum: 0 }),
    portSecurity: Type.Boolean(),
    securityGroups: Type.Array(WORD, { maxItems: SECURITY_GROUPS_MAX, uniqueItems: true }),
    qosPolicy: Type.Optional(WORD),
    minBandwidthKbps: Type.Optional(Type.Integer({ minimum: 1 })),
    pciRequest: Type.Optional(WORD),
    dnsName: Type.Optional(NAME),
    ...CHANGED,
  },
  CLOSED,
);
export type Port = Static<typeof PORT_SCHEMA>;
export type PortId = Id<'port'>;
export const PORT = schemaKind('port', PORT_SCHEMA);

/** In place of a project, for networks that all of them may use. No project has such a name. */
export const SHARED = '*';

export const NETWORKS_BY_USER: Index<'network', Network> = {
  name: 'networks-by-user',
  kind: NETWORK,
  keysOf: (doc) => (doc.shared ? [doc.project, SHARED] : [doc.project]),
};

export const SEGMENTS_BY_NETWORK: Index<'segment', Segment> = {
  name: 'segments-by-network',
  kind: SEGMENT,
  keysOf: (doc) => [doc.network],
};

/** Segments that no host tells apart have one key: a type, its physical network and its number. */
export function segmentationKey({ type, physicalNetwork, segmentationId }: Segment): string {
  return `${type}|${physicalNetwork ?? ''}|${segmentationId ?? ''}`;
}

export const SEGMENTS_BY_SEGMENTATION: Index<'segment', Segment> = {
  name: 'segments-by-wire',
  kind: SEGMENT,
  keysOf: (doc) => [segmentationKey(doc)],
};

/** In place of a physical network, for segments that every host reaches. */
export const EVERYWHERE = '*';

export const SEGMENTS_BY_PHYSICAL_NETWORK: Index<'segment', Segment> = {
  name: 'segments-by-physical-network',
  kind: SEGMENT,
  keysOf: (doc) => [doc.physicalNetwork ?? EVERYWHERE],
};

export const SUBNETS_BY_NETWORK: Index<'subnet', Subnet> = {
  name: 'subnets-by-network',
  kind: SUBNET,
  keysOf: (doc) => [doc.network],
};

export const PORTS_BY_NETWORK: Index<'port', Port> = {
  name: 'ports-by-network',
  kind: PORT,
  keysOf: (doc) => [doc.network],
};

/** A network and a project in one key. Neither name has the bar in it. */
export function networkAndProject(network: string, project: string): string {
  return `${network}|${project}`;
}

/** For counts: whose ports are on a network. */
export const PORTS_BY_NETWORK_AND_PROJECT: Index<'port', Port> = {
  name: 'ports-by-network-and-project',
  kind: PORT,
  keysOf: (doc) => [networkAndProject(doc.network, doc.project)],
};

/** The segment that a port is bound on, with or without an address there. */
export const PORTS_BY_SEGMENT: Index<'port', Port> = {
  name: 'ports-by-segment',
  kind: PORT,
  keysOf: ({ binding }) => (binding?.segment === undefined ? [] : [binding.segment]),
};

export const PORTS_BY_INSTANCE: Index<'port', Port> = {
  name: 'ports-by-instance',
  kind: PORT,
  keysOf: (doc) => (doc.instance === undefined ? [] : [doc.instance]),
};

/** The ports that are bound to a host, whoever has them. */
export const PORTS_BY_HOST: Index<'port', Port> = {
  name: 'ports-by-host',
  kind: PORT,
  keysOf: ({ binding }) => (binding === undefined ? [] : [binding.host]),
};

// Networks, their segments and subnets, and the ports on them. A port records who created it, the origin of its addresses, and where it is bound;
// none of that may ever be derived from a cache.
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

/** Pools of one subnet; more would be a list of single addresses that should be ports. */
const POOLS_MAX = 64;
/** A port with more addresses than this is a mistake in some script. */
export const ADDRESSES_MAX = 16;
const SECURITY_GROUPS_MAX = 32;

/** The project of documents that name none. */
export const DEFAULT_PROJECT = 'default';

export const PROJECT = NAME;
const MAC = Type.String({
  pattern: '^[0-9a-f]{2}(:[0-9a-f]{2}){5}$',
  'x-form': 'a MAC address of six pairs of lower-case hexadecimal digits, with colons',
});

/**
 * The back end of a network's ports. `embedded`: Muster's own address management, decided in the journal. `host-local`: hosts do their own
 * networking, everything is allocated after the choice of host. `simulated`: a back end outside the journal, with faults that can be armed. A
 * Neutron back end takes its place beside them.
 */
export const BACK_ENDS = ['embedded', 'host-local', 'simulated', 'simulated-single'] as const;
export type BackEndName = (typeof BACK_ENDS)[number];

/** What a user sets on a network. */
export const NETWORK_ATTRIBUTES = {
  shared: Type.Boolean({ description: 'may be used by every project' }),
  external: Type.Boolean({ description: 'leads outside; without `shared` only administrators attach instances to it' }),
  portSecurity: Type.Boolean({ description: 'security groups apply to its ports' }),
  qosPolicy: Type.Optional(WORD),
  /** The minimum bandwidth of a port on it; counted against the host's physical network, or the host. */
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
    /** Created by the network for itself: no subnet may be on it. */
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
    /** One of the hosts with ports in it answers DHCP; IPv4 only. Absent: DHCP is off. */
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
    /** `user`: requested. `create`: picked when the port was created. `bind`: picked for the host it is bound to. */
    chosenBy: Type.Enum(['user', 'create', 'bind']),
  },
  CLOSED,
);
export type Address = Static<typeof ADDRESS>;

/** To a host or to a node, never to both: whatever requests the host of a binding does not see a node. */
const BINDING = Type.Object(
  {
    host: Type.Optional(Type.String()),
    /** A bare-metal node. */
    node: Type.Optional(Type.String()),
    /** Every bind has a higher one than the one before: events and answers of an older one do not count. */
    serial: Type.Integer({ minimum: 1 }),
    /** The segment that the port is on there; none on a network that every host reaches. */
    segment: Type.Optional(Type.String()),
    /** How the host connects it, as the back end answered. */
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
    /** `wanted`: intended, the back end may not know of it yet. `releasing`: to be deleted, the back end may still have it. */
    state: Type.Enum(['wanted', 'made', 'releasing']),
    mac: MAC,
    /** The instance it is attached to, and which of its NICs it is. */
    instance: Type.Optional(Type.String()),
    nic: Type.Optional(Type.Integer({ minimum: 0 })),
    tag: Type.Optional(Type.String({ maxLength: 100 })),
    /** The router or floating address that uses its address: such a port is never attached or bound, and is deleted with its user. */
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

/** Segments that a host cannot distinguish have one key: type, physical network and number. */
export function segmentationKey({ type, physicalNetwork, segmentationId }: Segment): string {
  return `${type}|${physicalNetwork ?? ''}|${segmentationId ?? ''}`;
}

export const SEGMENTS_BY_SEGMENTATION: Index<'segment', Segment> = {
  name: 'segments-by-segmentation',
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

/** For counts: the projects of the ports on a network. */
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
  keysOf: ({ binding }) => (binding?.host === undefined ? [] : [binding.host]),
};

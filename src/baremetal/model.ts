// The documents of bare metal: nodes, the reservations that give one of them to an instance, and the managers that act on them. A node is never a
// host: nothing that runs instances on hosts may see it. Its epoch must never fall, whatever becomes of it.
import { Type, type Static } from 'typebox';
import { MANAGER_NAME } from '../access/index.ts';
import { schemaKind, type Id, type Index } from '../fleet/index.ts';
import { PROJECT } from '../network/index.ts';

const CLOSED = { additionalProperties: false };
const WORD = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$',
  'x-form': 'a word of letters, digits and _ . : - (at most 100)',
});
const CHANGED = { changedBy: Type.String(), changedAtMs: Type.Integer() };

/** As inventories limit them. */
export const NODE_TRAITS_MAX = 50;
const PHYSICAL_NETWORKS_MAX = 16;

/** Which driver knows the machine. */
export const INVENTORY_NAMES = ['simulated', 'ironic'] as const;
export type InventoryName = (typeof INVENTORY_NAMES)[number];

/** The alarm of an inventory that does not answer. Its reason names it as `inventory`. */
export const INVENTORY_UNREACHABLE = 'inventory-unreachable';

export const NODE_STATES = [
  'available',
  'reserved',
  'deploying',
  'active',
  'cleaning',
  'clean-failed',
  'unavailable',
  'removed',
] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** Which state may follow which. Once a deploy began, a node is cleaned before it counts as free; before that, it is free at once. */
export const NODE_TRANSITIONS: Readonly<Record<NodeState, readonly NodeState[]>> = {
  available: ['available', 'reserved', 'unavailable', 'removed'],
  reserved: ['reserved', 'deploying', 'available', 'unavailable', 'cleaning'],
  deploying: ['deploying', 'active', 'cleaning'],
  active: ['active', 'cleaning'],
  cleaning: ['cleaning', 'available', 'unavailable', 'clean-failed'],
  // An operator may state that its disks hold nothing.
  'clean-failed': ['clean-failed', 'cleaning', 'available', 'unavailable', 'removed'],
  // The inventory does not offer it: it is being inspected, in a state of its own, or gone for now.
  unavailable: ['unavailable', 'available', 'removed'],
  // It keeps its id and its epoch: a machine that comes back is the same node, with the data that was on it.
  removed: ['removed', 'available', 'unavailable', 'clean-failed'],
};

export const POWER_STATES = ['on', 'off', 'unknown'] as const;
export type PowerState = (typeof POWER_STATES)[number];

/** What a machine is: set when it is enrolled, or read from its inventory. */
export const NODE_HARDWARE = {
  resourceClass: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
  traits: Type.Array(WORD, { maxItems: NODE_TRAITS_MAX, uniqueItems: true }),
  memoryMiB: Type.Integer({ minimum: 0, maximum: 2 ** 40 }),
  cpus: Type.Integer({ minimum: 0, maximum: 100_000 }),
  localGiB: Type.Integer({ minimum: 0, maximum: 2 ** 40 }),
  cpuArch: Type.Optional(WORD),
  /** As inventories write them: `k1:v1,k2:v2`. Malformed items are skipped, and shown as warnings. */
  capabilities: Type.Optional(Type.String({ maxLength: 4000 })),
};

/** Where a machine is and whose it is. */
export const NODE_PLACE = {
  site: Type.Optional(Type.String()),
  /** The physical networks that it is wired to. */
  physicalNetworks: Type.Array(WORD, { maxItems: PHYSICAL_NETWORKS_MAX, uniqueItems: true }),
  /** Only instances of these projects get it; those of every project when neither is set. */
  owner: Type.Optional(PROJECT),
  lessee: Type.Optional(PROJECT),
};

const NODE_FAULT = Type.Object(
  { code: Type.String(), message: Type.String({ maxLength: 500 }), atMs: Type.Integer() },
  CLOSED,
);
export type NodeFault = Static<typeof NODE_FAULT>;

export const NODE_SCHEMA = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    inventory: Type.Enum(INVENTORY_NAMES),
    ...NODE_HARDWARE,
    ...NODE_PLACE,
    state: Type.Enum(NODE_STATES),
    power: Type.Enum(POWER_STATES),
    maintenance: Type.Optional(
      Type.Object({ reason: Type.String({ maxLength: 500 }), by: Type.String(), atMs: Type.Integer() }, CLOSED),
    ),
    /** Grows with every reservation and every acquisition by a manager. Never falls. */
    epoch: Type.Integer({ minimum: 0 }),
    /** Whose reservation it has; the id of the reservation. */
    instance: Type.Optional(Type.String()),
    /** The reservation for which a claim is under way at its inventory: it is offered to no other until the answer is there. */
    claimedFor: Type.Optional(Type.String()),
    /** Of a node that is not free: who acts on it, and under which epoch of that manager's lease. */
    manager: Type.Optional(Type.String()),
    managerEpoch: Type.Optional(Type.Integer({ minimum: 1 })),
    /** A deploy began: there is data on it. */
    dirty: Type.Optional(Type.Literal(true)),
    fault: Type.Optional(NODE_FAULT),
    /** Its inventory says that there is no such node; it stays for the instance that has it. */
    absent: Type.Optional(
      Type.Object({ sinceMs: Type.Integer(), lastSeenAtMs: Type.Optional(Type.Integer()) }, CLOSED),
    ),
    ...CHANGED,
  },
  CLOSED,
);
export type Node = Static<typeof NODE_SCHEMA>;
export type NodeId = Id<'node'>;
export const NODE = schemaKind('node', NODE_SCHEMA);

export const RESERVATION_STATES = ['allocating', 'active', 'releasing', 'error'] as const;
export type ReservationState = (typeof RESERVATION_STATES)[number];

/** `error` gives way to a new request for the same instance. A released reservation is gone. */
export const RESERVATION_TRANSITIONS: Readonly<Record<ReservationState, readonly ReservationState[]>> = {
  allocating: ['allocating', 'active', 'error', 'releasing'],
  active: ['active', 'releasing'],
  releasing: ['releasing'],
  error: ['error', 'allocating', 'active', 'releasing'],
};

/** The stages of matching, in their order; `race` counts candidates that others took meanwhile. */
export const MATCH_STAGES = [
  'candidates',
  'state',
  'class',
  'sizes',
  'traits',
  'capabilities',
  'image',
  'owner',
  'networks',
  'race',
] as const;
export type MatchStage = (typeof MATCH_STAGES)[number];

const STAGE_COUNT = Type.Object({ stage: Type.Enum(MATCH_STAGES), left: Type.Integer({ minimum: 0 }) }, CLOSED);

/** No more nodes are tried for one reservation: in so short a time others have them all. */
export const TRIED_NODES_MAX = 100;

const ALLOCATION = Type.Object(
  {
    /** Of its manager, at the request. */
    managerEpoch: Type.Integer({ minimum: 1 }),
    /** Of going through the nodes that match, from 1. */
    round: Type.Integer({ minimum: 1 }),
    /** Lost to others in this round. */
    tried: Type.Array(Type.String(), { maxItems: TRIED_NODES_MAX }),
    /** All that were lost. */
    lost: Type.Integer({ minimum: 0 }),
  },
  CLOSED,
);
export type Allocation = Static<typeof ALLOCATION>;

/** A failed reservation can be read for a day. */
const FAILED_KEPT_MS = 24 * 3600 * 1000;

export const RESERVATION_SCHEMA = Type.Object(
  {
    instance: Type.String(),
    manager: Type.String(),
    project: Type.Optional(Type.String()),
    /** Only nodes of this site: the caller is bound to it. */
    site: Type.Optional(Type.String()),
    state: Type.Enum(RESERVATION_STATES),
    /** Over the request without the manager, keys in order: a repeat is distinguished from another request by it. */
    digest: Type.String(),
    /** The request as it was sent. */
    request: Type.Record(Type.String(), Type.Unknown()),
    /** Keys that took no part in matching. */
    ignored: Type.Array(Type.String(), { maxItems: 200 }),
    node: Type.Optional(Type.String()),
    nodeEpoch: Type.Optional(Type.Integer({ minimum: 1 })),
    /** The traits that were requested. */
    traits: Type.Optional(Type.Array(Type.String(), { maxItems: 200 })),
    /** Its inventory holds a claim for it, which has to be given back. */
    claimed: Type.Optional(Type.Literal(true)),
    /** What claims its node, or releases it. */
    operation: Type.Optional(Type.String()),
    /** While it allocates: the claim of a node is made outside. */
    allocation: Type.Optional(ALLOCATION),
    reason: Type.Optional(Type.Object({ code: Type.String(), message: Type.String({ maxLength: 1000 }) }, CLOSED)),
    /** Candidates left after each stage. */
    stages: Type.Optional(Type.Array(STAGE_COUNT, { maxItems: MATCH_STAGES.length })),
    createdAtMs: Type.Integer(),
    failedAtMs: Type.Optional(Type.Integer()),
    ...CHANGED,
  },
  CLOSED,
);
export type Reservation = Static<typeof RESERVATION_SCHEMA>;
export type ReservationId = Id<'reservation'>;
/** Its id is the instance's: an instance has at most one. */
export const RESERVATION = schemaKind('reservation', RESERVATION_SCHEMA, {
  expiresAtMs: (doc) => (doc.failedAtMs === undefined ? undefined : doc.failedAtMs + FAILED_KEPT_MS),
});

/** `stopped`: it ended by itself and released its lease. `lost`: its lease ran out. */
export const MANAGER_STATES = ['live', 'draining', 'lost', 'stopped'] as const;
export type ManagerState = (typeof MANAGER_STATES)[number];

export const MANAGER_TRANSITIONS: Readonly<Record<ManagerState, readonly ManagerState[]>> = {
  live: ['live', 'draining', 'lost', 'stopped'],
  draining: ['draining', 'live', 'lost', 'stopped'],
  lost: ['lost', 'live', 'draining', 'stopped'],
  stopped: ['stopped', 'live', 'draining'],
};

const MANAGER_DRAINING = Type.Object(
  {
    by: Type.String(),
    atMs: Type.Integer(),
    /** The host whose scale-in began it: it ends when that host stays in service. */
    host: Type.Optional(Type.String()),
    /** Since when it has no node left. */
    emptyAtMs: Type.Optional(Type.Integer()),
  },
  CLOSED,
);

export const MANAGER_SCHEMA = Type.Object(
  {
    name: MANAGER_NAME,
    version: Type.String({ maxLength: 100 }),
    /** The host that it runs on: scaling that host in drains it first. */
    host: Type.Optional(Type.String()),
    site: Type.Optional(Type.String()),
    state: Type.Enum(MANAGER_STATES),
    /** Its nodes go to others, and it gets no new ones; kept while it is lost or stopped. */
    draining: Type.Optional(MANAGER_DRAINING),
    /** It runs inside a server, which can pause it. */
    embedded: Type.Optional(Type.Literal(true)),
    /** Its present process is halted, for trials: it renews nothing and acts on nothing until it is resumed. */
    paused: Type.Optional(Type.Object({ by: Type.String(), atMs: Type.Integer() }, CLOSED)),
    /** The process that registered last. */
    holder: Type.String(),
    /** Of its present lease, or of the last one. Nodes that it acquired under another are to be acquired anew. */
    leaseEpoch: Type.Integer({ minimum: 0 }),
    sinceMs: Type.Integer(),
    ...CHANGED,
  },
  CLOSED,
);
export type Manager = Static<typeof MANAGER_SCHEMA>;
export type ManagerId = Id<'manager'>;
export const MANAGER = schemaKind('manager', MANAGER_SCHEMA);

/** The lease of a manager in the store. */
export function managerLease(name: string): string {
  return `manager/${name}`;
}

const NO_KEYS: readonly string[] = [];

export const NODES_BY_MANAGER: Index<'node', Node> = {
  name: 'nodes-by-manager',
  kind: NODE,
  keysOf: (doc) => (doc.manager === undefined ? [] : [doc.manager]),
};

export const NODES_BY_INSTANCE: Index<'node', Node> = {
  name: 'nodes-by-instance',
  kind: NODE,
  keysOf: (doc) => (doc.instance === undefined ? [] : [doc.instance]),
};

/** Nodes with a claim under way at their inventory, or one that it is to take back. */
export const NODES_BY_CLAIM: Index<'node', Node> = {
  name: 'nodes-by-claim',
  kind: NODE,
  keysOf: (doc) => (doc.claimedFor === undefined ? NO_KEYS : [doc.claimedFor]),
};

/** Those that an inventory knows by another name than their id. */
export const NODES_BY_NAME: Index<'node', Node> = {
  name: 'nodes-by-name',
  kind: NODE,
  keysOf: (doc) => (doc.name === undefined || doc.state === 'removed' ? NO_KEYS : [doc.name]),
};

/** Reservations whose claim is made outside. */
export const ALLOCATING_RESERVATIONS: Index<'reservation', Reservation> = {
  name: 'allocating-reservations',
  kind: RESERVATION,
  keysOf: (doc) => (doc.state === 'allocating' ? ['allocating'] : NO_KEYS),
};

/** By project; those of none are under the empty key. */
export const FAILED_RESERVATIONS: Index<'reservation', Reservation> = {
  name: 'failed-reservations',
  kind: RESERVATION,
  keysOf: (doc) => (doc.state === 'error' ? [doc.project ?? ''] : NO_KEYS),
};

export const NODES_BY_SITE: Index<'node', Node> = {
  name: 'nodes-by-site',
  kind: NODE,
  keysOf: (doc) => (doc.site === undefined || doc.state === 'removed' ? [] : [doc.site]),
};

export const MANAGERS_BY_HOST: Index<'manager', Manager> = {
  name: 'managers-by-host',
  kind: MANAGER,
  keysOf: (doc) => (doc.host === undefined ? [] : [doc.host]),
};

export const BUCKETS = ['free', 'reserved', 'deploying', 'active', 'cleaning', 'unavailable'] as const;
export type Bucket = (typeof BUCKETS)[number];

/**
 * The one bucket that a node counts in; undefined for one that was removed. Free means seen available and on offer: one that a reservation holds
 * while its claim is under way is reserved, until the claim is settled or has been given back.
 */
export function bucketOf({ state, power, maintenance, instance, claimedFor }: Node): Bucket | undefined {
  switch (state) {
    case 'available':
      if (maintenance !== undefined || power === 'unknown' || instance !== undefined) return 'unavailable';
      return claimedFor === undefined ? 'free' : 'reserved';
    case 'clean-failed':
      return 'unavailable';
    case 'removed':
      return undefined;
    default:
      return state;
  }
}

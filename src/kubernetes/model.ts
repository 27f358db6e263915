// The documents of Kubernetes: clusters that exist already, and the workers that Muster brings into them and takes out. A worker is a Node and, where
// Muster has it, the instance that it runs on. Only transitions are kept: no heartbeat of a Node is ever committed.
import { Type, type Static } from 'typebox';
import { SEALED } from '../access/index.ts';
import { schemaKind, type Index } from '../fleet/index.ts';
import { PROJECT } from '../network/index.ts';

const CLOSED = { additionalProperties: false };
const CHANGED = { changedBy: Type.String(), changedAtMs: Type.Integer() };

/** A DNS label, which is what Nodes and clusters are named by. */
export const DNS_LABEL = Type.String({
  pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
  'x-form': 'a DNS label: lower-case letters, digits and - (at most 63), neither first nor last a -',
});

/**
 * `missing`: the cluster has no such Node. `replaced`: another Node has its name, and nothing shows that it is the same machine. `unknown`: its kubelet is silent, or
 * the cluster is.
 */
export const READINESS = ['ready', 'not-ready', 'unknown', 'missing', 'replaced'] as const;
export type Readiness = (typeof READINESS)[number];

/** `api`: a real cluster. `simulated`: documents of this journal stand for one. */
export const CLUSTER_KINDS = ['api', 'simulated'] as const;

/** How Muster gets to the machine of a worker to join it. `none`: it cannot; workers are adopted only. */
export const REACHES = ['none', 'simulated', 'ssh'] as const;

const DEADLINE_MS = Type.Integer({ minimum: 1000, maximum: 7 * 24 * 3600 * 1000 });

/** How pods are brought off a worker. */
export const DRAIN_POLICY_SCHEMA = Type.Object(
  {
    deadlineMs: DEADLINE_MS,
    /** Evict pods that nothing makes again. */
    evictBare: Type.Boolean(),
    /** Pods with data in an emptyDir block the drain. Otherwise they are evicted, and their data is lost. */
    keepEmptyDir: Type.Boolean(),
  },
  CLOSED,
);
export type DrainPolicy = Static<typeof DRAIN_POLICY_SCHEMA>;

export const DEFAULT_DRAIN_POLICY: DrainPolicy = { deadlineMs: 300_000, evictBare: false, keepEmptyDir: false };

/** What becomes of a worker whose host leaves: drained before its instance moves, or moved as it is. */
const WHEN_HOST_LEAVES = ['drain', 'move'] as const;

const DRAINS_AT_ONCE_MAX = 100;

/** Whether the cluster's API answers. */
export const CLUSTER_STATES = ['unknown', 'reachable', 'silent'] as const;
export type ClusterState = (typeof CLUSTER_STATES)[number];

export const CLUSTER_TRANSITIONS: Readonly<Record<ClusterState, readonly ClusterState[]>> = {
  unknown: ['unknown', 'reachable', 'silent'],
  reachable: ['reachable', 'silent'],
  silent: ['silent', 'reachable'],
};

const PORT_NUMBER = Type.Integer({ minimum: 1, maximum: 65_535 });
/** One public key, and the machines that it is of where the line names some. */
const HOST_KEY_LINE = Type.String({ maxLength: 1000 });

/** They are in the document of their cluster. */
const KNOWN_HOSTS_MAX = 20;

/** How the machines of workers are reached by SSH. */
export const SSH_SCHEMA = Type.Object(
  {
    user: Type.String({
      pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$',
      'x-form': 'a user of the machine: letters, digits and _ . - (at most 64)',
    }),
    port: PORT_NUMBER,
    /** The script is run by `sudo -n`, where the user is not root. */
    sudo: Type.Optional(Type.Literal(true)),
    /** In place of the address of the first NIC; `{node}` in it is the name of the Node. */
    address: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
    /** `pinned`: only those of `knownHosts`. `first-use`: the first that a machine shows is remembered with its worker. */
    hostKeys: Type.Enum(['pinned', 'first-use']),
    knownHosts: Type.Array(HOST_KEY_LINE, { maxItems: KNOWN_HOSTS_MAX }),
    proof: Type.Enum(['key', 'password']),
    /** JSON of the form in `machines/ssh/credentials.ts`. */
    credentials: SEALED,
  },
  CLOSED,
);
export type SshAccess = Static<typeof SSH_SCHEMA>;

/** `host:port`. */
export const JOIN_ENDPOINT = Type.String({
  maxLength: 300,
  pattern: '^([A-Za-z0-9.-]+|\\[[0-9a-fA-F:.]+\\]):[0-9]{1,5}$',
  'x-form': 'host:port',
});

const MISSING_PERMISSION = Type.Object(
  { verb: Type.String({ maxLength: 50 }), resource: Type.String({ maxLength: 100 }) },
  CLOSED,
);

export const CLUSTER_SCHEMA = Type.Object(
  {
    name: DNS_LABEL,
    kind: Type.Enum(CLUSTER_KINDS),
    site: Type.Optional(Type.String()),
    project: Type.Optional(PROJECT),
    /** The URL of the API. Absent for a simulated cluster. */
    endpoint: Type.Optional(Type.String({ maxLength: 500 })),
    /** PEM. The system's authorities count when there is none. */
    caCertificate: Type.Optional(Type.String({ maxLength: 20_000 })),
    tlsServerName: Type.Optional(Type.String({ maxLength: 253 })),
    skipTlsVerify: Type.Optional(Type.Literal(true)),
    /** What Muster proves itself by: JSON of the form in `cluster-api/client/access.ts`. */
    credentials: Type.Optional(SEALED),
    /** `host:port` for kubeadm on new workers; what the cluster publishes when it is absent. */
    joinEndpoint: Type.Optional(JOIN_ENDPOINT),
    publishedEndpoint: Type.Optional(Type.String({ maxLength: 300 })),
    caPin: Type.Optional(Type.String({ maxLength: 100 })),
    reach: Type.Enum(REACHES),
    /** Of a cluster that is reached so. */
    ssh: Type.Optional(SSH_SCHEMA),
    /** SHA-256 of the script of its own, where machines are not prepared by the one of Muster. */
    workerScript: Type.Optional(Type.String({ maxLength: 64 })),
    drainPolicy: DRAIN_POLICY_SCHEMA,
    whenHostLeaves: Type.Enum(WHEN_HOST_LEAVES),
    drainsAtOnce: Type.Integer({ minimum: 1, maximum: DRAINS_AT_ONCE_MAX }),
    state: Type.Enum(CLUSTER_STATES),
    sinceMs: Type.Integer(),
    version: Type.Optional(Type.String({ maxLength: 100 })),
    /** What Muster may not do there, as the cluster said last; absent when it does not say. */
    missingPermissions: Type.Optional(Type.Array(MISSING_PERMISSION, { maxItems: 50 })),
    ...CHANGED,
  },
  CLOSED,
);
export type Cluster = Static<typeof CLUSTER_SCHEMA>;
export const CLUSTER = schemaKind('cluster', CLUSTER_SCHEMA);

/** What an operation is to do with a worker. It is kept while that operation may still be retried. */
const WORK = Type.Object(
  {
    operation: Type.String(),
    policy: Type.Optional(DRAIN_POLICY_SCHEMA),
    /** Until when its join may last, from the time that it began. */
    joinByMs: Type.Optional(Type.Integer()),
    /** The operation that requested the work has the instance: it is not deleted. */
    keepsInstance: Type.Optional(Type.Literal(true)),
  },
  CLOSED,
);

/** What a machine proved itself by when it was reached first. */
const MACHINE_KEY = Type.Object(
  { key: Type.String({ maxLength: 3000 }), fingerprint: Type.String({ maxLength: 100 }), atMs: Type.Integer() },
  CLOSED,
);
export type MachineKey = Static<typeof MACHINE_KEY>;

/**
 * `building`: its instance is not active yet. `joining`: it is, and its Node is not Ready yet. `draining`, `drained`: as its operation left it.
 * `removing`: its Node goes, then its instance, then this document.
 */
export const WORKER_STATES = ['building', 'joining', 'in-service', 'draining', 'drained', 'removing'] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

export const WORKER_TRANSITIONS: Readonly<Record<WorkerState, readonly WorkerState[]>> = {
  building: ['building', 'joining', 'removing'],
  // One that joined and is not Ready is drained as well before it is removed.
  joining: ['joining', 'in-service', 'draining', 'removing'],
  // Drained at once where its Node is gone. It joins again when its instance is built anew.
  'in-service': ['in-service', 'draining', 'drained', 'joining'],
  // In service again when the drain is cancelled or the worker is given back.
  draining: ['draining', 'drained', 'in-service', 'joining'],
  drained: ['drained', 'draining', 'in-service', 'removing', 'joining'],
  // In service again when its removal is cancelled and its Node is left; drained anew when it is retried.
  removing: ['removing', 'draining', 'in-service'],
};

/** Why a pod keeps its node from being drained. Only a budget gives way by waiting. */
export const BLOCK_REASONS = ['bare', 'local-volume', 'two-budgets', 'empty-dir', 'budget'] as const;
export type BlockReason = (typeof BLOCK_REASONS)[number];

/** Whose cordon a Node has. What was there before stays when the cordon is taken back. */
const CORDON = Type.Object(
  {
    operation: Type.String(),
    atMs: Type.Integer(),
    /** An operator had cordoned it before. */
    wasUnschedulable: Type.Boolean(),
    wasExcluded: Type.Boolean(),
    /** Read back from the cluster. */
    isConfirmed: Type.Boolean(),
  },
  CLOSED,
);

/** Drained because its host leaves. It is given back where it runs afterwards. */
const LEAVING = Type.Object(
  {
    sinceMs: Type.Integer(),
    /** How often its drain has begun. */
    attempts: Type.Integer({ minimum: 1 }),
    /** Since when it may be evicted from: no more of its cluster at a time than `drainsAtOnce`. Until then it is cordoned only. */
    turnAtMs: Type.Optional(Type.Integer()),
  },
  CLOSED,
);

/** What can be done to the instance of a worker that ends or interrupts the worker. */
const DISRUPTIONS = ['delete', 'move', 'shelve', 'power-off'] as const;

/** An operator had its instance moved, stopped or deleted without a drain. */
const FORCED = Type.Object({ disruption: Type.Enum(DISRUPTIONS), by: Type.String(), atMs: Type.Integer() }, CLOSED);

export const WORKER_SCHEMA = Type.Object(
  {
    cluster: Type.String(),
    /** The name of its Node. */
    node: DNS_LABEL,
    /** Of the Node that was seen last; another Node of that name is not this worker. */
    nodeUid: Type.Optional(Type.String({ maxLength: 100 })),
    /** The instance that it runs on; absent when it was adopted without one. */
    instance: Type.Optional(Type.String()),
    isAdopted: Type.Optional(Type.Literal(true)),
    /** As its Node was seen last: it is not drained or removed by a request. */
    isControlPlane: Type.Optional(Type.Literal(true)),
    /** What its Node says of itself when it is this worker's; absent for one that was adopted. */
    providerId: Type.Optional(Type.String({ maxLength: 300 })),
    /** Remembered at first use. */
    machineKey: Type.Optional(MACHINE_KEY),
    state: Type.Enum(WORKER_STATES),
    stateSinceMs: Type.Integer(),
    readiness: Type.Enum(READINESS),
    readinessSinceMs: Type.Integer(),
    cordon: Type.Optional(CORDON),
    leaving: Type.Optional(LEAVING),
    forced: Type.Optional(FORCED),
    /** The operation that has it in hand, or had it last and failed. */
    work: Type.Optional(WORK),
    createdAtMs: Type.Integer(),
    ...CHANGED,
  },
  CLOSED,
);
export type Worker = Static<typeof WORKER_SCHEMA>;
/** Its id is `<cluster>.<node>`. */
export const WORKER = schemaKind('worker', WORKER_SCHEMA);

const NAME = Type.String({ maxLength: 253 });

const BLOCKER = Type.Object(
  {
    node: NAME,
    namespace: NAME,
    pod: NAME,
    reason: Type.Enum(BLOCK_REASONS),
    /** The names of the budgets, if it is those. */
    budget: Type.Optional(Type.String({ maxLength: 600 })),
  },
  CLOSED,
);
/** What keeps a node from being drained. */
export type Blocker = Static<typeof BLOCKER>;

/** So many are named; of the others there is a count. */
export const BLOCKERS_MAX = 100;

export const DRAIN_REPORT_SCHEMA = Type.Object(
  {
    cluster: Type.String(),
    operation: Type.String(),
    /** Pods that have to leave and are there still. */
    left: Type.Integer({ minimum: 0 }),
    /** Those of them that are on their way out. */
    terminating: Type.Integer({ minimum: 0 }),
    blockers: Type.Array(BLOCKER, { maxItems: BLOCKERS_MAX }),
    moreBlockers: Type.Integer({ minimum: 0 }),
    atMs: Type.Integer(),
  },
  CLOSED,
);
export type DrainReport = Static<typeof DRAIN_REPORT_SCHEMA>;
/** How far a drain is. Its id is the worker's. */
export const DRAIN_REPORT = schemaKind('drain-report', DRAIN_REPORT_SCHEMA);

export const WORKERS_BY_CLUSTER: Index<'worker', Worker> = {
  name: 'workers-by-cluster',
  kind: WORKER,
  keysOf: (doc) => [doc.cluster],
};

/** At most one worker is on an instance. */
export const WORKERS_BY_INSTANCE: Index<'worker', Worker> = {
  name: 'workers-by-instance',
  kind: WORKER,
  keysOf: (doc) => (doc.instance === undefined ? [] : [doc.instance]),
};

/** Those that are drained because their hosts leave. */
export const LEAVING_WORKERS_BY_CLUSTER: Index<'worker', Worker> = {
  name: 'leaving-workers-by-cluster',
  kind: WORKER,
  keysOf: (doc) => (doc.leaving === undefined ? [] : [doc.cluster]),
};

export const CLUSTERS_BY_SITE: Index<'cluster', Cluster> = {
  name: 'clusters-by-site',
  kind: CLUSTER,
  keysOf: (doc) => (doc.site === undefined ? [] : [doc.site]),
};

// Generated from docs/openapi.json by `npm run openapi`; do not edit.

/** GET /api/v1/hosts/{id}/agent-certificate */
export interface AgentCertificate {
  readonly host: string;
  readonly state: 'valid' | 'renewal-overdue' | 'none' | 'not-seen' | 'off';
  readonly expiresAtMs?: number;
}

/** GET /api/v1/alarms/{id} */
export interface Alarm {
  readonly id: string;
  readonly revision: number;
  readonly severity: 'warning' | 'critical';
  readonly site?: string;
  readonly reason: { readonly code: string };
  readonly sentence: string;
  readonly sinceMs: number;
}

/** GET /api/v1/scale-in/blocked */
export interface BlockedTenants {
  readonly revisions: { readonly first: number; readonly last: number };
  readonly count: number;
  readonly blocked: readonly {
    readonly host: string;
    readonly kind: string;
    readonly id: string;
    readonly reason: { readonly code: string };
    readonly sentence: string;
  }[];
}

/** GET /api/v1/capacity */
export interface Capacity {
  readonly total: number;
  readonly buckets: {
    readonly free: number;
    readonly reserved: number;
    readonly deploying: number;
    readonly active: number;
    readonly cleaning: number;
    readonly unavailable: number;
  };
  readonly stale?: { readonly inventories: readonly string[]; readonly sinceMs: number };
  readonly sites: readonly {
    readonly site?: string;
    readonly total: number;
    readonly buckets: {
      readonly free: number;
      readonly reserved: number;
      readonly deploying: number;
      readonly active: number;
      readonly cleaning: number;
      readonly unavailable: number;
    };
  }[];
  readonly resourceClasses: readonly {
    readonly resourceClass?: string;
    readonly total: number;
    readonly buckets: {
      readonly free: number;
      readonly reserved: number;
      readonly deploying: number;
      readonly active: number;
      readonly cleaning: number;
      readonly unavailable: number;
    };
  }[];
  readonly resourceClassesLeftOut?: number;
  readonly revision: number;
}

/** GET /api/v1/clusters/{id} */
export interface Cluster {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly kind: 'api' | 'simulated';
  readonly site?: string;
  readonly project?: string;
  readonly endpoint?: string;
  readonly caCertificate?: string;
  readonly tlsServerName?: string;
  readonly skipTlsVerify?: true;
  readonly joinEndpoint?: string;
  readonly publishedEndpoint?: string;
  readonly caPin?: string;
  readonly reach: 'none' | 'simulated' | 'ssh';
  readonly workerScript?: string;
  readonly drainPolicy: { readonly deadlineMs: number; readonly evictBare: boolean; readonly keepEmptyDir: boolean };
  readonly whenHostLeaves: 'drain' | 'move';
  readonly drainsAtOnce: number;
  readonly state: 'unknown' | 'reachable' | 'silent';
  readonly sinceMs: number;
  readonly version?: string;
  readonly missingPermissions?: readonly { readonly verb: string; readonly resource: string }[];
  readonly changedBy: string;
  readonly changedAtMs: number;
  readonly ssh?: {
    readonly user: string;
    readonly port: number;
    readonly sudo?: true;
    readonly address?: string;
    readonly hostKeys: 'pinned' | 'first-use';
    readonly knownHosts: readonly string[];
    readonly proof: 'key' | 'password';
  };
  readonly hasCredentials?: boolean;
}

/** GET /api/v1/history */
export interface Commit {
  readonly revision: number;
  readonly atMs: number;
  readonly by: string;
  readonly why?: string;
  readonly operation?: string;
  readonly changes: readonly {
    readonly kind: string;
    readonly id: string;
    readonly doc: Readonly<Record<string, unknown>> | null;
    readonly fields?: readonly { readonly field: string; readonly from?: unknown; readonly to?: unknown }[];
  }[];
}

/** POST /api/v1/instances */
export interface CreatedInstances {
  readonly operation: string;
  readonly instances: readonly string[];
}

/** GET /api/v1/hosts/{id}/dataplane */
export interface Dataplane {
  readonly host: string;
  readonly scope: 'host' | 'site';
  readonly excluded: boolean;
  readonly count: number;
  readonly flows: readonly {
    readonly table: number;
    readonly tableName: string;
    readonly priority: number;
    readonly match: string;
    readonly actions: string;
    readonly cookie: string;
    readonly owner: { readonly kind: 'host' | 'peer' | 'port' | 'domain' | 'router' | 'service'; readonly id: string };
    readonly reason: string;
    readonly sentence: string;
  }[];
  readonly groups: readonly {
    readonly id: number;
    readonly type: 'all' | 'indirect' | 'fast-failover';
    readonly buckets: readonly string[];
    readonly owner: { readonly kind: 'host' | 'peer' | 'port' | 'domain' | 'router' | 'service'; readonly id: string };
  }[];
  readonly tunnels: readonly { readonly peer: string; readonly address: string }[];
  readonly externalIds: Readonly<Record<string, string>>;
  readonly gaps: readonly {
    readonly owner: { readonly kind: 'host' | 'peer' | 'port' | 'domain' | 'router' | 'service'; readonly id: string };
    readonly reason: string;
    readonly what: string;
    readonly sentence: string;
  }[];
}

/** GET /api/v1/drain-reports/{id} */
export interface DrainReport {
  readonly id: string;
  readonly revision: number;
  readonly cluster: string;
  readonly operation: string;
  readonly left: number;
  readonly terminating: number;
  readonly blockers: readonly {
    readonly node: string;
    readonly namespace: string;
    readonly pod: string;
    readonly reason: 'bare' | 'local-volume' | 'two-budgets' | 'empty-dir' | 'budget';
    readonly budget?: string;
  }[];
  readonly moreBlockers: number;
  readonly atMs: number;
}

/** POST /api/v1/nodes/bulk */
export interface EnrolledNodes {
  readonly lines: number;
  readonly created: number;
  readonly revived: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly warnings: readonly { readonly line: number; readonly node: string; readonly message: string }[];
}

/** GET /api/v1/flavors/{id} */
export interface Flavor {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly vcpus: number;
  readonly memoryMiB: number;
  readonly diskGiB: number;
  readonly resources?: Readonly<Record<string, number>>;
  readonly requiredTraits: readonly string[];
  readonly forbiddenTraits: readonly string[];
  readonly bareMetal?: {
    readonly ephemeralGiB?: number;
    readonly swapMiB?: number;
    readonly rxtxFactor?: number;
    readonly extraSpecs?: Readonly<Record<string, string>>;
  };
  readonly changedBy: string;
  readonly changedAtMs: number;
}

/** GET /api/v1/floating-addresses/{id} */
export interface FloatingAddress {
  readonly id: string;
  readonly revision: number;
  readonly project: string;
  readonly network: string;
  readonly outside: { readonly port: string; readonly ip: string };
  readonly inside?: { readonly port: string; readonly ip: string; readonly router: string };
  readonly changedBy: string;
  readonly changedAtMs: number;
}

/** GET /api/v1/gates */
export interface Gates {
  readonly minimumVersion: number;
  readonly create: { readonly open: boolean; readonly needs: number; readonly below: number };
  readonly bind: { readonly open: boolean; readonly needs: number; readonly below: number };
  readonly credentials: boolean;
  readonly path: { readonly create: 'conductor' | 'host'; readonly bind: 'conductor' | 'host' };
}

/** GET /api/v1/groups/{id} */
export interface ServerGroup {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly project: string;
  readonly policy: 'affinity' | 'anti-affinity' | 'soft-affinity' | 'soft-anti-affinity';
  readonly movesAtOnce?: number;
  readonly changedBy: string;
  readonly changedAtMs: number;
}

/** GET /api/v1/hosts/{id} */
export interface Host {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly site: string;
  readonly zone: string;
  readonly aggregates: readonly string[];
  readonly capacity: {
    readonly vcpus: number;
    readonly memoryMiB: number;
    readonly diskGiB: number;
    readonly ratios: { readonly vcpus: number; readonly memory: number; readonly disk: number };
  };
  readonly traits: readonly string[];
  readonly physicalNetworks: readonly string[];
  readonly tunnelAddress?: string;
  readonly baseWeight: number;
  readonly resources?: Readonly<Record<string, number>>;
  readonly bindsAt?: 'conductor' | 'driver';
  readonly transportZone?: string;
  readonly switch?: { readonly datapathId?: string; readonly systemId?: string; readonly bridge?: string };
  readonly leaving?: {
    readonly operation: string;
    readonly drain: boolean;
    readonly by: string;
    readonly why?: string;
    readonly atMs: number;
    readonly rebuilt?: boolean;
    readonly failBack?: boolean;
    readonly forced?: { readonly reason: string; readonly by: string; readonly atMs: number };
  };
  readonly quarantined?: {
    readonly because: 'removed' | 'operator-fenced' | 'identity';
    readonly as?: string;
    readonly atMs: number;
  };
  readonly degraded?: readonly {
    readonly type: 'switch' | 'instance-runtime' | 'agent';
    readonly code: string;
    readonly message: string;
    readonly cannotServe?: boolean;
    readonly sinceMs: number;
    readonly sentence: string;
  }[];
  readonly strays?: { readonly names: readonly string[]; readonly count: number; readonly sinceMs: number };
  readonly readmitted?: boolean;
  readonly enabled: boolean;
  readonly disabled?: { readonly reason: string; readonly by: string; readonly atMs: number };
  readonly forcedDown?: { readonly reason: string; readonly by: string; readonly atMs: number };
  readonly state: 'joining' | 'active' | 'draining' | 'drained' | 'finalizing' | 'removed' | 'recovering';
  readonly tombstoned: boolean;
  readonly connection: { readonly state: 'unknown' | 'up' | 'suspect' | 'down'; readonly sinceMs: number };
  readonly serviceVersion: number;
  readonly joinedAtMs?: number;
  readonly changedBy: string;
  readonly changedAtMs: number;
  readonly unready?: readonly { readonly service: string; readonly because: string; readonly operation: string }[];
}

/** GET /api/v1/hosts/{id}/segments */
export interface HostSegment {
  readonly segment: string;
  readonly network: string;
  readonly physicalNetwork?: string;
}

/** GET /api/v1/hosts/{id}/tenants */
export interface HostTenants {
  readonly host: string;
  readonly count: number;
  readonly tenants: readonly {
    readonly kind: string;
    readonly id: string;
    readonly evacuation: {
      readonly kind: 'move' | 'drain' | 'rebuild' | 'ends' | 'wait';
      readonly how?: string;
      readonly to?: string;
      readonly reason?: { readonly code: string };
      readonly sentence?: string;
    };
  }[];
}

/** GET /api/v1/instances/{id} */
export interface Instance {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly project: string;
  readonly flavor: string;
  readonly amounts: {
    readonly vcpus: number;
    readonly memoryMiB: number;
    readonly diskGiB: number;
    readonly resources?: Readonly<Record<string, number>>;
  };
  readonly image?: string;
  readonly imageProperties?: Readonly<Record<string, string>>;
  readonly place: {
    readonly site?: string;
    readonly zone?: string;
    readonly aggregates?: readonly string[];
    readonly requiredTraits?: readonly string[];
    readonly forbiddenTraits?: readonly string[];
    readonly group?: string;
    readonly onlyHost?: string;
  };
  readonly state: 'building' | 'active' | 'moving' | 'rebuilding' | 'shelving' | 'shelved' | 'deleting' | 'error';
  readonly builder?: string;
  readonly host?: string;
  readonly node?: string;
  readonly site?: string;
  readonly power?: 'on' | 'off';
  readonly nics: readonly { readonly port: string; readonly network: string }[];
  readonly path: { readonly create: 'conductor' | 'host'; readonly bind: 'conductor' | 'host' };
  readonly together?: { readonly minimum: number };
  readonly attempts: readonly {
    readonly nth: number;
    readonly host?: string;
    readonly site?: string;
    readonly manager?: string;
    readonly node?: string;
    readonly pools: readonly string[];
    readonly fault?: string;
    readonly excludes?: 'host' | 'pool' | 'node' | 'none';
    readonly excludedPool?: string;
    readonly text?: string;
    readonly atMs: number;
  }[];
  readonly attemptsMax: number;
  readonly move?: {
    readonly operation: string;
    readonly kind: 'live' | 'cold';
    readonly from: string;
    readonly origin?: string;
    readonly movedOff?: readonly string[];
    readonly target?: string;
    readonly tries: readonly {
      readonly nth: number;
      readonly host?: string;
      readonly site?: string;
      readonly manager?: string;
      readonly node?: string;
      readonly pools: readonly string[];
      readonly fault?: string;
      readonly excludes?: 'host' | 'pool' | 'node' | 'none';
      readonly excludedPool?: string;
      readonly text?: string;
      readonly atMs: number;
    }[];
  };
  readonly ended?: {
    readonly host: string;
    readonly reportedMs: number;
    readonly atMs: number;
    readonly times: number;
    readonly runsAgain: boolean;
  };
  readonly rebuiltFrom?: 'active' | 'error';
  readonly wasActive: boolean;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly changedBy: string;
  readonly changedAtMs: number;
  readonly fault?: {
    readonly code: string;
    readonly message: string;
    readonly atMs: number;
    readonly report?: {
      readonly hosts: number;
      readonly stages: readonly {
        readonly filter: string;
        readonly before: number;
        readonly after: number;
        readonly cause?: string;
        readonly facts?: Readonly<Record<string, string | number>>;
        readonly sentence?: string;
      }[];
    };
    readonly nodes?: readonly { readonly stage: string; readonly left: number }[];
  };
  readonly degraded?: {
    readonly code: string;
    readonly message: string;
    readonly sinceMs: number;
    readonly operation?: string;
    readonly lastTry?: string;
    readonly ports: readonly {
      readonly port: string;
      readonly nic: number;
      readonly network: string;
      readonly trouble: 'unbound' | 'not-plugged' | 'unplugged' | 'plug-failed';
    }[];
  };
  readonly nodeStatus?: {
    readonly state: string;
    readonly power: string;
    readonly epoch: number;
    readonly manager?: string;
  };
  readonly ports: readonly {
    readonly id: string;
    readonly revision: number;
    readonly name?: string;
    readonly network: string;
    readonly project: string;
    readonly createdBy: 'user' | 'muster';
    readonly state: 'wanted' | 'made' | 'releasing';
    readonly mac: string;
    readonly instance?: string;
    readonly nic?: number;
    readonly tag?: string;
    readonly usedBy?: { readonly kind: 'router' | 'floating-address'; readonly id: string };
    readonly ipAllocation: 'immediate' | 'deferred' | 'none';
    readonly addresses: readonly {
      readonly ip: string;
      readonly subnet: string;
      readonly chosenBy: 'user' | 'create' | 'bind';
    }[];
    readonly binding?: {
      readonly host?: string;
      readonly node?: string;
      readonly serial: number;
      readonly segment?: string;
      readonly type: string;
    };
    readonly serial: number;
    readonly portSecurity: boolean;
    readonly securityGroups: readonly string[];
    readonly qosPolicy?: string;
    readonly minBandwidthKbps?: number;
    readonly pciRequest?: string;
    readonly dnsName?: string;
    readonly changedBy: string;
    readonly changedAtMs: number;
    readonly attached: boolean;
  }[];
}

/** POST /api/v1/instances/{id}/move */
export interface InstanceOperation {
  readonly operation: string;
}

/** GET /api/v1/operation-items */
export interface Item {
  readonly id: string;
  readonly revision: number;
  readonly operation: string;
  readonly target: { readonly kind: string; readonly id: string };
  readonly host?: string;
  readonly assignee?: string;
  readonly step: string;
  readonly state: 'pending' | 'running' | 'waiting' | 'done' | 'failed' | 'cancelled';
  readonly reason?: { readonly code: string };
  readonly sentence?: string;
  readonly attempt: number;
  readonly sinceMs: number;
  readonly retryAtMs?: number;
}

/** POST /api/v1/hosts/{id}/join-token */
export interface JoinToken {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly role: 'viewer' | 'operator' | 'admin' | 'agent' | 'join' | 'manager';
  readonly site?: string;
  readonly project?: string;
  readonly host?: string;
  readonly manager?: string;
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly expiresAtMs?: number;
  readonly revoked?: { readonly atMs: number; readonly by: string };
  readonly consumed?: { readonly atMs: number; readonly token: string };
  readonly secret?: string;
  readonly note?: string;
}

/** GET /api/v1/inventories/{id} */
export interface Inventory {
  readonly id: string;
  readonly revision: number;
  readonly name: 'simulated' | 'ironic';
  readonly claims?: 'inline' | 'endpoint' | 'direct';
  readonly pass?: { readonly beganAtMs: number; readonly endedAtMs: number; readonly nodes: number };
  readonly unreachable?: { readonly sinceMs: number; readonly text: string };
}

/** POST /api/v1/hosts */
export interface JoiningHosts {
  readonly operation: string;
  readonly count: number;
}

/** GET /api/v1/workers/{id}/log */
export interface MachineLog {
  readonly worker: string;
  readonly operation: string;
  readonly text: string;
  readonly isCut: boolean;
  readonly exitCode?: number;
  readonly atMs: number;
}

/** GET /api/v1/managers/{manager} */
export interface Manager {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly version: string;
  readonly host?: string;
  readonly site?: string;
  readonly state: 'live' | 'draining' | 'lost' | 'stopped';
  readonly draining?: {
    readonly by: string;
    readonly atMs: number;
    readonly host?: string;
    readonly emptyAtMs?: number;
  };
  readonly embedded?: true;
  readonly paused?: { readonly by: string; readonly atMs: number };
  readonly holder: string;
  readonly leaseEpoch: number;
  readonly sinceMs: number;
  readonly changedBy: string;
  readonly changedAtMs: number;
  readonly total?: number;
  readonly usedHere?: number;
  readonly free?: number;
  readonly staleSinceMs?: number;
}

/** POST /api/v1/services/{id}/move */
export interface MovedService {
  readonly operation?: string;
  readonly service: string;
  readonly to: string;
}

/** GET /api/v1/networks/{id} */
export interface Network {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly project: string;
  readonly backEnd: 'embedded' | 'host-local' | 'simulated' | 'simulated-single';
  readonly shared: boolean;
  readonly external: boolean;
  readonly portSecurity: boolean;
  readonly qosPolicy?: string;
  readonly minBandwidthKbps?: number;
  readonly changedBy: string;
  readonly changedAtMs: number;
}

/** GET /api/v1/networks/{id}/stock */
export interface NetworkStock {
  readonly network: string;
  readonly stock: readonly {
    readonly pool: string;
    readonly segment?: string;
    readonly version: 4 | 6;
    readonly total: string;
    readonly held: string;
    readonly claimed: string;
    readonly free: string;
  }[];
  readonly revision: number;
}

/** GET /api/v1/nodes/{id} */
export interface Node {
  readonly id: string;
  readonly revision: number;
  readonly name?: string;
  readonly inventory: 'simulated' | 'ironic';
  readonly resourceClass?: string;
  readonly traits: readonly string[];
  readonly memoryMiB: number;
  readonly cpus: number;
  readonly localGiB: number;
  readonly cpuArch?: string;
  readonly capabilities?: string;
  readonly site?: string;
  readonly physicalNetworks: readonly string[];
  readonly owner?: string;
  readonly lessee?: string;
  readonly state:
    'available' | 'reserved' | 'deploying' | 'active' | 'cleaning' | 'clean-failed' | 'unavailable' | 'removed';
  readonly power: 'on' | 'off' | 'unknown';
  readonly maintenance?: { readonly reason: string; readonly by: string; readonly atMs: number };
  readonly epoch: number;
  readonly instance?: string;
  readonly claimedFor?: string;
  readonly manager?: string;
  readonly managerEpoch?: number;
  readonly dirty?: true;
  readonly fault?: { readonly code: string; readonly message: string; readonly atMs: number };
  readonly absent?: { readonly sinceMs: number; readonly lastSeenAtMs?: number };
  readonly changedBy: string;
  readonly changedAtMs: number;
  readonly bucket?: 'free' | 'reserved' | 'deploying' | 'active' | 'cleaning' | 'unavailable';
  readonly lastSeenAtMs?: number;
  readonly warnings?: readonly string[];
}

/** GET /api/v1/operations/{id} */
export interface Operation {
  readonly id: string;
  readonly revision: number;
  readonly kind: string;
  readonly title: string;
  readonly state: 'running' | 'cancelling' | 'succeeded' | 'failed' | 'cancelled';
  readonly by: string;
  readonly why?: string;
  readonly site?: string;
  readonly project?: string;
  readonly within?: string;
  readonly createdAtMs: number;
  readonly deadlineMs: number;
  readonly deadlineAtMs: number;
  readonly finishedAtMs?: number;
  readonly counts: {
    readonly pending: number;
    readonly running: number;
    readonly waiting: number;
    readonly done: number;
    readonly failed: number;
    readonly cancelled: number;
  };
  readonly reason?: { readonly code: string };
  readonly sentence?: string;
  readonly stopped?: boolean;
}

/** POST /api/v1/instances/preview */
export interface Placement {
  readonly count: number;
  readonly placed: number;
  readonly places?: readonly {
    readonly name: string;
    readonly host?: string;
    readonly manager?: string;
    readonly pools: readonly string[];
  }[];
  readonly report?: {
    readonly hosts: number;
    readonly stages: readonly {
      readonly filter: string;
      readonly before: number;
      readonly after: number;
      readonly cause?: string;
      readonly facts?: Readonly<Record<string, string | number>>;
      readonly sentence?: string;
    }[];
  };
  readonly nodes?: readonly { readonly stage: string; readonly left: number }[];
}

/** GET /api/v1/ports/{id} */
export interface Port {
  readonly id: string;
  readonly revision: number;
  readonly name?: string;
  readonly network: string;
  readonly project: string;
  readonly createdBy: 'user' | 'muster';
  readonly state: 'wanted' | 'made' | 'releasing';
  readonly mac: string;
  readonly instance?: string;
  readonly nic?: number;
  readonly tag?: string;
  readonly usedBy?: { readonly kind: 'router' | 'floating-address'; readonly id: string };
  readonly ipAllocation: 'immediate' | 'deferred' | 'none';
  readonly addresses: readonly {
    readonly ip: string;
    readonly subnet: string;
    readonly chosenBy: 'user' | 'create' | 'bind';
  }[];
  readonly binding?: {
    readonly host?: string;
    readonly node?: string;
    readonly serial: number;
    readonly segment?: string;
    readonly type: string;
  };
  readonly serial: number;
  readonly portSecurity: boolean;
  readonly securityGroups: readonly string[];
  readonly qosPolicy?: string;
  readonly minBandwidthKbps?: number;
  readonly pciRequest?: string;
  readonly dnsName?: string;
  readonly changedBy: string;
  readonly changedAtMs: number;
  readonly attached: boolean;
}

/** GET /api/v1/quotas/{id} */
export interface Quota {
  readonly id: string;
  readonly revision: number;
  readonly project: string;
  readonly instances?: number;
  readonly vcpus?: number;
  readonly memoryMiB?: number;
  readonly ports?: number;
  readonly changedBy: string;
  readonly changedAtMs: number;
  readonly used: {
    readonly instances: number;
    readonly vcpus: number;
    readonly memoryMiB: number;
    readonly ports: number;
  };
}

/** POST /api/v1/services/rebalance */
export interface RebalancedServices {
  readonly operation?: string;
  readonly moves: readonly { readonly service: string; readonly from: string; readonly to: string }[];
  readonly more: boolean;
}

/** DELETE /api/v1/reservations/{id} */
export interface ReleasedReservation {
  readonly state: 'released' | 'releasing';
  readonly operation?: string;
}

/** GET /api/v1/reservations/{id} */
export interface Reservation {
  readonly id: string;
  readonly revision: number;
  readonly instance: string;
  readonly manager: string;
  readonly project?: string;
  readonly site?: string;
  readonly state: 'allocating' | 'active' | 'releasing' | 'error';
  readonly request: Readonly<Record<string, unknown>>;
  readonly ignored: readonly string[];
  readonly node?: string;
  readonly nodeEpoch?: number;
  readonly traits?: readonly string[];
  readonly operation?: string;
  readonly reason?: { readonly code: string; readonly message: string };
  readonly createdAtMs: number;
  readonly failedAtMs?: number;
  readonly changedBy: string;
  readonly changedAtMs: number;
  readonly stages?: readonly { readonly stage: string; readonly left: number; readonly sentence: string }[];
}

/** POST /api/v1/sealing-keys/reseal */
export interface ResealedSecrets {
  readonly resealed: number;
  readonly left: number;
}

/** GET /api/v1/routers/{id} */
export interface Router {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly project: string;
  readonly subnets: readonly string[];
  readonly externalNetwork?: string;
  readonly nat?: { readonly port: string; readonly ip: string };
  readonly changedBy: string;
  readonly changedAtMs: number;
}

/** POST /api/v1/scale-in/start */
export interface ScaleInAnswer {
  readonly operation?: string;
  readonly hosts: readonly {
    readonly host: string;
    readonly name?: string;
    readonly result: 'accepted' | 'unchanged' | 'unknown' | 'wrong-state' | 'blocked';
    readonly operation?: string;
    readonly reason?: { readonly code: string };
    readonly sentence?: string;
    readonly blockers?: readonly { readonly code: string; readonly sentence: string }[];
  }[];
}

/** POST /api/v1/scale-in/preview */
export interface ScaleInPreview {
  readonly revisions: { readonly first: number; readonly last: number };
  readonly plan: string;
  readonly hosts: readonly {
    readonly host: string;
    readonly state: 'joining' | 'active' | 'draining' | 'drained' | 'finalizing' | 'removed' | 'recovering';
    readonly connection: 'unknown' | 'up' | 'suspect' | 'down';
    readonly underWay: number;
    readonly strays?: { readonly names: readonly string[]; readonly count: number; readonly sinceMs: number };
    readonly count: number;
    readonly tenants: readonly {
      readonly kind: string;
      readonly id: string;
      readonly evacuation: {
        readonly kind: 'move' | 'drain' | 'rebuild' | 'ends' | 'wait';
        readonly how?: string;
        readonly to?: string;
        readonly reason?: { readonly code: string };
        readonly sentence?: string;
      };
    }[];
    readonly touches: {
      readonly tunnels: number;
      readonly flows: number;
      readonly groups: number;
      readonly services: number;
      readonly byPeer: readonly {
        readonly host: string;
        readonly flows: number;
        readonly services: readonly string[];
      }[];
    };
  }[];
  readonly counts: {
    readonly tenants: number;
    readonly moves: number;
    readonly drains: number;
    readonly blocked: number;
    readonly designations: number;
    readonly ends: number;
  };
  readonly blocked: readonly {
    readonly host: string;
    readonly kind: string;
    readonly id: string;
    readonly reason: { readonly code: string };
    readonly sentence: string;
  }[];
  readonly designations: readonly {
    readonly kind: string;
    readonly id: string;
    readonly from: string;
    readonly to?: string;
  }[];
  readonly loads: {
    readonly hosts: number;
    readonly busiest: readonly {
      readonly host: string;
      readonly before: Readonly<Record<string, number>>;
      readonly after: Readonly<Record<string, number>>;
    }[];
  };
  readonly interruptions: readonly {
    readonly kind: string;
    readonly by: 'move' | 'drain' | 'rebuild' | 'ends' | 'wait';
    readonly how?: string;
    readonly count: number;
    readonly interruption: 'none' | 'brief' | 'restart' | 'ends';
  }[];
  readonly estimate: {
    readonly durationMs: number;
    readonly moves: number;
    readonly drains: number;
    readonly assuming: readonly {
      readonly kind: string;
      readonly moves: number;
      readonly drains?: number;
      readonly eachMs: number;
      readonly measuredOver?: number;
    }[];
    readonly budgets: { readonly movesAtOnce: number; readonly movesPerHostAtOnce: number };
  };
}

/** GET /api/v1/scale-in */
export interface ScaleInStatus {
  readonly count: number;
  readonly hosts: readonly {
    readonly host: string;
    readonly site: string;
    readonly state: 'joining' | 'active' | 'draining' | 'drained' | 'finalizing' | 'removed' | 'recovering';
    readonly connection: 'unknown' | 'up' | 'suspect' | 'down';
    readonly drain: boolean;
    readonly by?: string;
    readonly why?: string;
    readonly sinceMs?: number;
    readonly forced?: string;
    readonly left: Readonly<Record<string, number>>;
    readonly strays?: { readonly names: readonly string[]; readonly count: number; readonly sinceMs: number };
    readonly underWay: number;
    readonly operation?: string;
    readonly step?: string;
    readonly reason?: { readonly code: string };
    readonly sentence?: string;
  }[];
  readonly pendingCleanUpCount: number;
  readonly pendingCleanUps: readonly { readonly peer: string; readonly host: string; readonly sinceMs: number }[];
}

/** GET /api/v1/sealing-keys */
export interface SealingKey {
  readonly id: string;
  readonly use: 'current' | 'earlier' | 'missing';
  readonly secrets: number;
}

/** GET /api/v1/segments/{id} */
export interface Segment {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly network: string;
  readonly type: 'flat' | 'vlan' | 'vxlan' | 'gre' | 'geneve';
  readonly physicalNetwork?: string;
  readonly segmentationId?: number;
  readonly dynamic: boolean;
  readonly changedBy: string;
  readonly changedAtMs: number;
}

/** GET /api/v1/services/{id} */
export interface Service {
  readonly id: string;
  readonly revision: number;
  readonly type: 'nat' | 'subnet-route' | 'dhcp';
  readonly subject: string;
  readonly exclusion: 'soft' | 'hard';
  readonly onControlLoss: 'move' | 'hold';
  readonly epoch: number;
  readonly designated?: { readonly host: string; readonly sinceMs: number; readonly degraded?: true };
  readonly standby?: string;
  readonly handover?: {
    readonly operation: string;
    readonly from: string;
    readonly to: string;
    readonly phase: 'preparing' | 'syncing' | 'switched' | 'retiring' | 'resyncing' | 'draining';
    readonly why: {
      readonly cause:
        | 'first-election'
        | 'host-lost'
        | 'data-path-lost'
        | 'host-leaving'
        | 'presence-gone'
        | 'host-unfit'
        | 'fail-back'
        | 'rebalance'
        | 'asked-for'
        | 'recovered';
      readonly lost?: 'silent' | 'bfd-down' | 'forced-down' | 'quarantined' | 'removed';
      readonly kept?: true;
      readonly chosen?: string;
      readonly candidates: readonly { readonly host: string; readonly score: number }[];
      readonly candidatesInAll: number;
      readonly rejected: readonly {
        readonly host: string;
        readonly because:
          | 'unknown-host'
          | 'removed'
          | 'not-in-service'
          | 'tombstoned'
          | 'quarantined'
          | 'not-connected'
          | 'switch-out-of-control'
          | 'no-datapath-id'
          | 'no-tunnel-address'
          | 'no-transport-zone'
          | 'agent-too-old'
          | 'no-way-out'
          | 'bfd-down';
      }[];
      readonly rejectedInAll: number;
      readonly atMs: number;
    };
    readonly sinceMs: number;
  };
  readonly cameFrom?: { readonly host: string; readonly operation: string; readonly back?: true };
  readonly why?: {
    readonly cause:
      | 'first-election'
      | 'host-lost'
      | 'data-path-lost'
      | 'host-leaving'
      | 'presence-gone'
      | 'host-unfit'
      | 'fail-back'
      | 'rebalance'
      | 'asked-for'
      | 'recovered';
    readonly lost?: 'silent' | 'bfd-down' | 'forced-down' | 'quarantined' | 'removed';
    readonly kept?: true;
    readonly chosen?: string;
    readonly candidates: readonly { readonly host: string; readonly score: number }[];
    readonly candidatesInAll: number;
    readonly rejected: readonly {
      readonly host: string;
      readonly because:
        | 'unknown-host'
        | 'removed'
        | 'not-in-service'
        | 'tombstoned'
        | 'quarantined'
        | 'not-connected'
        | 'switch-out-of-control'
        | 'no-datapath-id'
        | 'no-tunnel-address'
        | 'no-transport-zone'
        | 'agent-too-old'
        | 'no-way-out'
        | 'bfd-down';
    }[];
    readonly rejectedInAll: number;
    readonly atMs: number;
  };
  readonly changedBy: string;
  readonly changedAtMs: number;
  readonly whySentences: readonly string[];
}

/** GET /api/v1/services/{id}/why */
export interface ServiceReasons {
  readonly service: string;
  readonly epoch: number;
  readonly designated?: { readonly host: string; readonly sinceMs: number; readonly degraded?: true };
  readonly why?: {
    readonly cause:
      | 'first-election'
      | 'host-lost'
      | 'data-path-lost'
      | 'host-leaving'
      | 'presence-gone'
      | 'host-unfit'
      | 'fail-back'
      | 'rebalance'
      | 'asked-for'
      | 'recovered';
    readonly lost?: 'silent' | 'bfd-down' | 'forced-down' | 'quarantined' | 'removed';
    readonly kept?: true;
    readonly chosen?: string;
    readonly candidates: readonly { readonly host: string; readonly score: number }[];
    readonly candidatesInAll: number;
    readonly rejected: readonly {
      readonly host: string;
      readonly because:
        | 'unknown-host'
        | 'removed'
        | 'not-in-service'
        | 'tombstoned'
        | 'quarantined'
        | 'not-connected'
        | 'switch-out-of-control'
        | 'no-datapath-id'
        | 'no-tunnel-address'
        | 'no-transport-zone'
        | 'agent-too-old'
        | 'no-way-out'
        | 'bfd-down';
    }[];
    readonly rejectedInAll: number;
    readonly atMs: number;
  };
  readonly now: {
    readonly candidates: readonly { readonly host: string; readonly score: number }[];
    readonly candidatesInAll: number;
    readonly rejected: readonly {
      readonly host: string;
      readonly because:
        | 'unknown-host'
        | 'removed'
        | 'not-in-service'
        | 'tombstoned'
        | 'quarantined'
        | 'not-connected'
        | 'switch-out-of-control'
        | 'no-datapath-id'
        | 'no-tunnel-address'
        | 'no-transport-zone'
        | 'agent-too-old'
        | 'no-way-out'
        | 'bfd-down';
    }[];
    readonly rejectedInAll: number;
  };
  readonly sentences: readonly string[];
}

/** GET /api/v1/settings/{name} */
export interface Setting {
  readonly name: string;
  readonly about: string;
  readonly value: unknown;
  readonly default: unknown;
  readonly schema: unknown;
  readonly revision?: number;
  readonly changedBy?: string;
  readonly changedAtMs?: number;
}

/** GET /api/v1/sites/{id} */
export interface Site {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly description?: string;
  readonly changedBy: string;
  readonly changedAtMs: number;
}

/** GET /api/v1/subnets/{id} */
export interface Subnet {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly network: string;
  readonly segment?: string;
  readonly cidr: string;
  readonly version: 4 | 6;
  readonly gateway?: string;
  readonly pools: readonly { readonly first: string; readonly last: string }[];
  readonly dhcp?: true;
  readonly changedBy: string;
  readonly changedAtMs: number;
}

/** POST /api/v1/tokens */
export interface Token {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly role: 'viewer' | 'operator' | 'admin' | 'agent' | 'join' | 'manager';
  readonly site?: string;
  readonly project?: string;
  readonly host?: string;
  readonly manager?: string;
  readonly createdAtMs: number;
  readonly createdBy: string;
  readonly expiresAtMs?: number;
  readonly revoked?: { readonly atMs: number; readonly by: string };
  readonly consumed?: { readonly atMs: number; readonly token: string };
  readonly secret?: string;
  readonly note?: string;
}

/** GET /api/v1/transport-zones/{id} */
export interface TransportZone {
  readonly id: string;
  readonly revision: number;
  readonly name: string;
  readonly mesh: 'full' | 'needed';
  readonly changedBy: string;
  readonly changedAtMs: number;
}

/** POST /api/v1/clusters/{id}/workers/preview */
export interface WorkerPreview {
  readonly worker: string;
  readonly node: string;
  readonly readiness: 'ready' | 'not-ready' | 'unknown' | 'missing' | 'replaced';
  readonly isUnschedulable: boolean;
  readonly isBlocked: boolean;
  readonly pods: readonly {
    readonly namespace: string;
    readonly pod: string;
    readonly fate: 'evict' | 'terminating' | 'stays' | 'later' | 'never';
    readonly why?: string;
    readonly budget?: string;
    readonly losesEmptyDir?: true;
    readonly graceSeconds?: number;
  }[];
}

/** GET /api/v1/workers/{id} */
export interface Worker {
  readonly id: string;
  readonly revision: number;
  readonly cluster: string;
  readonly node: string;
  readonly nodeUid?: string;
  readonly instance?: string;
  readonly isAdopted?: true;
  readonly isControlPlane?: true;
  readonly providerId?: string;
  readonly machineKey?: { readonly key: string; readonly fingerprint: string; readonly atMs: number };
  readonly state: 'building' | 'joining' | 'in-service' | 'draining' | 'drained' | 'removing';
  readonly stateSinceMs: number;
  readonly readiness: 'ready' | 'not-ready' | 'unknown' | 'missing' | 'replaced';
  readonly readinessSinceMs: number;
  readonly cordon?: {
    readonly operation: string;
    readonly atMs: number;
    readonly wasUnschedulable: boolean;
    readonly wasExcluded: boolean;
    readonly isConfirmed: boolean;
  };
  readonly leaving?: { readonly sinceMs: number; readonly attempts: number; readonly turnAtMs?: number };
  readonly forced?: {
    readonly disruption: 'delete' | 'move' | 'shelve' | 'power-off';
    readonly by: string;
    readonly atMs: number;
  };
  readonly work?: {
    readonly operation: string;
    readonly policy?: { readonly deadlineMs: number; readonly evictBare: boolean; readonly keepEmptyDir: boolean };
    readonly joinByMs?: number;
    readonly keepsInstance?: true;
  };
  readonly createdAtMs: number;
  readonly changedBy: string;
  readonly changedAtMs: number;
}

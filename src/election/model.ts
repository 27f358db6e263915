// Network services (NAT, routes, DHCP) and the host designated for each. A service exists with its subject and has at most one designated host;
// its epoch only grows, so that work for an older designation is refused.
import { Type, type Static } from 'typebox';
import { schemaKind, type Id, type Index, type Stored } from '../fleet/index.ts';

const CLOSED = { additionalProperties: false };

export const SERVICE_TYPES = ['nat', 'subnet-route', 'dhcp'] as const;
export type ServiceType = (typeof SERVICE_TYPES)[number];

/** The operator's settings of a service. */
export const SERVICE_FACTS = {
  /** When only leaving hosts are candidates: `soft` keeps it there, degraded, until they end; `hard` withdraws it. */
  exclusion: Type.Enum(['soft', 'hard']),
  /** When control of its host is lost while peers report its BFD up: `move` elects another, `hold` waits. */
  onControlLoss: Type.Enum(['move', 'hold']),
};

/** Enough to answer "why this one"; counts cover the rest. */
export const WHY_LISTED_MAX = 10;

/** Rejections of a host, in the order in which they are checked. */
export const REJECTIONS = [
  'unknown-host',
  'removed',
  'not-in-service',
  'tombstoned',
  'quarantined',
  'not-connected',
  'switch-out-of-control',
  'no-datapath-id',
  'no-tunnel-address',
  'no-transport-zone',
  'agent-too-old',
  'no-way-out',
  'bfd-down',
] as const;
export type CandidateRejection = (typeof REJECTIONS)[number];

/**
 * The cause of an election. `recovered`: it was not served, and there is a candidate again. `presence-gone`: its host has nothing of the
 * subject any more. `data-path-lost`: its switch is out of control, and forwards nothing. `host-unfit`: its host is connected and cannot
 * serve any more, for example without a tunnel address.
 */
export const CAUSES = [
  'first-election',
  'host-lost',
  'data-path-lost',
  'host-leaving',
  'presence-gone',
  'host-unfit',
  'fail-back',
  'rebalance',
  'asked-for',
  'recovered',
] as const;
export type Cause = (typeof CAUSES)[number];

/** How the host of a service was lost. `bfd-down`: most of its peers reported so, whatever it reports itself. */
export const LOSSES = ['silent', 'bfd-down', 'forced-down', 'quarantined', 'removed'] as const;
export type Loss = (typeof LOSSES)[number];

const WHY = Type.Object(
  {
    cause: Type.Enum(CAUSES),
    /** For `host-lost`: how. Absent in elections of earlier versions. */
    lost: Type.Optional(Type.Enum(LOSSES)),
    /** It returned to the host that still had its connections, before all others. */
    kept: Type.Optional(Type.Literal(true)),
    chosen: Type.Optional(Type.String()),
    /** Designations minus base weight when it was chosen; lowest first, then by host id. */
    candidates: Type.Array(Type.Object({ host: Type.String(), score: Type.Integer() }, CLOSED), {
      maxItems: WHY_LISTED_MAX,
    }),
    candidatesInAll: Type.Integer(),
    rejected: Type.Array(Type.Object({ host: Type.String(), because: Type.Enum(REJECTIONS) }, CLOSED), {
      maxItems: WHY_LISTED_MAX,
    }),
    rejectedInAll: Type.Integer(),
    atMs: Type.Integer(),
  },
  CLOSED,
);
export type Why = Static<typeof WHY>;

/**
 * `preparing`: the old host serves, the new one is built. `switched`: the new one is designated, the others are repointed, the
 * old one still serves what reaches it. `retiring`: nothing new begins at the old one any more. `draining`, of `nat`: it does nothing
 * by itself any more and passes on what comes late, as it does from `retiring` on of other services. `syncing` is like `preparing`, and
 * `resyncing` like `retiring`: the old host's connections are copied to the new one meanwhile.
 */
const HANDOVER_PHASES = ['preparing', 'syncing', 'switched', 'retiring', 'resyncing', 'draining'] as const;

const HANDOVER = Type.Object(
  {
    operation: Type.String(),
    from: Type.String(),
    to: Type.String(),
    phase: Type.Enum(HANDOVER_PHASES),
    /** Why it moves there; it becomes the service's own reason with the switch. */
    why: WHY,
    /** When the phase began, or when its target was changed. */
    sinceMs: Type.Integer(),
  },
  CLOSED,
);

export const SERVICE_SCHEMA = Type.Object(
  {
    type: Type.Enum(SERVICE_TYPES),
    /** The router of `nat`, the subnet of the others. */
    subject: Type.String(),
    ...SERVICE_FACTS,
    /** Of the present designation, or of the last one; grows with every new one. */
    epoch: Type.Integer({ minimum: 0 }),
    /** Absent while it is not served. */
    designated: Type.Optional(
      Type.Object(
        {
          host: Type.String(),
          sinceMs: Type.Integer(),
          /** Set when it is there only because no other host has presence. */
          degraded: Type.Optional(Type.Literal(true)),
        },
        CLOSED,
      ),
    ),
    /** The standby: takes over when the designated host is lost; chosen beforehand, and replaced only when it is no longer fit. */
    standby: Type.Optional(Type.String()),
    handover: Type.Optional(HANDOVER),
    /** Before its host left: where it goes back to if fail-back is requested. */
    cameFrom: Type.Optional(
      Type.Object(
        {
          host: Type.String(),
          operation: Type.String(),
          /** It returns there as soon as the budget allows another handover. */
          back: Type.Optional(Type.Literal(true)),
        },
        CLOSED,
      ),
    ),
    why: Type.Optional(WHY),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
  CLOSED,
);
export type Service = Static<typeof SERVICE_SCHEMA>;
export type ServiceId = Id<'service'>;
export type StoredService = Stored<'service', Service>;
export type Handover = Static<typeof HANDOVER>;
export const SERVICE = schemaKind('service', SERVICE_SCHEMA);

/** Its id says what it is: `nat:edge`, `dhcp:rack-1-v4`. */
export function serviceId(type: ServiceType, subject: string): ServiceId {
  return `${type}:${subject}` as ServiceId;
}

/**
 * The host whose weight counts a service: the target of a handover counts it, the old host does not.
 */
export function weightedHostOf({ designated, handover }: Service): string | undefined {
  return handover !== undefined && isBeforeSwitch(handover) ? handover.to : designated?.host;
}

/** The old host still has it. */
export function isBeforeSwitch({ phase }: Pick<Handover, 'phase'>): boolean {
  return phase === 'preparing' || phase === 'syncing';
}

/** Every host involved in a service: designated, target, or old host. */
export const SERVICES_TOUCHING_HOST: Index<'service', Service> = {
  name: 'services-touching-host',
  kind: SERVICE,
  keysOf: ({ designated, handover }) => [
    ...new Set([designated?.host, handover?.from, handover?.to].filter((host) => host !== undefined)),
  ],
};

/** The services that a host is standby for. */
export const SERVICES_BY_STANDBY: Index<'service', Service> = {
  name: 'services-by-standby',
  kind: SERVICE,
  keysOf: ({ standby }) => (standby === undefined ? [] : [standby]),
};

export const SERVICES_BY_SUBJECT: Index<'service', Service> = {
  name: 'services-by-subject',
  kind: SERVICE,
  keysOf: (doc) => [doc.subject],
};

/** The services that left a host by its scale-in. */
export const SERVICES_BY_ORIGIN: Index<'service', Service> = {
  name: 'services-by-origin',
  kind: SERVICE,
  keysOf: ({ cameFrom }) => (cameFrom === undefined ? [] : [cameFrom.host]),
};

/** For the count of open handovers. */
export const SERVICES_IN_HANDOVER: Index<'service', Service> = {
  name: 'services-in-handover',
  kind: SERVICE,
  keysOf: ({ handover }) => (handover === undefined ? [] : ['under-way']),
};

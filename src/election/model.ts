// Services that one host does for all: source NAT of a router, the route to a subnet, DHCP in a subnet. A service exists with
// its subject and has at most one designated host; its epoch only grows, so that work for an older one is refused.
import { Type, type Static } from 'typebox';
import { schemaKind, type Id, type Index, type Stored } from '../fleet/index.ts';

const CLOSED = { additionalProperties: false };

export const SERVICE_TYPES = ['nat', 'subnet-route', 'dhcp'] as const;
export type ServiceType = (typeof SERVICE_TYPES)[number];

/** What an operator says of a service. */
export const SERVICE_FACTS = {
  /** When only leaving hosts are left: `soft` keeps it there, degraded, until they end; `hard` withdraws it. */
  exclusion: Type.Enum(['soft', 'hard']),
  /** When control of its host is lost while the host's peers still hear it: `move` elects another, `hold` waits. */
  onControlLoss: Type.Enum(['move', 'hold']),
};

/** Enough to answer "why this one"; counts tell of the rest. */
export const WHY_LISTED_MAX = 10;

/** Why a host cannot be chosen, in the order in which they are asked. */
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
export type Rejection = (typeof REJECTIONS)[number];

/**
 * What made an election. `recovered`: nobody did it, and somebody can again. `presence-gone`: its host has nothing of the
 * subject any more. `data-path-lost`: its switch is out of control, and forwards nothing. `host-unfit`: its host is there and cannot do it any more, for example without a tunnel address.
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

/** How the host of a service was lost. `bfd-down`: most of its peers said so, whatever it says itself. */
export const LOSSES = ['silent', 'bfd-down', 'forced-down', 'quarantined', 'removed'] as const;
export type Loss = (typeof LOSSES)[number];

const WHY = Type.Object(
  {
    cause: Type.Enum(CAUSES),
    /** Of `host-lost`: in what way. Absent in elections of earlier versions. */
    lost: Type.Optional(Type.Enum(LOSSES)),
    /** It went back to the host that still had its connections, before all others. */
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
    /** Why it goes there; it becomes the service's own when it is switched. */
    why: WHY,
    /** When the phase began, or when another host was chosen in it. */
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
    /** Absent while nobody does it. */
    designated: Type.Optional(
      Type.Object(
        {
          host: Type.String(),
          sinceMs: Type.Integer(),
          /** It is there only because no other host has presence. */
          degraded: Type.Optional(Type.Literal(true)),
        },
        CLOSED,
      ),
    ),
    /** Who takes it over when its host is lost: chosen beforehand, and another one only when this one cannot any more. */
    standby: Type.Optional(Type.String()),
    handover: Type.Optional(HANDOVER),
    /** Before its host left: where it goes back to if fail-back is asked for. */
    cameFrom: Type.Optional(
      Type.Object(
        {
          host: Type.String(),
          operation: Type.String(),
          /** It goes back there as soon as there is room for another hand-over. */
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

/** Its id tells what it is: `nat:edge`, `dhcp:rack-1-v4`. */
export function serviceId(type: ServiceType, subject: string): ServiceId {
  return `${type}:${subject}` as ServiceId;
}

/**
 * The host whose weight a service is part of: one that is being handed to it counts, one that it hands over does not.
 */
export function weightedHostOf({ designated, handover }: Service): string | undefined {
  return handover !== undefined && isBeforeSwitch(handover) ? handover.to : designated?.host;
}

/** The old host still has it. */
export function isBeforeSwitch({ phase }: Pick<Handover, 'phase'>): boolean {
  return phase === 'preparing' || phase === 'syncing';
}

/** Every host that a service has something to do with: designated, getting it, or giving it away. */
export const SERVICES_TOUCHING_HOST: Index<'service', Service> = {
  name: 'services-touching-host',
  kind: SERVICE,
  keysOf: ({ designated, handover }) => [
    ...new Set([designated?.host, handover?.from, handover?.to].filter((host) => host !== undefined)),
  ],
};

/** What a host would take over. */
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

/** Those that left a host by its scale-in. */
export const SERVICES_BY_ORIGIN: Index<'service', Service> = {
  name: 'services-by-origin',
  kind: SERVICE,
  keysOf: ({ cameFrom }) => (cameFrom === undefined ? [] : [cameFrom.host]),
};

/** For the count of hand-overs under way. */
export const SERVICES_IN_HANDOVER: Index<'service', Service> = {
  name: 'services-in-handover',
  kind: SERVICE,
  keysOf: ({ handover }) => (handover === undefined ? [] : ['under-way']),
};

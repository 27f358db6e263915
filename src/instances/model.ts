// Instances with their flavors and server groups. An instance has at most one host; its claim holds the resources there, its ports its connections, and
// its tries are kept with it. A state change outside the state table must never be committed.
import { Type, type Static } from 'typebox';
import { schemaKind, type Id, type Index } from '../fleet/index.ts';
import { hostOfDrain } from '../hosts/index.ts';
import { PROJECT } from '../network/index.ts';
import { GROUP_POLICIES } from '../scheduler/index.ts';
import { NAME } from '../sites/index.ts';

const CLOSED = { additionalProperties: false };
export const WORD = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$',
  'x-form': 'a word of letters, digits and _ . : - (at most 100)',
});
const CHANGED = { changedBy: Type.String(), changedAtMs: Type.Integer() };

/** More NICs than any hypervisor supports. */
const NICS_MAX = 32;
/** Of a flavor, of a request, and of both together. */
export const TRAITS_MAX = 64;
const AGGREGATES_MAX = 16;
/** No build is tried more often; the setting may be lower. */
export const ATTEMPTS_MAX = 10;

const traits = Type.Array(WORD, { maxItems: TRAITS_MAX, uniqueItems: true });

/** The resources of one instance of a flavor. */
const AMOUNTS = {
  vcpus: Type.Integer({ minimum: 1, maximum: 100_000 }),
  memoryMiB: Type.Integer({ minimum: 1, maximum: 2 ** 40 }),
  diskGiB: Type.Integer({ minimum: 0, maximum: 2 ** 40 }),
  resources: Type.Optional(
    Type.Record(WORD, Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), { maxProperties: 32 }),
  ),
};

/** More is a machine's whole inventory, and not what a flavor requires of it. */
const EXTRA_SPECS_MAX = 100;

/** What a flavor whose instances get a machine of their own requests beside its amounts: what the machine must have at least. */
const BARE_METAL = Type.Object(
  {
    ephemeralGiB: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 40 })),
    swapMiB: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 40 })),
    rxtxFactor: Type.Optional(Type.Number({ minimum: 0, maximum: 1_000_000 })),
    extraSpecs: Type.Optional(
      Type.Record(Type.String({ minLength: 1, maxLength: 255 }), Type.String({ maxLength: 1000 }), {
        maxProperties: EXTRA_SPECS_MAX,
        description: 'resource class, traits and capabilities of the machine',
      }),
    ),
  },
  CLOSED,
);

export const FLAVOR_SCHEMA = Type.Object(
  {
    name: NAME,
    ...AMOUNTS,
    requiredTraits: traits,
    forbiddenTraits: traits,
    /** Set: its instances are built on bare-metal nodes. */
    bareMetal: Type.Optional(BARE_METAL),
    ...CHANGED,
  },
  CLOSED,
);
export type Flavor = Static<typeof FLAVOR_SCHEMA>;
export const FLAVOR = schemaKind('flavor', FLAVOR_SCHEMA);

export const GROUP_SCHEMA = Type.Object(
  {
    name: NAME,
    project: PROJECT,
    policy: Type.Enum(GROUP_POLICIES),
    /** Leaving hosts move or rebuild no more of its instances at once; unlimited when absent. */
    movesAtOnce: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    ...CHANGED,
  },
  CLOSED,
);
export type ServerGroup = Static<typeof GROUP_SCHEMA>;
export const GROUP = schemaKind('group', GROUP_SCHEMA);

export const INSTANCE_STATES = [
  'building',
  'active',
  'moving',
  'rebuilding',
  'shelving',
  'shelved',
  'deleting',
  'error',
] as const;
export type InstanceState = (typeof INSTANCE_STATES)[number];

/** Which state may follow which. A deleted instance is gone. */
export const INSTANCE_TRANSITIONS: Readonly<Record<InstanceState, readonly InstanceState[]>> = {
  // An unshelve that finds no host puts it back on the shelf.
  building: ['active', 'error', 'deleting', 'shelving', 'shelved'],
  active: ['moving', 'rebuilding', 'shelving', 'deleting', 'error'],
  // A move that passed its deadline leaves an instance of a dead host to be rebuilt elsewhere.
  moving: ['active', 'deleting', 'error', 'rebuilding'],
  rebuilding: ['active', 'error', 'deleting'],
  shelving: ['shelved', 'active', 'deleting', 'error'],
  shelved: ['building', 'deleting'],
  error: ['deleting', 'rebuilding', 'active'],
  deleting: [],
};

/** The cause of a failed try, with what it excludes: nothing more is tried there for this build. */
export const EXCLUSION_SCOPES = ['host', 'pool', 'node', 'none'] as const;

const ATTEMPT = Type.Object(
  {
    /** Counts from 1. */
    nth: Type.Integer({ minimum: 1 }),
    host: Type.Optional(Type.String()),
    site: Type.Optional(Type.String()),
    /** Of a try on bare metal: who was to reserve a node, and which one it was. */
    manager: Type.Optional(Type.String()),
    node: Type.Optional(Type.String()),
    /** The pools that its NICs were to take addresses from. */
    pools: Type.Array(Type.String(), { maxItems: NICS_MAX }),
    /** The class of the fault, kebab-case; absent while the try is open or when it succeeded. */
    fault: Type.Optional(Type.String()),
    excludes: Type.Optional(Type.Enum(EXCLUSION_SCOPES)),
    /** The pool that is excluded, when one is. */
    excludedPool: Type.Optional(Type.String()),
    text: Type.Optional(Type.String({ maxLength: 500 })),
    atMs: Type.Integer(),
  },
  CLOSED,
);
export type Attempt = Static<typeof ATTEMPT>;

const STAGE = Type.Object(
  {
    filter: Type.String(),
    before: Type.Integer(),
    after: Type.Integer(),
    cause: Type.Optional(Type.String()),
    facts: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]))),
  },
  CLOSED,
);

const FAULT = Type.Object(
  {
    code: Type.String(),
    message: Type.String({ maxLength: 1000 }),
    atMs: Type.Integer(),
    /** Why no host was found, per filter. */
    report: Type.Optional(Type.Object({ hosts: Type.Integer(), stages: Type.Array(STAGE, { maxItems: 40 }) }, CLOSED)),
    /** Why no bare-metal node was found: how many were left after each stage. */
    nodes: Type.Optional(
      Type.Array(Type.Object({ stage: Type.String(), left: Type.Integer() }, CLOSED), { maxItems: 40 }),
    ),
  },
  CLOSED,
);
export type InstanceFault = Static<typeof FAULT>;

/** A user's constraints on the placement. */
export const PLACE = {
  site: Type.Optional(Type.String()),
  zone: Type.Optional(WORD),
  aggregates: Type.Optional(Type.Array(WORD, { maxItems: AGGREGATES_MAX, uniqueItems: true })),
  requiredTraits: Type.Optional(traits),
  forbiddenTraits: Type.Optional(traits),
  group: Type.Optional(Type.String()),
  /** Only this host: nothing else is tried. */
  onlyHost: Type.Optional(Type.String()),
};

/** Who does a phase: the controller at the lease holder (`conductor`), or an older host itself (`host`). */
const WHO = Type.Enum(['conductor', 'host']);

/** One move tries no more hosts than this: the instance runs well where it is. */
export const MOVE_TRIES_MAX = 3;

/** The most hosts whose drains wait for one instance: it left each of them and was connected nowhere since. */
const MOVED_OFF_MAX = 8;

const MOVE_KINDS = ['live', 'cold'] as const;

const MOVE = Type.Object(
  {
    operation: Type.String(),
    kind: Type.Enum(MOVE_KINDS),
    /** Its host when the move began, or when the move continued from a host that could not connect its ports. */
    from: Type.String(),
    /** Its host when the move began, when that differs from `from`. It does not return there. */
    origin: Type.Optional(Type.String()),
    /** Hosts that it left before or during this move, without being connected anywhere since: their drains wait for it. */
    movedOff: Type.Optional(Type.Array(Type.String(), { maxItems: MOVED_OFF_MAX })),
    /** Only this host: nothing else is tried. */
    target: Type.Optional(Type.String()),
    /** The last try has the target. They exclude for this move what a build's tries exclude for the build. */
    tries: Type.Array(ATTEMPT, { maxItems: MOVE_TRIES_MAX }),
  },
  CLOSED,
);
export type MoveState = Static<typeof MOVE>;

/** What an image says of the machine that it needs, and what is handed to the deploy. */
const IMAGE_PROPERTIES = Type.Record(Type.String({ minLength: 1, maxLength: 255 }), Type.String({ maxLength: 500 }), {
  maxProperties: 64,
});

const POWERS = ['on', 'off'] as const;

const ENDED = Type.Object(
  {
    host: Type.String(),
    /** When it ended the last time, by the clock of its host. */
    reportedMs: Type.Integer({ minimum: 0 }),
    /** When that was recorded. */
    atMs: Type.Integer(),
    /** Since it came to the host. */
    times: Type.Integer({ minimum: 1 }),
    /** Its host has started it again. */
    runsAgain: Type.Boolean(),
  },
  CLOSED,
);

export const INSTANCE_SCHEMA = Type.Object(
  {
    name: NAME,
    project: PROJECT,
    flavor: Type.String(),
    amounts: Type.Object(AMOUNTS, CLOSED),
    image: Type.Optional(Type.String({ maxLength: 200 })),
    imageProperties: Type.Optional(IMAGE_PROPERTIES),
    place: Type.Object(PLACE, CLOSED),
    state: Type.Enum(INSTANCE_STATES),
    /** Who built it; absent for those on hosts. */
    builder: Type.Optional(Type.String()),
    host: Type.Optional(Type.String()),
    /** Its bare-metal node, in place of a host; whoever acts on the node acts on it. */
    node: Type.Optional(Type.String()),
    /** The site of its node. That of a host is in the host. */
    site: Type.Optional(Type.String()),
    /** Of one on a node: as it was switched last. */
    power: Type.Optional(Type.Enum(POWERS)),
    /** In NIC order. The port's document says the rest. */
    nics: Type.Array(Type.Object({ port: Type.String(), network: Type.String() }, CLOSED), { maxItems: NICS_MAX }),
    /** Chosen from the gates when the build started; it does not change during the build. */
    path: Type.Object({ create: WHO, bind: WHO }, CLOSED),
    /** Set when it was requested together with others: with fewer than `minimum` the request fails. */
    together: Type.Optional(Type.Object({ minimum: Type.Integer({ minimum: 2 }) }, CLOSED)),
    attempts: Type.Array(ATTEMPT, { maxItems: ATTEMPTS_MAX }),
    attemptsMax: Type.Integer({ minimum: 1, maximum: ATTEMPTS_MAX }),
    fault: Type.Optional(FAULT),
    /** The open move, or the last one that failed. */
    move: Type.Optional(MOVE),
    /** It ended by itself on this host, as that reports. */
    ended: Type.Optional(ENDED),
    /** The state before the open rebuild: an instance without another host returns to it. */
    rebuiltFrom: Type.Optional(Type.Enum(['active', 'error'])),
    /** It ran once: from then on it keeps all its addresses wherever it moves. */
    wasActive: Type.Boolean(),
    createdBy: Type.String(),
    createdAtMs: Type.Integer(),
    ...CHANGED,
  },
  CLOSED,
);
export type Instance = Static<typeof INSTANCE_SCHEMA>;
export type InstanceId = Id<'instance'>;
export const INSTANCE = schemaKind('instance', INSTANCE_SCHEMA);

export const INSTANCES_BY_HOST: Index<'instance', Instance> = {
  name: 'instances-by-host',
  kind: INSTANCE,
  keysOf: (doc) => (doc.host === undefined ? [] : [doc.host]),
};

/** By the host that they leave: open moves, until the copy is destroyed, and rebuilds without a new host yet. */
export const INSTANCES_BY_LEAVING_HOST: Index<'instance', Instance> = {
  name: 'instances-by-leaving-host',
  kind: INSTANCE,
  keysOf: (doc) => {
    if (doc.state === 'moving') return doc.move === undefined ? [] : [doc.move.from];
    return doc.host !== undefined && isAwaitingRebuildHost(doc) ? [doc.host] : [];
  },
};

/** It is being rebuilt, and still at the host that it leaves: no other was found yet. */
export function isAwaitingRebuildHost({ state, host, attempts }: Instance): boolean {
  return state === 'rebuilding' && host !== undefined && attempts.at(-1)?.host !== host;
}

/**
 * The hosts that an instance has left by a move which has not succeeded, whoever requested it: the last move, and those before it since the instance
 * was last connected.
 */
export function listVacatedHosts({ state, host, move }: Instance): string[] {
  if (move === undefined || (state !== 'active' && state !== 'moving')) return [];
  const { operation, from, origin = from, movedOff = [] } = move;
  const left = new Set([...movedOff, hostOfDrain(operation) ?? origin, origin, from].filter((one) => one !== host));
  return [...left].slice(-MOVED_OFF_MAX);
}

/** By the hosts that they left: instances whose move has not succeeded and which are elsewhere by now. */
export const INSTANCES_BY_VACATED_HOST: Index<'instance', Instance> = {
  name: 'instances-by-vacated-host',
  kind: INSTANCE,
  keysOf: listVacatedHosts,
};

/** By their group: instances that are moving from one host to another. */
export const RELOCATING_INSTANCES_BY_GROUP: Index<'instance', Instance> = {
  name: 'relocating-instances-by-group',
  kind: INSTANCE,
  keysOf: ({ state, place }) => (place.group === undefined || !isRelocating(state) ? [] : [place.group]),
};

/** Disturbed now: it moves, or is being rebuilt. */
export function isRelocating(state: InstanceState): boolean {
  return state === 'moving' || state === 'rebuilding';
}

export const INSTANCES_BY_PROJECT: Index<'instance', Instance> = {
  name: 'instances-by-project',
  kind: INSTANCE,
  keysOf: (doc) => [doc.project],
};

export const INSTANCES_BY_STATE: Index<'instance', Instance> = {
  name: 'instances-by-state',
  kind: INSTANCE,
  keysOf: (doc) => [doc.state],
};

export const INSTANCES_BY_GROUP: Index<'instance', Instance> = {
  name: 'instances-by-group',
  kind: INSTANCE,
  keysOf: (doc) => (doc.place.group === undefined ? [] : [doc.place.group]),
};

export const INSTANCES_BY_FLAVOR: Index<'instance', Instance> = {
  name: 'instances-by-flavor',
  kind: INSTANCE,
  keysOf: (doc) => [doc.flavor],
};

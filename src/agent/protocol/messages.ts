// The messages between an agent and the lease holder. One definition gives the types, the checks at the server's edge and the API
// description. Nothing here grows with the fleet. Messages from agents have closed schemas; those to agents are open, so that a newer
// server may send more than an older agent knows.
import { Type, type Static } from 'typebox';
import { strictObject, ID, JOIN_SECRET } from '../../access/index.ts';
import { CONNECTION_PATTERN } from '../../dataplane/index.ts';
import { CONDITIONS_MAX, REPORTED_CONDITION, SWITCH_IDENTITY } from '../../hosts/index.ts';
import type { Task, TaskAnswer } from '../../operations/index.ts';
import { CERTIFICATE_REQUEST, ISSUED_CERTIFICATE, SIGNED_TEXT, type SignedText } from '../../link/index.ts';

/** The journal, the lease epoch and the revision that a view was composed from. An agent refuses an older one. */
export interface Stamp {
  readonly journalId: string;
  readonly leaseEpoch: number;
  readonly revision: number;
}

/** The desired state of a host. What is absent from it must not be on the host. */
export interface View {
  readonly host: string;
  readonly stamp: Stamp;
  /** The same for equal parts and tasks, whatever the stamp is. Opaque to the agent. */
  readonly digest: string;
  readonly parts: Readonly<Record<string, unknown>>;
  readonly tasks: readonly Task[];
}

const STAMP = Type.Object({ journalId: Type.String(), leaseEpoch: Type.Integer(), revision: Type.Integer() });

const TASK = Type.Object({ id: Type.String(), kind: Type.String(), args: Type.Record(Type.String(), Type.Unknown()) });

export const VIEW = Type.Object({
  host: ID,
  stamp: STAMP,
  digest: Type.String(),
  parts: Type.Record(Type.String(), Type.Unknown()),
  tasks: Type.Array(TASK),
});

/**
 * The agent generates its secret and stores it before the request: a retry with the same secret, after a lost answer, gets the same answer, and
 * no secret is ever in an answer.
 */
export const JOIN_REQUEST = strictObject({
  secret: JOIN_SECRET,
  /** The host that the agent believes it is; a join token for another host is refused. */
  host: Type.Optional(ID),
  certificateRequest: Type.Optional(CERTIFICATE_REQUEST),
});
export type JoinRequest = Static<typeof JOIN_REQUEST>;

/** The keys and servers of the control plane, signed by it. Servers of an older version do not send it. */
const CONTROL_PLANE = Type.Optional(SIGNED_TEXT);

export const JOIN_RESPONSE = Type.Object({
  host: Type.String(),
  token: Type.String(),
  controlPlane: CONTROL_PLANE,
  /** Absent when none was requested, and from servers that issue none. */
  certificate: Type.Optional(ISSUED_CERTIFICATE),
});
/** The host's id and the id of its token: with the agent's secret they make its credential. */
export type JoinResponse = Static<typeof JOIN_RESPONSE>;

/** With more than this, the fault is not in single peers. */
export const BFD_DOWN_PEERS_MAX = 100;

/** Enough for a person to see the problem; the rest is in the agent's log. */
export const PROBLEMS_MAX = 10;
export const PROBLEM_LENGTH_MAX = 200;
/** More strays than this on one host are one fault, not many. */
export const STRAYS_MAX = 100;

const PROBLEMS = Type.Array(Type.String({ maxLength: PROBLEM_LENGTH_MAX }), { maxItems: PROBLEMS_MAX });

export const VIEW_REFUSALS = ['other-host', 'other-journal', 'older-epoch', 'older-revision'] as const;
export type ViewRefusal = (typeof VIEW_REFUSALS)[number];

const BFD_DOWN_PEERS = Type.Array(Type.String({ maxLength: 200 }), { maxItems: BFD_DOWN_PEERS_MAX });

const REPORT = strictObject({
  /** The capacity and properties of the machine, as its driver found them. */
  facts: Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), { maxProperties: 100 }),
  /** What is present and in no view: reported, never touched. */
  strays: Type.Array(Type.String({ maxLength: PROBLEM_LENGTH_MAX }), { maxItems: STRAYS_MAX }),
  problems: PROBLEMS,
  /** The identity of its switch; absent while the agent does not know it. */
  switch: Type.Optional(SWITCH_IDENTITY),
  /** Peers with BFD down; absent where there is no BFD. The first ones, in order. */
  bfdDownPeers: Type.Optional(BFD_DOWN_PEERS),
  /** The same, as agents of 0.1.0 call it, and every agent to a server that has not said that it knows the name above. */
  unheardPeers: Type.Optional(BFD_DOWN_PEERS),
  /** The last view that was refused, until one is accepted. */
  refusedView: Type.Optional(strictObject({ because: Type.Enum(VIEW_REFUSALS), stamp: STAMP })),
});
/** A report as it is sent, by the words of either version: see report-words.ts. */
export type WireReport = Static<typeof REPORT>;
export type HostReport = Omit<WireReport, 'unheardPeers'>;

/** A host on which more services than this are not ready has a fault of its own: it has not converged. */
export const UNREADY_MAX = 200;

/** A service of the view that cannot be provided here yet, although the host has converged otherwise, and the reason. */
const UNREADY_SERVICE = strictObject({
  service: Type.String({ minLength: 1, maxLength: 300 }),
  because: Type.String({ maxLength: PROBLEM_LENGTH_MAX }),
});
export type UnreadyService = Static<typeof UNREADY_SERVICE>;

/** The server accepts `conditions` in heartbeats. */
export const CONDITIONS_FEATURE = 'conditions';
/** The server accepts `process` in heartbeats. */
export const PROCESS_FEATURE = 'process';
/** The server knows `bfdDownPeers` in reports. */
export const BFD_DOWN_PEERS_FEATURE = 'bfd-down-peers';

/** Small on purpose: every host sends it every few seconds. The report is included when it was requested. */
export const HEARTBEAT = strictObject({
  serviceVersion: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
  /** The view that the host has converged on. */
  applied: Type.Optional(Type.String({ maxLength: 100 })),
  /** The revision of the last view that it accepted: a heartbeat from before it got a newer one says nothing about the newer one. */
  asOf: Type.Optional(Type.Integer({ minimum: 0 })),
  /** For the applied view: the services that are not ready. Absent when all are; agents of older versions never send it. */
  unready: Type.Optional(Type.Array(UNREADY_SERVICE, { maxItems: UNREADY_MAX })),
  /** All faults of its switch and its instance runtime; empty when there are none. Agents of older versions never send it. */
  conditions: Type.Optional(Type.Array(REPORTED_CONDITION, { maxItems: CONDITIONS_MAX })),
  /** Changes with each start of an agent: reveals two machines with one credential. Agents of older versions never send it. */
  process: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  report: Type.Optional(REPORT),
});
export type Heartbeat = Static<typeof HEARTBEAT>;

export const HEARTBEAT_RESPONSE = Type.Object({
  report: Type.Enum(['wanted', 'known']),
  /** This server knows `unready`. A server without it takes a converged host to be ready for everything. */
  readiness: Type.Optional(Type.Literal('per-service')),
  /** What else this server accepts in heartbeats: agents do not send what a server would refuse. */
  features: Type.Optional(Type.Array(Type.String())),
});
export type HeartbeatResponse = Static<typeof HEARTBEAT_RESPONSE>;

/** An agent's timeout must be longer than this. Below the idle limit of common proxies, which is 30 s. */
export const VIEW_WAIT_MAX_MS = 25_000;

/** Without a digest the whole view is answered at once: agents request so after a start and after a lost connection. */
export const VIEW_REQUEST = strictObject({
  digest: Type.Optional(Type.String({ maxLength: 100 })),
  leaseEpoch: Type.Optional(Type.Integer({ minimum: 0 })),
  waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: VIEW_WAIT_MAX_MS })),
});
/** The words of a view. `glossary`: those of today. `former`: those of 0.1.0. */
export type ViewWords = 'glossary' | 'former';

/** With the words that the agent knows: over HTTP they are in the media type that it accepts (view-words.ts). */
export type ViewRequest = Static<typeof VIEW_REQUEST> & { readonly words?: ViewWords };

export const VIEW_RESPONSE = Type.Object({
  kind: Type.Enum(['view', 'unchanged']),
  view: Type.Optional(VIEW),
  /** Signed where the link itself does not authenticate the server. */
  statement: Type.Optional(SIGNED_TEXT),
  controlPlane: CONTROL_PLANE,
});
export type ViewResponse =
  | {
      readonly kind: 'view';
      readonly view: View;
      readonly statement?: SignedText | undefined;
      readonly controlPlane?: SignedText | undefined;
    }
  | { readonly kind: 'unchanged'; readonly controlPlane?: SignedText | undefined };

/** More than a host ever has open at once; a longer list is sent in slices. */
export const ANSWERS_MAX = 100;

const TASK_ANSWER = strictObject({
  task: Type.String({ minLength: 1, maxLength: 500 }),
  outcome: Type.Enum(['done', 'failed']),
  problems: Type.Optional(PROBLEMS),
  facts: Type.Optional(Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), { maxProperties: 100 })),
});

export const OBSERVATIONS = strictObject({ answers: Type.Array(TASK_ANSWER, { minItems: 1, maxItems: ANSWERS_MAX }) });
export interface Observations {
  readonly answers: readonly TaskAnswer[];
}

/**
 * `recorded`: it was committed. `stale`: no operation waits for it any more, also when it is repeated. `not-taken`: the server could not;
 * send it again.
 */
export const OBSERVATIONS_RESPONSE = Type.Object({
  results: Type.Array(Type.Object({ task: Type.String(), result: Type.Enum(['recorded', 'stale', 'not-taken']) })),
});
export type ObservationsResponse = Static<typeof OBSERVATIONS_RESPONSE>;

/** The most connections that are copied from one host to the next; a deposit of so many is about 5 MB. */
export const DEPOSIT_MAX = 50_000;
/** Lines with the longest addresses, and some room to spare. */
export const DEPOSIT_BYTES_MAX = 16 * 1024 * 1024;
export const COLLECT_WAIT_MAX_MS = 5000;

/** Why neither end is served: the handover is not in this phase any more, or the host is not that end of it. */
export const NOT_COPIED_NOW = 'not-copied-now';

/** Which connections are copied, and in which round: a service is handed over by one operation at a time. */
const CONNTRACK_COPY_FIELDS = {
  service: Type.String({ minLength: 1, maxLength: 300 }),
  operation: Type.String({ minLength: 1, maxLength: 300 }),
  /** By the words of 0.1.0, or by those of today. */
  phase: Type.Enum(['seeding', 'reseeding', 'syncing', 'resyncing']),
};
const CONNTRACK_COPY = strictObject(CONNTRACK_COPY_FIELDS);
export type ConntrackCopy = Static<typeof CONNTRACK_COPY>;

export const DEPOSIT_REQUEST = strictObject({
  ...CONNTRACK_COPY_FIELDS,
  connections: Type.Array(
    Type.String({
      pattern: CONNECTION_PATTERN,
      'x-form': 'a connection, as protocol, source, its port, destination, its port, address and port outside',
    }),
    { maxItems: DEPOSIT_MAX },
  ),
  /** Including those that were left out because there are too many. */
  inAll: Type.Integer({ minimum: 0, maximum: 1_000_000_000 }),
});
export interface DepositRequest extends ConntrackCopy {
  readonly connections: readonly string[];
  readonly inAll: number;
}

export const DEPOSIT_RESPONSE = Type.Object({ kept: Type.Integer() });
export type DepositResponse = Static<typeof DEPOSIT_RESPONSE>;

export const COLLECT_REQUEST = strictObject({
  ...CONNTRACK_COPY_FIELDS,
  waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: COLLECT_WAIT_MAX_MS })),
});
export type CollectRequest = Static<typeof COLLECT_REQUEST>;

export const COLLECT_RESPONSE = Type.Object({
  kind: Type.Enum(['connections', 'not-yet']),
  connections: Type.Optional(Type.Array(Type.String(), { maxItems: DEPOSIT_MAX })),
  inAll: Type.Optional(Type.Integer()),
});
export type CollectResponse =
  | { readonly kind: 'connections'; readonly connections: readonly string[]; readonly inAll: number }
  /** The other end has not deposited anything yet. */
  | { readonly kind: 'not-yet' };

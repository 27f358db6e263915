// What an agent and the lease holder say to each other. One definition gives the types, the checks at the server's edge
// and the API description. Nothing here grows with the fleet. What agents send is closed; what they are sent is open, so
// that a newer server may say more than an older agent understands.
import { Type, type Static } from 'typebox';
import { strictObject, ID } from '../../access/index.ts';
import { CONNECTION_PATTERN } from '../../dataplane/index.ts';
import { CONDITION, CONDITIONS_MAX, SWITCH_IDENTITY } from '../../hosts/index.ts';
import type { Task, TaskAnswer } from '../../operations/index.ts';
import { SIGNED_TEXT, type SignedText } from './statement.ts';

/** Which journal, which holder, which state of the fleet: what a view was made of. An agent refuses what is older. */
export interface Stamp {
  readonly journalId: string;
  readonly leaseEpoch: number;
  readonly revision: number;
}

/** Everything a host's agent needs to know. What is absent from it is not wanted there. */
export interface View {
  readonly host: string;
  readonly stamp: Stamp;
  /** The same for the same parts and tasks, whatever the stamp says. Opaque to the agent. */
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

/** Several times as long as a request for a P-256 key. */
const REQUEST_LENGTH_MAX = 4096;

const CERTIFICATE_REQUEST = Type.String({
  maxLength: REQUEST_LENGTH_MAX,
  description: 'PKCS #10 in PEM form, for a P-256 or Ed25519 key; the name in it does not count',
});

/** A certificate for the host whose credential asked for it. */
export const ISSUED_CERTIFICATE = Type.Object({
  /** PEM. */
  certificate: Type.String(),
  /** PEM: those by which servers check certificates, the one that issued this first. */
  authorities: Type.Array(Type.String()),
  /** Of the keys that it was issued with: it grows with every rotation. */
  serial: Type.Integer(),
});
export type IssuedCertificate = Static<typeof ISSUED_CERTIFICATE>;

export const RENEWAL_REQUEST = strictObject({ certificateRequest: CERTIFICATE_REQUEST });
export type RenewalRequest = Static<typeof RENEWAL_REQUEST>;

/**
 * The agent makes its own secret and keeps it before it asks: whoever asks again with the same secret because the
 * answer was lost is answered as before, and no secret is ever in an answer.
 */
export const JOIN_REQUEST = strictObject({
  secret: Type.String({ pattern: '^[A-Za-z0-9_-]{40,200}$', description: 'chosen by the agent, 256 bits' }),
  /** The host that the agent believes to be; a join token for another one is refused. */
  host: Type.Optional(ID),
  certificateRequest: Type.Optional(CERTIFICATE_REQUEST),
});
export type JoinRequest = Static<typeof JOIN_REQUEST>;

/** Which keys and which servers the control plane has, signed by it. A server of an older version does not say. */
const CONTROL_PLANE = Type.Optional(SIGNED_TEXT);

export const JOIN_RESPONSE = Type.Object({
  host: Type.String(),
  token: Type.String(),
  controlPlane: CONTROL_PLANE,
  /** Absent when none was requested, and from servers that issue none. */
  certificate: Type.Optional(ISSUED_CERTIFICATE),
});
/** The host it is, and the id of its token: with the agent's secret this makes its credential. */
export type JoinResponse = Static<typeof JOIN_RESPONSE>;

/** Beyond this many something else is broken than single peers. */
export const BFD_DOWN_PEERS_MAX = 100;

/** Enough for a person to see what is wrong; the rest is in the agent's log. */
export const PROBLEMS_MAX = 10;
export const PROBLEM_LENGTH_MAX = 200;
/** More strays on one host than this are one fault, not so many. */
export const STRAYS_MAX = 100;

const PROBLEMS = Type.Array(Type.String({ maxLength: PROBLEM_LENGTH_MAX }), { maxItems: PROBLEMS_MAX });

export const VIEW_REFUSALS = ['other-host', 'other-journal', 'older-epoch', 'older-revision'] as const;
export type ViewRefusal = (typeof VIEW_REFUSALS)[number];

const REPORT = strictObject({
  /** What the machine is, as its driver found it. */
  facts: Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), { maxProperties: 100 }),
  /** What is there and in no view: reported, never touched. */
  strays: Type.Array(Type.String({ maxLength: PROBLEM_LENGTH_MAX }), { maxItems: STRAYS_MAX }),
  problems: PROBLEMS,
  /** What tells its switch apart; absent while the agent does not know. */
  switch: Type.Optional(SWITCH_IDENTITY),
  /** Peers whose tunnel heartbeat is not heard; absent where nobody listens for any. The first ones, in order. */
  unheardPeers: Type.Optional(Type.Array(Type.String({ maxLength: 200 }), { maxItems: BFD_DOWN_PEERS_MAX })),
  /** The last view that was refused, while none was taken after it. */
  refusedView: Type.Optional(strictObject({ because: Type.Enum(VIEW_REFUSALS), stamp: STAMP })),
});
export type HostReport = Static<typeof REPORT>;

/** A host on which more services than this are not ready has a fault of its own: it has not converged. */
export const UNREADY_MAX = 200;

/** A service of the view that cannot be provided here yet, although the host has converged otherwise, and why. */
const UNREADY_SERVICE = strictObject({
  service: Type.String({ minLength: 1, maxLength: 300 }),
  because: Type.String({ maxLength: PROBLEM_LENGTH_MAX }),
});
export type UnreadyService = Static<typeof UNREADY_SERVICE>;

/** The server takes `conditions` in heartbeats. */
export const CONDITIONS_FEATURE = 'conditions';
/** The server takes `process` in heartbeats. */
export const PROCESS_FEATURE = 'process';

/** Small on purpose: it comes every few seconds from every host. The report comes along when it is wanted. */
export const HEARTBEAT = strictObject({
  serviceVersion: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
  /** The view that the host is in line with. */
  applied: Type.Optional(Type.String({ maxLength: 100 })),
  /** The revision of the last view that it took: what was said before it got a newer one says nothing of what it has now. */
  asOf: Type.Optional(Type.Integer({ minimum: 0 })),
  /** Of the view that is applied: the services that are not ready. Absent when all are; agents of older versions never send it. */
  unready: Type.Optional(Type.Array(UNREADY_SERVICE, { maxItems: UNREADY_MAX })),
  /** All that is wrong with its switch and its instance runtime; empty when nothing is. Agents of older versions never send it. */
  conditions: Type.Optional(Type.Array(CONDITION, { maxItems: CONDITIONS_MAX })),
  /** Another one with each start of an agent: shows that two machines have one credential. Agents of older versions never send it. */
  process: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  report: Type.Optional(REPORT),
});
export type Heartbeat = Static<typeof HEARTBEAT>;

export const HEARTBEAT_RESPONSE = Type.Object({
  report: Type.Enum(['wanted', 'known']),
  /** This server knows `unready`. One that does not say so takes a host that has converged to be ready for everything. */
  readiness: Type.Optional(Type.Literal('per-service')),
  /** What else this server knows of heartbeats: agents do not send to one what it would refuse. */
  features: Type.Optional(Type.Array(Type.String())),
});
export type HeartbeatResponse = Static<typeof HEARTBEAT_RESPONSE>;

/** An agent's own patience must be longer than this. Below the idle limit of common proxies, which is 30 s. */
export const VIEW_WAIT_MAX_MS = 25_000;

/** Without a digest the whole view is answered at once: what an agent asks for after a start and after a cut. */
export const VIEW_REQUEST = strictObject({
  digest: Type.Optional(Type.String({ maxLength: 100 })),
  leaseEpoch: Type.Optional(Type.Integer({ minimum: 0 })),
  waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: VIEW_WAIT_MAX_MS })),
});
export type ViewRequest = Static<typeof VIEW_REQUEST>;

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
 * `recorded`: it counted. `stale`: nobody waits for it any more, also when it is said a second time. `not-taken`: the
 * server could not; say it again.
 */
export const OBSERVATIONS_RESPONSE = Type.Object({
  results: Type.Array(Type.Object({ task: Type.String(), result: Type.Enum(['recorded', 'stale', 'not-taken']) })),
});
export type ObservationsResponse = Static<typeof OBSERVATIONS_RESPONSE>;

/** The most that is copied from one host to the next; a deposit of so many is about 5 MB. */
export const DEPOSIT_MAX = 50_000;
/** Lines of the longest addresses there are, and room to spare. */
export const DEPOSIT_BYTES_MAX = 16 * 1024 * 1024;
export const COLLECT_WAIT_MAX_MS = 5000;

/** Why neither end is answered: the hand-over is not at this point any more, or the asker is not that end of it. */
export const NOT_COPIED_NOW = 'not-copied-now';

/** Which connections are copied, and the how-manieth time: a service is handed over by one operation at a time. */
const CONNTRACK_COPY_FIELDS = {
  service: Type.String({ minLength: 1, maxLength: 300 }),
  operation: Type.String({ minLength: 1, maxLength: 300 }),
  /** By the words of the wire, or by those of the program. */
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
  /** With those that were left out because there are too many. */
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
  /** The other end has not been here yet. */
  | { readonly kind: 'not-yet' };

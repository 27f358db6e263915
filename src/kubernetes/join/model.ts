// The documents of joins: one for each operation that adds workers, with its bootstrap token and what its instances are built of; the output of the last
// script on each machine; and the script of a cluster that has one of its own.
import { Type, type Static } from 'typebox';
import { SEALED } from '../../access/index.ts';
import {
  idOf,
  put,
  remove,
  schemaKind,
  type Change,
  type FleetReader,
  type Index,
  type Stored,
} from '../../fleet/index.ts';
import type { CreateInstances } from '../../instances/index.ts';
import { OPERATION, isUnfinished } from '../../operations/index.ts';
import { LOG_BYTES_MAX, type ScriptOutput } from '../machines/reach.ts';
import type { StoredWorker } from '../workers/transitions.ts';

const CLOSED = { additionalProperties: false };
/** As long as its operation is kept. */
const KEPT_MS = 30 * 24 * 3600 * 1000;

/** A bootstrap token lasts so long from when it is made. */
export const TOKEN_LIFETIME_MS = 3600 * 1000;

/**
 * `making`: it was requested, and the cluster may have it. `made`: the cluster has it, until it expires. `revoking`: it is not to be used any more, and may be
 * there still.
 */
const TOKEN_STATES = ['unmade', 'making', 'made', 'revoking', 'revoked'] as const;

const TOKEN = Type.Object(
  {
    /** Names it in the cluster, and is no secret. */
    id: Type.String({ pattern: '^[a-z0-9]{6}$' }),
    secret: SEALED,
    state: Type.Enum(TOKEN_STATES),
    expiresAtMs: Type.Optional(Type.Integer()),
    /** Until then a request for it that was not answered may still arrive at the cluster: it is revoked again. */
    mayArriveUntilMs: Type.Optional(Type.Integer()),
  },
  CLOSED,
);

/** What instances are built of: a request for one, without its name. */
export type InstanceTemplate = Pick<
  CreateInstances,
  | 'flavor'
  | 'image'
  | 'imageProperties'
  | 'project'
  | 'place'
  | 'networks'
  | 'securityGroups'
  | 'admin'
  | 'siteLimit'
  | 'isProjectScoped'
  | 'hasCredentials'
>;

const TEMPLATE = Type.Unsafe<InstanceTemplate>(Type.Object({ flavor: Type.String() }, { additionalProperties: true }));

export const WORKER_JOIN_SCHEMA = Type.Object(
  {
    cluster: Type.String(),
    /** Its id as well. */
    operation: Type.String(),
    token: TOKEN,
    /** Absent when the instances are there already. */
    template: Type.Optional(TEMPLATE),
    /** For the join of each worker, install included. */
    joinDeadlineMs: Type.Integer({ minimum: 1 }),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
  CLOSED,
);
export type WorkerJoin = Static<typeof WORKER_JOIN_SCHEMA>;

export const WORKER_JOIN = schemaKind('worker-join', WORKER_JOIN_SCHEMA, {
  expiresAtMs: (doc, fleet) => (isTokenOpen(doc) ? undefined : expiryOf(fleet, doc)),
});

function expiryOf(fleet: FleetReader, { operation: id }: WorkerJoin): number | undefined {
  const operation = fleet.get(OPERATION, idOf(OPERATION, id))?.doc;
  if (operation === undefined) return 0;
  return operation.finishedAtMs === undefined ? undefined : operation.finishedAtMs + KEPT_MS;
}

export type StoredJoin = Stored<'worker-join', WorkerJoin>;

/** Whether the cluster may have its token. */
function isTokenOpen({ token }: WorkerJoin): boolean {
  return token.state === 'making' || token.state === 'made' || token.state === 'revoking';
}

const OPEN = 'open';

export const JOINS_WITH_TOKEN: Index<'worker-join', WorkerJoin> = {
  name: 'worker-joins-with-token',
  kind: WORKER_JOIN,
  keysOf: (doc) => (isTokenOpen(doc) ? [OPEN] : []),
};

/** Joins whose token is not needed any more, and may be in its cluster. */
export function joinsToRevoke(fleet: FleetReader): StoredJoin[] {
  return [...fleet.find(JOINS_WITH_TOKEN, OPEN)].filter(({ doc }) => {
    if (doc.token.state === 'revoking') return true;
    const operation = fleet.get(OPERATION, idOf(OPERATION, doc.operation))?.doc;
    return operation === undefined || !isUnfinished(operation) || operation.state === 'cancelling';
  });
}

const MACHINE_LOG_SCHEMA = Type.Object(
  {
    cluster: Type.String(),
    operation: Type.String(),
    /** The last of what the script wrote, its errors too. Secrets are masked. */
    text: Type.String({ maxLength: LOG_BYTES_MAX }),
    isCut: Type.Boolean(),
    /** Absent when it did not end by itself. */
    exitCode: Type.Optional(Type.Integer()),
    atMs: Type.Integer(),
  },
  CLOSED,
);
type MachineLog = Static<typeof MACHINE_LOG_SCHEMA>;
/** Its id is the worker's. */
export const MACHINE_LOG = schemaKind('machine-log', MACHINE_LOG_SCHEMA);

interface LoggedRun {
  readonly operation: string;
  readonly output: ScriptOutput;
  /** Absent when it did not end by itself. */
  readonly exitCode?: number;
  readonly atMs: number;
}

export function putLog({ id, doc }: StoredWorker, { operation, output, exitCode, atMs }: LoggedRun): Change {
  const { text, isCut } = output;
  const log: MachineLog = {
    ...{ cluster: doc.cluster, operation, text, isCut, atMs },
    ...(exitCode !== undefined && { exitCode }),
  };
  return put(MACHINE_LOG, idOf(MACHINE_LOG, id), log);
}

/** A log goes with its worker. */
export function removeLog(fleet: FleetReader, worker: string): Change[] {
  const id = idOf(MACHINE_LOG, worker);
  return fleet.get(MACHINE_LOG, id) === undefined ? [] : [remove(MACHINE_LOG, id)];
}

/** Characters; a document has 64 KiB. */
export const SCRIPT_LENGTH_MAX = 48_000;

const WORKER_SCRIPT_SCHEMA = Type.Object(
  {
    /** Its id as well. */
    cluster: Type.String(),
    text: Type.String({ minLength: 1, maxLength: SCRIPT_LENGTH_MAX }),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
  CLOSED,
);
export const WORKER_SCRIPT = schemaKind('worker-script', WORKER_SCRIPT_SCHEMA);

// What managers and the control plane say to each other. Times are what is left, never times of day: the clocks of two machines are not compared.
import { Type, type Static } from 'typebox';
import { ID, strictObject } from '../../access/index.ts';
import type { Task, TaskAnswer } from '../../operations/index.ts';
import { INVENTORY_NAMES, type InventoryName } from '../model.ts';

/** A manager in a path: in any case, since names are compared in lower case. */
const MANAGER_REF = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  'x-form': 'a name of letters, digits and . _ - (at most 63)',
  description: 'the name of a manager; upper and lower case are the same',
});

export const BY_MANAGER = strictObject({ manager: MANAGER_REF });

const HOLDER = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$',
  'x-form': 'an id of letters, digits and . _ : - (at most 100)',
  description: 'which process speaks: a new id for each start of it',
});
const LEASE_EPOCH = Type.Integer({ minimum: 1, description: 'of the lease that it registered under' });

/** Which process speaks, under which lease. */
const TENURE = { holder: HOLDER, leaseEpoch: LEASE_EPOCH };

export const REGISTER_REQUEST = strictObject({
  holder: HOLDER,
  version: Type.String({ minLength: 1, maxLength: 100 }),
  host: Type.Optional(
    Type.String({ maxLength: 200, description: 'the host that it runs on: scaling that in drains it first' }),
  ),
  site: Type.Optional(ID),
  embedded: Type.Optional(Type.Literal(true, { description: 'it runs inside a server, which can pause it' })),
});
export type RegisterRequest = Static<typeof REGISTER_REQUEST>;

export const LEASE_RESPONSE = Type.Object({
  leaseEpoch: Type.Integer(),
  remainingMs: Type.Integer({ description: 'how long the lease lasts at least, from when it was asked for' }),
  renewMs: Type.Integer({ description: 'how often it is to be renewed' }),
  keysSerial: Type.Optional(
    Type.Integer({ description: 'of the keys that certificates are issued with: it grows with every rotation' }),
  ),
});
export type LeaseResponse = Static<typeof LEASE_RESPONSE>;

export const TENURE_REQUEST = strictObject(TENURE);
export type TenureRequest = Static<typeof TENURE_REQUEST>;

export const RELEASE_RESPONSE = Type.Object({ released: Type.Boolean() });
export type ReleaseResponse = Static<typeof RELEASE_RESPONSE>;

/** A batch is one commit: a larger one would hold up all other callers. */
export const ACQUIRE_MAX = 500;

export const ACQUIRE_REQUEST = strictObject({
  ...TENURE,
  max: Type.Optional(Type.Integer({ minimum: 1, maximum: ACQUIRE_MAX, description: `${ACQUIRE_MAX} unless said` })),
});
export type AcquireRequest = Static<typeof ACQUIRE_REQUEST>;

export const ACQUIRE_RESPONSE = Type.Object({
  acquired: Type.Integer({ description: 'how many nodes are its own from this commit on' }),
  left: Type.Integer({ description: 'how many more there are for it now' }),
});
export type AcquireResponse = Static<typeof ACQUIRE_RESPONSE>;

export const TASKS_WAIT_MAX_MS = 20_000;
/** More are shown once some of these are done. */
export const TASKS_MAX = 256;

export const TASKS_QUERY = strictObject({
  ...TENURE,
  digest: Type.Optional(
    Type.String({ maxLength: 100, description: 'of the tasks that it has: waits until they differ' }),
  ),
  waitMs: Type.Optional(Type.Integer({ minimum: 0, maximum: TASKS_WAIT_MAX_MS })),
});
export type TasksQuery = Static<typeof TASKS_QUERY>;

/** With the node that it is about, as it is now. Before there is a node, without one. */
const MANAGER_TASK = Type.Object({
  id: Type.String(),
  kind: Type.String(),
  node: Type.Optional(Type.String()),
  nodeEpoch: Type.Optional(Type.Integer()),
  instance: Type.Optional(Type.String()),
  inventory: Type.Optional(Type.Enum(INVENTORY_NAMES)),
  args: Type.Record(Type.String(), Type.Unknown()),
  remainingMs: Type.Optional(
    Type.Integer({ description: 'until the deadline of its operation, from when the tasks were requested' }),
  ),
});

export interface ManagerTask extends Task {
  readonly node?: string;
  readonly nodeEpoch?: number;
  readonly instance?: string;
  readonly inventory?: InventoryName;
  /** Until the deadline of its operation, from when the tasks were requested. */
  readonly remainingMs?: number;
}

export const TASKS_RESPONSE = Type.Object({
  kind: Type.Enum(['tasks', 'unchanged']),
  digest: Type.Optional(Type.String()),
  tasks: Type.Optional(Type.Array(MANAGER_TASK)),
  offered: Type.Optional(Type.Integer({ description: 'how many nodes it may acquire now' })),
});

export type TasksResponse =
  | {
      readonly kind: 'tasks';
      readonly digest: string;
      readonly tasks: readonly ManagerTask[];
      readonly offered: number;
    }
  | { readonly kind: 'unchanged' };

/** Enough for a person to see the problem; the rest is in the manager's log. */
export const PROBLEMS_MAX = 10;
export const PROBLEM_LENGTH_MAX = 200;

export const ANSWER_REQUEST = strictObject({
  ...TENURE,
  task: Type.String({ minLength: 1, maxLength: 500 }),
  node: Type.Optional(ID),
  nodeEpoch: Type.Optional(Type.Integer({ minimum: 0 })),
  instance: Type.Optional(ID),
  outcome: Type.Enum(['done', 'failed']),
  problems: Type.Optional(Type.Array(Type.String({ maxLength: PROBLEM_LENGTH_MAX }), { maxItems: PROBLEMS_MAX })),
  facts: Type.Optional(Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), { maxProperties: 100 })),
});

/** What came of a task, with the right by which it was done. */
export interface AnswerRequest extends TenureRequest, TaskAnswer {
  readonly node?: string | undefined;
  readonly nodeEpoch?: number | undefined;
  readonly instance?: string | undefined;
}

export const ANSWER_RESPONSE = Type.Object({
  result: Type.Enum(['recorded', 'stale'], {
    description: '`stale`: no operation waits for it any more, also when it is repeated',
  }),
});
export type AnswerResponse = Static<typeof ANSWER_RESPONSE>;

/** Of drains and rebalances. */
export const DRAIN_REQUEST = strictObject({
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
  deadlineMs: Type.Optional(Type.Integer({ minimum: 60_000, maximum: 30 * 24 * 3600 * 1000 })),
});

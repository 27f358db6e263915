// Operations and their items. An item is a resource of its own: a step commits its item and the change it made, never
// the whole operation. Counters are therefore an index over items until the operation ends.
import { Type, type Static } from 'typebox';
import {
  schemaKind,
  type FleetReader,
  type Id,
  type Index,
  type Invariant,
  type Model,
  type Reason,
  type Stored,
} from '../fleet/index.ts';

const REASON = Type.Unsafe<Reason>(Type.Object({ code: Type.String() }, { additionalProperties: true }));

const CLOSED = { additionalProperties: false };

export const ITEM_STATES = ['pending', 'running', 'waiting', 'done', 'failed', 'cancelled'] as const;
export type ItemState = (typeof ITEM_STATES)[number];

export const OPERATION_STATES = ['running', 'cancelling', 'succeeded', 'failed', 'cancelled'] as const;
export type OperationState = (typeof OPERATION_STATES)[number];

const literals = <T extends string>(values: readonly T[]) => Type.Enum(values);

const COUNTS = Type.Object(
  {
    pending: Type.Integer(),
    running: Type.Integer(),
    waiting: Type.Integer(),
    done: Type.Integer(),
    failed: Type.Integer(),
    cancelled: Type.Integer(),
  },
  CLOSED,
);
export type ItemCounts = Static<typeof COUNTS>;

const OPERATION_SCHEMA = Type.Object(
  {
    kind: Type.String(),
    /** What it is about, in a few words: "join 3 hosts". */
    title: Type.String({ maxLength: 200 }),
    state: literals(OPERATION_STATES),
    by: Type.String(),
    why: Type.Optional(Type.String()),
    site: Type.Optional(Type.String()),
    /** The project whose things it works on, when they are all of one. */
    project: Type.Optional(Type.String()),
    /** What it moves stays inside this site: the requester may not write to others. Holds for every retry. */
    within: Type.Optional(Type.String()),
    createdAtMs: Type.Integer(),
    /** How long it may take; a retry gets as long again. */
    deadlineMs: Type.Integer({ minimum: 1 }),
    deadlineAtMs: Type.Integer(),
    finishedAtMs: Type.Optional(Type.Integer()),
    /** Final figures; while the operation runs they are counted from its items. */
    counts: Type.Optional(COUNTS),
    /** Why it failed, or what stopped it. */
    reason: Type.Optional(REASON),
    /** A bug stopped it: nothing is done for it until it is retried or cancelled. */
    stopped: Type.Optional(Type.Boolean()),
  },
  CLOSED,
);

const ITEM_SCHEMA = Type.Object(
  {
    operation: Type.String(),
    /** What it works on: its changes wake the item. */
    target: Type.Object({ kind: Type.String(), id: Type.String() }, CLOSED),
    /** The host whose agent has a task of this item, if any. */
    host: Type.Optional(Type.String()),
    /** Whoever else has the task, under a name that its kind knows; such as a manager of bare-metal nodes before there is a node. */
    assignee: Type.Optional(Type.String()),
    /** The host that a drain moves the target off. Kept here and not in the id, which callers read that may not know the host. */
    drainedHost: Type.Optional(Type.String()),
    step: Type.String(),
    state: literals(ITEM_STATES),
    reason: Type.Optional(REASON),
    /** Counts the tries of a step: an answer to an earlier try is not taken for the present one. */
    attempt: Type.Integer(),
    sinceMs: Type.Integer(),
    /** Not before this time, unless something happens to the target. */
    retryAtMs: Type.Optional(Type.Integer()),
  },
  CLOSED,
);

export type Operation = Static<typeof OPERATION_SCHEMA>;
export type Item = Static<typeof ITEM_SCHEMA>;
export type OperationId = Id<'operation'>;
export type ItemId = Id<'item'>;

/** Finished work is kept for a month: long enough to look up what happened last week. */
const FINISHED_KEPT_MS = 30 * 24 * 3600 * 1000;

const endOf = (operation: Operation | undefined): number | undefined =>
  operation === undefined
    ? 0
    : operation.finishedAtMs === undefined
      ? undefined
      : operation.finishedAtMs + FINISHED_KEPT_MS;

export const OPERATION = schemaKind('operation', OPERATION_SCHEMA, { expiresAtMs: (doc) => endOf(doc) });

export const ITEM = schemaKind('item', ITEM_SCHEMA, {
  expiresAtMs: (doc, fleet) => endOf(fleet.get(OPERATION, doc.operation as OperationId)?.doc),
});

/** Which state may follow which. `failed` returns to `pending` on a retry. */
export const ITEM_TRANSITIONS: Readonly<Record<ItemState, readonly ItemState[]>> = {
  pending: ['running', 'waiting', 'done', 'failed', 'cancelled'],
  running: ['running', 'waiting', 'done', 'failed', 'cancelled'],
  waiting: ['running', 'waiting', 'done', 'failed', 'cancelled'],
  // Retried, reopened to be undone, or cancelled at once where nothing is to be undone.
  failed: ['pending', 'cancelled'],
  done: [],
  cancelled: [],
};

export const OPERATION_TRANSITIONS: Readonly<Record<OperationState, readonly OperationState[]>> = {
  running: ['running', 'cancelling', 'succeeded', 'failed'],
  cancelling: ['cancelling', 'cancelled'],
  failed: ['running', 'cancelling'],
  succeeded: [],
  cancelled: [],
};

/** The likeliest first. */
const OPEN_STATES: readonly ItemState[] = ['running', 'waiting', 'pending'];

export function isOpen(item: Item): boolean {
  return OPEN_STATES.includes(item.state);
}

export function isUnfinished(operation: Operation): boolean {
  return operation.state === 'running' || operation.state === 'cancelling';
}

type ItemIndex = Index<'item', Item>;

export const ITEMS_BY_OPERATION: ItemIndex = {
  name: 'items-by-operation',
  kind: ITEM,
  keysOf: (doc) => [doc.operation],
};

const NO_KEYS: readonly string[] = [];

/** For operations with many items. Those that run are left out, as new ones mostly do: they are what the others are not. */
const ITEMS_BY_STATE: ItemIndex = {
  name: 'items-by-operation-and-state',
  kind: ITEM,
  keysOf: (doc) => (doc.state === 'running' ? NO_KEYS : [stateKey(doc.operation, doc.state)]),
};

/** Open items only: what a change of a resource wakes. */
export const OPEN_ITEMS_BY_TARGET: ItemIndex = {
  name: 'open-items-by-target',
  kind: ITEM,
  keysOf: (doc) => (isOpen(doc) ? [targetKey(doc.target.kind, doc.target.id)] : NO_KEYS),
};

/** Open items that may have a task for a host's agent. */
export const OPEN_ITEMS_BY_HOST: ItemIndex = {
  name: 'open-items-by-host',
  kind: ITEM,
  keysOf: (doc) => (isOpen(doc) && doc.host !== undefined ? [doc.host] : NO_KEYS),
};

/** Open items that may have a task for an assignee. */
export const OPEN_ITEMS_BY_ASSIGNEE: ItemIndex = {
  name: 'open-items-by-assignee',
  kind: ITEM,
  keysOf: (doc) => (doc.assignee !== undefined && isOpen(doc) ? [doc.assignee] : NO_KEYS),
};

export const UNFINISHED_OPERATIONS: Index<'operation', Operation> = {
  name: 'unfinished-operations',
  kind: OPERATION,
  keysOf: (doc) => (isUnfinished(doc) ? ['unfinished'] : []),
};

function stateKey(operation: string, state: ItemState): string {
  return `${operation}|${state}`;
}

export function targetKey(kind: string, id: string): string {
  return `${kind}/${id}`;
}

/** Up to so many items are counted one by one: most operations have one. */
const LOOKED_AT_MAX = 8;

/** How many items of an operation are in which state. */
export function countsOf(fleet: FleetReader, operation: OperationId): ItemCounts {
  const counts = { pending: 0, running: 0, waiting: 0, done: 0, failed: 0, cancelled: 0 };
  const total = fleet.countOf(ITEMS_BY_OPERATION, operation);
  if (total <= LOOKED_AT_MAX) {
    for (const { doc } of fleet.find(ITEMS_BY_OPERATION, operation)) counts[doc.state] += 1;
    return counts;
  }
  counts.running = total;
  for (const state of ITEM_STATES) {
    if (state === 'running') continue;
    counts[state] = fleet.countOf(ITEMS_BY_STATE, stateKey(operation, state));
    counts.running -= counts[state];
  }
  return counts;
}

export function hasOpenItem(fleet: FleetReader, operation: OperationId): boolean {
  const { pending, running, waiting } = countsOf(fleet, operation);
  return pending + running + waiting > 0;
}

/** One of those that failed, if any did. */
export function findFailedItem(fleet: FleetReader, operation: OperationId): Stored<'item', Item> | undefined {
  for (const item of fleet.find(ITEMS_BY_STATE, stateKey(operation, 'failed'))) return item;
  return undefined;
}

const legalTransitions: Invariant = {
  name: 'never: an item or operation takes a step that its table does not have',
  check: (changed) =>
    changed.flatMap(({ kind, before, after }) => {
      if (before === undefined || after === undefined) return [];
      const [from, to] = [(before.doc as Item | Operation).state, (after.doc as Item | Operation).state];
      const table: Readonly<Record<string, readonly string[]>> | undefined =
        kind === ITEM.name ? ITEM_TRANSITIONS : kind === OPERATION.name ? OPERATION_TRANSITIONS : undefined;
      return table === undefined || table[from]?.includes(to) === true ? [] : [`${kind}/${after.id}: ${from} to ${to}`];
    }),
};

const finishedHasNoOpenItem: Invariant = {
  name: 'never: a finished operation has an open item',
  check: (changed, fleet) => {
    const touched = changed.flatMap(({ kind, after }) =>
      after === undefined
        ? []
        : kind === OPERATION.name
          ? [after.id]
          : kind === ITEM.name
            ? [(after.doc as Item).operation]
            : [],
    );
    return touched.flatMap((id) => {
      const operation = fleet.get(OPERATION, id as OperationId);
      if (operation === undefined || isUnfinished(operation.doc)) return [];
      const counts = countsOf(fleet, operation.id);
      const open = counts.pending + counts.running + counts.waiting;
      return open === 0 ? [] : [`operation ${id} is ${operation.doc.state} with ${open} open items`];
    });
  },
};

const noStepAfterDeadline: Invariant = {
  name: 'never: an operation acts after its deadline',
  check: (changed, fleet) =>
    changed.flatMap(({ kind, after }) => {
      if (kind !== ITEM.name || after === undefined) return [];
      const item = after.doc as Item;
      const operation = fleet.get(OPERATION, item.operation as OperationId)?.doc;
      const acted = item.state === 'running' || item.state === 'done' || item.state === 'waiting';
      if (operation === undefined || !acted || item.sinceMs <= operation.deadlineAtMs) return [];
      return [`item ${after.id} became ${item.state} after the deadline of its operation`];
    }),
};

export const operationsModel: Model = {
  kinds: [OPERATION, ITEM],
  indexes: [
    ITEMS_BY_OPERATION,
    ITEMS_BY_STATE,
    OPEN_ITEMS_BY_TARGET,
    OPEN_ITEMS_BY_HOST,
    OPEN_ITEMS_BY_ASSIGNEE,
    UNFINISHED_OPERATIONS,
  ],
  invariants: [legalTransitions, finishedHasNoOpenItem, noStepAfterDeadline],
};

/** The site that what an item moves must stay in; undefined when it may leave its site. */
export function siteLimitOf(fleet: FleetReader, item: Item): string | undefined {
  return fleet.get(OPERATION, item.operation as OperationId)?.doc.within;
}

export function isSameReason(one: Reason | undefined, other: Reason | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

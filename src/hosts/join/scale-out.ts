// The operation `scale-out`: new and removed hosts come into service and, on request, services are rebalanced over them afterwards. Without
// that request it must never move anything: healthy services stay where they are.
import {
  idOf,
  type AppliedChange,
  type Change,
  type FleetReader,
  type Reason,
  type Refusal,
} from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import {
  decideLater,
  isOpen,
  ITEM,
  ITEMS_BY_OPERATION,
  newOperation,
  OPERATION,
  operationOf,
  record,
  wait,
  type Item,
  type NewItem,
  type PlannedStep,
  type OperationId,
  type OperationKind,
  type ReasonSentences,
  type StoredItem,
} from '../../operations/index.ts';
import { registerHosts, type JoinHosts } from '../decide.ts';
import type { BeginEvacuation } from '../evacuator.ts';
import { hostJoin } from './join.ts';

const SCALE_OUT_KIND = 'scale-out';

export interface ScaleOut extends JoinHosts {
  readonly rebalance: boolean;
}

/** Rebalances services over the active hosts, as many as the budget allows at once; or returns why it cannot now. */
export type Rebalance = (
  fleet: FleetReader,
  how: BeginEvacuation,
) => { readonly changes: readonly Change[]; readonly more: boolean } | Refusal;

const REBALANCE_STEP = 'rebalance';
/** No host has a name that begins with a dot. */
const REBALANCE_KEY = `.${REBALANCE_STEP}`;
const REBALANCE_AGAIN_MS = 10_000;

export function scaleOut(fleet: FleetReader, command: ScaleOut): Decision<{ readonly operation: OperationId }> {
  const registered = registerHosts(fleet, command);
  if ('code' in registered) return refuse(registered);
  const { hosts, operation, rebalance, by, why, nowMs, deadlineMs } = command;
  const after: NewItem = {
    key: REBALANCE_KEY,
    target: { kind: OPERATION.name, id: operation },
    step: REBALANCE_STEP,
  };
  const changes = newOperation({
    id: operation,
    kind: SCALE_OUT_KIND,
    title: hosts.length === 1 ? `scale out by host ${hosts[0]?.name}` : `scale out by ${hosts.length} hosts`,
    by,
    ...(why !== undefined && { why }),
    ...(registered.site !== undefined && { site: registered.site }),
    nowMs,
    deadlineMs,
    items: [...registered.items, ...(rebalance ? [after] : [])],
  });
  return accept([...registered.changes, ...changes], { operation });
}

export function scaleOutKind(rebalance: Rebalance): OperationKind {
  return {
    ...hostJoin,
    name: SCALE_OUT_KIND,
    steps: [...hostJoin.steps, REBALANCE_STEP],
    cancel: { kind: 'does', what: 'hosts that are not active yet are deleted; services are not rebalanced' },

    plan: (fleet, items, nowMs) => {
      const after = items.find(isRebalance);
      const added = items.filter((item) => !isRebalance(item));
      const joins = hostJoin.plan(fleet, added, nowMs);
      return after === undefined ? joins : [...joins, ...planRebalanceStep(fleet, after, { rebalance, nowMs })];
    },

    undo: (fleet, item, nowMs) =>
      isRebalance(item) ? { changes: [], expects: [] } : (hostJoin.undo?.(fleet, item, nowMs) ?? NOTHING),

    itemsToWake: (fleet, change) => {
      const operation = operationOfEndedItem(change);
      const item = operation === undefined ? undefined : fleet.get(ITEM, idOf(ITEM, `${operation}.${REBALANCE_KEY}`));
      return item !== undefined && isOpen(item.doc) ? [item] : [];
    },
  };
}

const NOTHING = { changes: [], expects: [] };

function isRebalance({ doc }: StoredItem): boolean {
  return doc.target.kind === OPERATION.name;
}

/** The operation whose item has just ended. */
function operationOfEndedItem({ kind, after }: AppliedChange): string | undefined {
  if (kind !== ITEM.name || after === undefined) return undefined;
  const item = after.doc as Item;
  return isOpen(item) ? undefined : item.operation;
}

/** Once all hosts are active, or have failed to join: move the services that the new hosts can take. */
function planRebalanceStep(
  fleet: FleetReader,
  item: StoredItem,
  { rebalance, nowMs }: { readonly rebalance: Rebalance; readonly nowMs: number },
): readonly PlannedStep[] {
  const others = [...fleet.find(ITEMS_BY_OPERATION, item.doc.operation)].filter(({ id }) => id !== item.id);
  if (others.some(({ doc }) => isOpen(doc))) return [wait(item, { code: 'hosts-coming-in' })];
  if (item.doc.state === 'waiting' && nowMs < (item.doc.retryAtMs ?? 0)) return [];
  if (!others.some(({ doc }) => doc.state === 'done')) return [record(item, { state: 'done', step: REBALANCE_STEP })];
  const { by, why, deadlineMs } = operationOf(fleet, item).doc;
  const { attempt, operation } = item.doc;
  const named = idOf(OPERATION, `${operation}.${REBALANCE_STEP}-${attempt}`);
  return [
    decideLater(item, (now, atMs) => {
      const how = { operation: named, by, ...(why !== undefined && { why }), nowMs: atMs, deadlineMs };
      const started = rebalance(now, how);
      const retryAtMs = atMs + REBALANCE_AGAIN_MS;
      if ('code' in started) return [wait(item, cannotRebalanceReason(started), retryAtMs)];
      const { changes } = started;
      if (started.more) return [record(item, { ...MORE, retryAtMs, attempt: attempt + 1 }, { changes })];
      return [record(item, { state: 'done', step: REBALANCE_STEP }, { changes })];
    }),
  ];
}

const MORE = { state: 'waiting', step: REBALANCE_STEP, reason: { code: 'more-to-spread' } } as const;

function cannotRebalanceReason({ code, message }: Refusal): Reason {
  return { code: 'cannot-rebalance', because: code, message };
}

export const scaleOutSentences: ReasonSentences = {
  'hosts-coming-in': () => 'Services are rebalanced once the hosts are active.',
  'more-to-spread': () => 'Services are being rebalanced, and more of them once these have moved.',
  'cannot-rebalance': ({ message }) => `Services cannot be rebalanced now: ${String(message)} It is tried again.`,
};

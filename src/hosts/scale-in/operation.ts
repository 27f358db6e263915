// The operation `scale-in`: drains hosts, each on its own, within the budgets of all. Services are handed over first, then everything else
// moves; an empty host becomes drained. After the deadline no more moves begin, and the host stays as it is.
import type { AppliedChange, FleetReader } from '../../fleet/index.ts';
import {
  decideLater,
  isOpen,
  ITEM,
  operationOf,
  record,
  wait,
  siteLimitOf,
  type Item,
  type PlannedStep,
  type OperationKind,
  type StoredItem,
} from '../../operations/index.ts';
import { findHost } from '../decide.ts';
import type { Evacuator } from '../evacuator.ts';
import { drainStep, isBlocked } from './drain.ts';
import { BUDGET_WAITERS, hostDrainedBy, EVERY_MOVE, fullReason, moveBudgetFor } from './moves.ts';
import { DRAIN_KIND, itemsOfHost, findTouchedItems } from './host-items.ts';

/** A move that ends makes room for one more; the next in turn may have nothing to move any more. */
const WOKEN_PER_MOVE = 2;

export function scaleInKind(evacuators: readonly Evacuator[]): OperationKind {
  return {
    name: DRAIN_KIND,
    steps: ['handover', 'move', 'empty'],
    cancel: { kind: 'none', because: 'hosts are brought back with "muster scale-in recover"' },
    retry: { kind: 'does', what: 'what is left on the hosts is moved, with a new deadline' },

    plan: (fleet, items) => items.map((item) => planItem(fleet, evacuators, item)),
    itemsToWake: (fleet, change) => itemsWokenBy(fleet, evacuators, change),
  };
}

/** Moves begin in a decision on the newest state: two passes at once must not overdraw the budgets. */
function planItem(fleet: FleetReader, evacuators: readonly Evacuator[], item: StoredItem): PlannedStep {
  const host = findHost(fleet, item.doc.target.id);
  // It has moved on: drained, or taken over by another verb.
  if (host?.doc.state !== 'draining') return record(item, { state: 'done', step: 'empty' });
  // Most passes come while its moves are open: they cost no decision.
  const budget = item.doc.step === 'move' ? moveBudgetFor(fleet, evacuators, host.id) : undefined;
  if (budget?.moves === 0) return wait(item, fullReason(host.id, budget));
  const { by } = operationOf(fleet, item).doc;
  return decideLater(item, (at, nowMs) => {
    const now = at.get(ITEM, item.id);
    const found = findHost(at, item.doc.target.id);
    if (now === undefined || found?.doc.state !== 'draining') return [];
    const within = siteLimitOf(at, now.doc);
    return drainStep({ fleet: at, evacuators, item: now, host: found, by, within, nowMs });
  });
}

function* itemsWokenBy(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  change: AppliedChange,
): Iterable<StoredItem> {
  yield* findTouchedItems(fleet, evacuators, change);
  const [before, after] = [change.before?.doc as Item | undefined, change.after?.doc as Item | undefined];
  if (change.kind !== ITEM.name || before === undefined || !isOpen(before)) return;
  const isStillOpen = after !== undefined && isOpen(after);
  // Blocked tenants are skipped from then on.
  if (after?.host !== undefined && isBlocked({ doc: after }) && !isBlocked({ doc: before }))
    yield* itemsOfHost(fleet, after.host);
  if (before.host !== undefined && !(isStillOpen && after.host === before.host)) yield* itemsOfHost(fleet, before.host);
  if (isStillOpen) return;
  const drained = hostDrainedBy(before);
  if (drained === undefined) return;
  yield* itemsOfHost(fleet, drained);
  let woken = 0;
  for (const item of fleet.find(BUDGET_WAITERS, EVERY_MOVE)) {
    if (woken === WOKEN_PER_MOVE) return;
    woken += 1;
    yield item;
  }
}

// The moves that drains have started: found by the host in their items, so that budgets cost nothing to check.
import { mark, valueOf, type FleetReader, type Index, type Reason } from '../../fleet/index.ts';
import { isOpen, ITEM, type Item, type OperationId } from '../../operations/index.ts';
import type { Evacuator } from '../evacuator.ts';
import { SCALE_IN } from './settings.ts';

/** Ids of operations that an earlier version began: they contain the host. */
const DRAIN_MOVE = /^drain-\d+\.(.+)\.[^.]+$/;
export const EVERY_MOVE = 'every';

/**
 * The operation id for the moves of one pass over a host. It is decided inside a commit of its own, so that the revision makes it unique; evacuators
 * append a word of their own. It must not contain the host: the owners of what is moved read it, and may not know their hosts.
 */
export function drainMovesId(fleet: FleetReader): OperationId {
  return `drain-${fleet.revision}` as OperationId;
}

/** The host that an operation of an earlier version moves something off for a drain. */
export function hostOfDrain(operation: string): string | undefined {
  return DRAIN_MOVE.exec(operation)?.[1];
}

/** The host that an item moves something off for a drain. */
export function hostDrainedBy({ drainedHost, operation }: Item): string | undefined {
  return drainedHost ?? hostOfDrain(operation);
}

export const DRAIN_MOVES: Index<'item', Item> = {
  name: 'drain-moves',
  kind: ITEM,
  keysOf: (doc) => {
    const host = isOpen(doc) ? hostDrainedBy(doc) : undefined;
    return host === undefined ? [] : [EVERY_MOVE, `host:${host}`];
  },
};

/** Hosts that would move something but for the budget: woken one by one as moves end. */
export const BUDGET_WAITERS: Index<'item', Item> = {
  name: 'budget-waiters',
  kind: ITEM,
  keysOf: (doc) => (doc.state === 'waiting' && doc.reason?.code === 'budget' ? [EVERY_MOVE] : []),
};

/** How many open moves of drains are off this host. */
export function movesOff(fleet: FleetReader, host: string): number {
  return fleet.countOf(DRAIN_MOVES, `host:${host}`);
}

export interface MoveBudget {
  /** How many more moves may be begun for the host. */
  readonly moves: number;
  /** Whether anything is moving off it. */
  readonly underWay: boolean;
}

/** Moves off the host that others started count against its own budget, too. */
export function moveBudgetFor(fleet: FleetReader, evacuators: readonly Evacuator[], host: string): MoveBudget {
  const { movesAtOnce, movesPerHostAtOnce } = valueOf(fleet, SCALE_IN);
  const started = movesOff(fleet, host);
  const leaving = evacuators
    .filter((one) => one.leavesFirst !== true)
    .reduce((sum, one) => sum + one.countLeaving(fleet, host), 0);
  const onHost = movesPerHostAtOnce - Math.max(started, leaving);
  const overall = movesAtOnce - fleet.countOf(DRAIN_MOVES, EVERY_MOVE);
  return { moves: Math.max(0, Math.min(onHost, overall)), underWay: Math.max(started, leaving) > 0 };
}

/** Why no move may be begun now. */
export function fullReason(host: string, { underWay }: MoveBudget): Reason {
  if (!underWay) mark('drain-waits-for-others');
  return { code: underWay ? 'moves-under-way' : 'budget', host };
}

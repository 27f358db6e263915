// The moves that drains have begun: found by the names of their operations, so that budgets cost nothing to look at.
import { mark, valueOf, type FleetReader, type Index, type Reason } from '../../fleet/index.ts';
import { isOpen, ITEM, type Item, type OperationId } from '../../operations/index.ts';
import type { Evacuator } from '../evacuator.ts';
import { SCALE_IN } from './settings.ts';

const DRAIN_MOVE = /^drain-\d+\.(.+)\.[^.]+$/;
export const EVERY_MOVE = 'every';

/** The moves of one look at a host. The revision tells it from all others; evacuators add a word of their own. */
export function drainMovesId(fleet: FleetReader, host: string): OperationId {
  return `drain-${fleet.revision}.${host}` as OperationId;
}

/** The host that an operation moves something off for a drain. */
export function hostOfDrain(operation: string): string | undefined {
  return DRAIN_MOVE.exec(operation)?.[1];
}

/** The same of one of its items. */
export function hostDrainedBy({ operation }: Item): string | undefined {
  return hostOfDrain(operation);
}

export const DRAIN_MOVES: Index<'item', Item> = {
  name: 'drain-moves',
  kind: ITEM,
  keysOf: (doc) => {
    const host = isOpen(doc) ? hostDrainedBy(doc) : undefined;
    return host === undefined ? [] : [EVERY_MOVE, `host:${host}`];
  },
};

/** Hosts that would move something if others did not: woken one by one as moves end. */
export const BUDGET_WAITERS: Index<'item', Item> = {
  name: 'budget-waiters',
  kind: ITEM,
  keysOf: (doc) => (doc.state === 'waiting' && doc.reason?.code === 'budget' ? [EVERY_MOVE] : []),
};

/** How many moves that drains began are under way off a host. */
export function movesOff(fleet: FleetReader, host: string): number {
  return fleet.countOf(DRAIN_MOVES, `host:${host}`);
}

export interface MoveBudget {
  /** How many more moves may be begun for the host. */
  readonly moves: number;
  /** Whether anything is on its way off it. */
  readonly underWay: boolean;
}

/** Also what others move off the host counts against its own budget. */
export function moveBudgetFor(fleet: FleetReader, evacuators: readonly Evacuator[], host: string): MoveBudget {
  const { movesAtOnce, movesPerHostAtOnce } = valueOf(fleet, SCALE_IN);
  const begun = movesOff(fleet, host);
  const leaving = evacuators
    .filter((one) => one.leavesFirst !== true)
    .reduce((sum, one) => sum + one.countLeaving(fleet, host), 0);
  const onHost = movesPerHostAtOnce - Math.max(begun, leaving);
  const overall = movesAtOnce - fleet.countOf(DRAIN_MOVES, EVERY_MOVE);
  return { moves: Math.max(0, Math.min(onHost, overall)), underWay: Math.max(begun, leaving) > 0 };
}

/** Why no move may be begun now. */
export function fullReason(host: string, { underWay }: MoveBudget): Reason {
  if (!underWay) mark('drain-waits-for-others');
  return { code: underWay ? 'moves-under-way' : 'budget', host };
}

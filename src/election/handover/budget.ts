// How many more handovers may begin: the limit is a setting. A handover that only waits for something outside of it, possibly for long, must not use
// the budget, or a few sick services would hold up all the healthy ones.
import { valueOf, type FleetReader, type Index } from '../../fleet/index.ts';
import { ITEM, type Item } from '../../operations/index.ts';
import { SERVICE, SERVICES_IN_HANDOVER } from '../model.ts';
import { SERVICE_NOT_READY } from './conntrack-sync.ts';
import { ELECTION } from '../settings.ts';

const BLOCKED = 'blocked';

/**
 * What a handover before its switch waits for without a time limit: a service that cannot be prepared, a host whose switch cannot be stopped, a
 * target that comes back. Conntrack sync ends by itself: one that waits for it is at work.
 */
const BLOCKING: Readonly<Record<string, readonly string[]>> = {
  prepare: [SERVICE_NOT_READY, 'held-out-of-control', 'host-recovering'],
  sync: ['held-out-of-control', 'host-recovering'],
};

export const HANDOVERS_BLOCKED: Index<'item', Item> = {
  name: 'handovers-blocked',
  kind: ITEM,
  keysOf: ({ target, step, state, reason }) => {
    const isBlocked = state === 'waiting' && reason !== undefined && BLOCKING[step]?.includes(reason.code) === true;
    return isBlocked && target.kind === SERVICE.name ? [BLOCKED] : [];
  },
};

export function handoverBudget(fleet: FleetReader): number {
  const underWay = fleet.countOf(SERVICES_IN_HANDOVER, 'under-way') - fleet.countOf(HANDOVERS_BLOCKED, BLOCKED);
  return Math.max(0, valueOf(fleet, ELECTION).handoversAtOnce - underWay);
}

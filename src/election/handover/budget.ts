// How many more handovers may begin: the limit is a setting. A handover whose target cannot provide the service yet only waits, possibly for
// long: it must not use the budget, or a few sick services would hold up all the healthy ones.
import { valueOf, type FleetReader, type Index } from '../../fleet/index.ts';
import { ITEM, type Item } from '../../operations/index.ts';
import { SERVICE, SERVICES_IN_HANDOVER } from '../model.ts';
import { SERVICE_NOT_READY } from './conntrack-sync.ts';
import { ELECTION } from '../settings.ts';

const BLOCKED = 'blocked';

/** Handovers that wait for a service that cannot be prepared. Those in conntrack sync are at work. */
export const HANDOVERS_BLOCKED: Index<'item', Item> = {
  name: 'handovers-blocked',
  kind: ITEM,
  keysOf: ({ target, step, state, reason }) => {
    const isBlocked = step === 'prepare' && state === 'waiting' && reason?.code === SERVICE_NOT_READY;
    return isBlocked && target.kind === SERVICE.name ? [BLOCKED] : [];
  },
};

export function handoverBudget(fleet: FleetReader): number {
  const underWay = fleet.countOf(SERVICES_IN_HANDOVER, 'under-way') - fleet.countOf(HANDOVERS_BLOCKED, BLOCKED);
  return Math.max(0, valueOf(fleet, ELECTION).handoversAtOnce - underWay);
}

// How many more hand-overs may be begun: so many at once as the setting says. One whose next host cannot provide the service yet does
// nothing but wait, for as long as that lasts: it takes no room, or a few sick services would hold up all the healthy ones.
import { valueOf, type FleetReader, type Index } from '../../fleet/index.ts';
import { ITEM, type Item } from '../../operations/index.ts';
import { SERVICE, SERVICES_IN_HANDOVER } from '../model.ts';
import { SERVICE_NOT_READY } from './conntrack-sync.ts';
import { ELECTION } from '../settings.ts';

const BLOCKED = 'blocked';

/** Hand-overs that wait for a service that cannot be prepared. Those that copy connections are at work. */
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

// A handover whose target has BFD down to most of its peers. The caller that started it may not know: BFD reports are in the memory of the
// lease holder and in no document. So the driver `views` is queried before each step up to the switch, and names a target that is up. Without
// this, elections would revert the switch at once and the drain of the old host would begin again, without end.
import { idOf, mark, type FleetReader, type Reason } from '../../fleet/index.ts';
import type { RecordStep, StoredItem } from '../../operations/index.ts';
import { ElectionContext } from '../candidates.ts';
import { isBeforeSwitch, SERVICE } from '../model.ts';
import { failHandover, restartWithTarget } from './retarget.ts';
import { isVoluntary, findActiveHandover, type ActiveHandover } from './target.ts';
import { whyOf } from '../why.ts';

/** What the driver `views` answers when BFD to the next host is down and BFD to one of the others is up. */
const TARGET_BFD_DOWN = 'target-bfd-down';

/** The extra argument of the driver. */
export interface TargetCheck {
  readonly target: string;
  /** Alternative targets. */
  readonly others: readonly string[];
}

/** The standby, which elections chose knowing which hosts have BFD down, and who else was a candidate; not all: that costs what a service has presence. */
export function targetCheckFor(fleet: FleetReader, { service: { doc }, handover }: ActiveHandover): TargetCheck {
  const { from, to, why } = handover;
  // A requested move goes there or nowhere.
  if (isVoluntary(why.cause)) return { target: to, others: [from] };
  const context = new ElectionContext(fleet);
  const known = [doc.standby, ...why.candidates.map(({ host }) => host)].filter((host) => host !== undefined);
  const others = [...new Set(known)].filter((host) => host !== from && host !== to);
  return { target: to, others: others.filter((host) => context.rejectionOf(doc, host) === undefined) };
}

/** Another target, or the end of a requested move; undefined when the driver answered otherwise, or the answer is outdated. */
export function handleBfdDownTarget(
  fleet: FleetReader,
  item: StoredItem,
  { code, host: bfdDown, alternative }: Reason,
  nowMs: number,
): RecordStep | undefined {
  const active = findActiveHandover(fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)), item);
  if (code !== TARGET_BFD_DOWN || active === undefined) return undefined;
  const { service, handover } = active;
  const { from, to, why } = handover;
  if (bfdDown !== to || !isBeforeSwitch(handover)) return undefined;
  if (isVoluntary(why.cause)) return failHandover(item, active, 'bfd-down', nowMs);
  const host = String(alternative);
  const context = new ElectionContext(fleet, (one) => one === to);
  if (host === from || context.rejectionOf(service.doc, host) !== undefined) return undefined;
  mark('handover-target-bfd-down');
  const choice = { host, why: whyOf(why.cause, context.candidatesOf(service, [from]), host, nowMs) };
  return restartWithTarget(item, active, choice, nowMs);
}

// The alarm of work that has waited for long, for a manager, a machine or an inventory: what was accepted is remembered until it is done, so an operator has to
// know what keeps it waiting. One alarm for each of the three, however many operations wait.
import { alarmId, clearAlarm, raiseOrUpdateAlarm } from '../../alarms/index.ts';
import type { Change, FleetReader, Index } from '../../fleet/index.ts';
import { ITEM, operationOf, type Item, type StoredItem } from '../../operations/index.ts';

export const WORK_WAITS = 'node-work-waits';

/** A take-over takes seconds, a restart of whatever is waited for minutes. */
export const LONG_WAIT_MS = 15 * 60_000;

/** What is waited for under each reason. */
const WAITED_FOR = {
  'node-unmanaged': 'manager',
  'no-manager-alive': 'manager',
  'machine-unavailable': 'machine',
  'machine-busy': 'machine',
  'inventory-unreachable': 'inventory',
  'inventory-silent': 'inventory',
  'inventory-refused': 'inventory',
  'inventory-not-configured': 'inventory',
} as const;
type WaitedFor = (typeof WAITED_FOR)[keyof typeof WAITED_FOR];

const CAUSES = ['manager', 'machine', 'inventory'] as const;
const NO_KEYS: readonly string[] = [];

export const WAITING_NODE_ITEMS: Index<'item', Item> = {
  name: 'waiting-node-items',
  kind: ITEM,
  keysOf: ({ state, reason }) => {
    const cause = state === 'waiting' && reason !== undefined ? causeOf(reason.code) : undefined;
    return cause === undefined ? NO_KEYS : [cause];
  },
};

function causeOf(code: string): WaitedFor | undefined {
  return Object.hasOwn(WAITED_FOR, code) ? WAITED_FOR[code as keyof typeof WAITED_FOR] : undefined;
}

/** The changes that bring the alarms to what is so. */
export function reconcileLongWaits(fleet: FleetReader, nowMs: number): Change[] {
  return CAUSES.flatMap((cause) => {
    const id = alarmId(WORK_WAITS, cause);
    const since = new Map([...fleet.find(WAITING_NODE_ITEMS, cause)].map((item) => [item, sinceMs(fleet, item)]));
    const long = [...since].filter(([, ms]) => ms + LONG_WAIT_MS <= nowMs).sort(([, one], [, other]) => one - other);
    const [first] = long;
    if (first === undefined) return clearAlarm(fleet, id);
    const [{ doc }, firstMs] = first;
    const reason = { code: WORK_WAITS, waitsFor: cause, count: long.length, operation: doc.operation };
    return raiseOrUpdateAlarm(fleet, id, { severity: 'warning', reason, sinceMs: firstMs });
  });
}

/** What is tried again and again begins to wait each time: then it counts since its request. */
function sinceMs(fleet: FleetReader, item: StoredItem): number {
  const { retryAtMs, sinceMs: waitingMs } = item.doc;
  return retryAtMs === undefined ? waitingMs : operationOf(fleet, item).doc.createdAtMs;
}

// A hand-over before its switch that goes to another host than it began with, or ends where it is: its target cannot take the service
// any more, or the old host stays.
import { idOf, mark, put, type FleetReader } from '../fleet/index.ts';
import { record, type RecordStep, type StoredItem } from '../operations/index.ts';
import { isBeforeSwitch, SERVICE, type HandOver, type Rejection, type Service } from './model.ts';
import { withoutHandOver } from './passing.ts';
import { passedBy, targetOf, type AskTarget, type Passed } from './target.ts';
import type { Choice } from './why.ts';

export const BY = 'operation:hand-over';

/** What becomes of a hand-over that cannot go on as it is; decided on the newest state. */
export function retargeted(fleet: FleetReader, item: StoredItem, ask: AskTarget): RecordStep[] {
  const passed = passedBy(fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)), item);
  if (passed === undefined || !isBeforeSwitch(passed.handOver)) return [];
  const target = targetOf(fleet, passed, ask);
  if (target.kind === 'another') return [toAnother(item, passed, target.choice, ask.nowMs)];
  if (target.kind === 'host-stays') return [stays(item, passed, ask.nowMs)];
  if (target.kind !== 'give-up') return [];
  return [givesUp(item, passed, target.because, ask.nowMs)];
}

/** Whoever has it keeps it. */
export function givesUp(
  item: StoredItem,
  { service, handOver: { to } }: Passed,
  because: Rejection | 'no-presence',
  nowMs: number,
): RecordStep {
  mark('hand-over-given-up');
  const reason = { code: 'target-unfit', service: service.id, host: to, because };
  const changes = [put(SERVICE, service.id, withoutHandOver(service.doc, { by: BY, nowMs }))];
  return record(item, { state: 'failed', step: item.doc.step, reason }, { changes });
}

/** Its host is back in service: what was not switched is not begun any more, and no other host is tried. */
function stays(item: StoredItem, { service, handOver: { from } }: Passed, nowMs: number): RecordStep {
  mark('hand-over-host-stays');
  const reason = { code: 'host-stays', service: service.id, host: from };
  const changes = [put(SERVICE, service.id, withoutHandOver(service.doc, { by: BY, nowMs }))];
  return record(item, { state: 'done', step: item.doc.step, reason }, { changes });
}

/** From the beginning: nothing is built there yet. */
export function toAnother(
  item: StoredItem,
  { service, handOver: before }: Passed,
  { host, why }: Choice,
  nowMs: number,
): RecordStep {
  mark('hand-over-another-target');
  const next: HandOver = { ...before, to: host, why, phase: 'preparing', sinceMs: nowMs };
  const doc: Service = { ...service.doc, handOver: next };
  const progress = { state: 'running', step: 'prepare', attempt: item.doc.attempt + 1 } as const;
  return record(item, progress, { changes: [put(SERVICE, service.id, doc)] });
}

// The service document after an election, a withdrawal, or a cancelled handover; and the start of handovers. Designations must be written
// nowhere else: the epoch grows with every new one.
import { put, type Change, type FleetReader } from '../fleet/index.ts';
import { findHost, isTombstoned } from '../hosts/index.ts';
import { newOperation, OPEN_ITEMS_BY_TARGET, targetKey, type OperationId } from '../operations/index.ts';
import { SERVICE, type Service, type StoredService, type Why } from './model.ts';
import type { ElectedHost } from './why.ts';

export interface Authorship {
  readonly by: string;
  readonly nowMs: number;
}

const authorFields = ({ by, nowMs }: Authorship): Pick<Service, 'changedBy' | 'changedAtMs'> => ({
  changedBy: by,
  changedAtMs: nowMs,
});

/** Designates this host. */
export function designate(fleet: FleetReader, doc: Service, { host, why }: ElectedHost, by: Authorship): Service {
  const { handover: _, cameFrom: __, standby, ...rest } = doc;
  const from = doc.designated?.host;
  const before = from === undefined ? undefined : findHost(fleet, from)?.doc;
  const leaving = before !== undefined && isTombstoned(before) ? before.leaving : undefined;
  return {
    ...rest,
    epoch: doc.epoch + 1,
    designated: { host, sinceMs: by.nowMs, ...degradedFlag(fleet, host) },
    ...(standby !== undefined && standby !== host && { standby }),
    ...(from !== undefined && leaving !== undefined && { cameFrom: { host: from, operation: leaving.operation } }),
    why,
    ...authorFields(by),
  };
}

function degradedFlag(fleet: FleetReader, host: string): { readonly degraded?: true } {
  const doc = findHost(fleet, host)?.doc;
  return doc !== undefined && isTombstoned(doc) ? { degraded: true } : {};
}

/** No host is designated. The epoch stays: the next designation grows from it. */
export function withdrawDesignation(doc: Service, by: Authorship): Service {
  const { designated: _, handover: __, standby: ___, ...rest } = doc;
  return { ...rest, ...authorFields(by) };
}

export function setDegraded(doc: Service, degraded: boolean, by: Authorship): Service {
  if (doc.designated === undefined) return doc;
  const { degraded: _, ...designated } = doc.designated;
  return { ...doc, designated: { ...designated, ...(degraded && { degraded: true }) }, ...authorFields(by) };
}

/** Whether it is brought back to its former host once the budget allows. */
export function setFailBackPending(doc: Service, back: boolean, by: Authorship): Service {
  const { cameFrom, ...rest } = doc;
  if (cameFrom === undefined) return doc;
  const { back: _, ...from } = cameFrom;
  return { ...rest, cameFrom: { ...from, ...(back && { back }) }, ...authorFields(by) };
}

/** Ends the handover with the designated host: before the switch the old one, after it the new one. */
export function clearHandover(doc: Service, by: Authorship): Service {
  const { handover: _, ...rest } = doc;
  return { ...rest, ...authorFields(by) };
}

/** A service that moves from its host to another. */
export interface PlannedHandover {
  readonly service: StoredService;
  readonly to: string;
  readonly why: Why;
}

export interface BeginHandovers extends Authorship {
  readonly operation: OperationId;
  readonly why?: string;
  readonly deadlineMs: number;
}

/** A service has at most one handover at a time, and none while the former host is still being cleared. */
export function isHandoverActive(fleet: FleetReader, { id, doc }: Pick<StoredService, 'id' | 'doc'>): boolean {
  return doc.handover !== undefined || fleet.countOf(OPEN_ITEMS_BY_TARGET, targetKey(SERVICE.name, id)) > 0;
}

/** The services with their handover, and the one operation that does it. None for an empty list. */
export function beginHandovers(passing: readonly PlannedHandover[], how: BeginHandovers): Change[] {
  if (passing.length === 0) return [];
  const { operation, by, why, nowMs, deadlineMs } = how;
  const [only] = passing;
  return [
    ...passing.map(({ service: { id, doc }, to, why: chosen }) => {
      const from = doc.designated?.host ?? '';
      const handover = { operation, from, to, phase: 'preparing' as const, why: chosen, sinceMs: nowMs };
      // Requested once: one that is abandoned or cancelled is not begun again.
      return put(SERVICE, id, { ...setFailBackPending(doc, false, how), handover, ...authorFields(how) });
    }),
    ...newOperation({
      id: operation,
      kind: 'handover',
      title: passing.length === 1 ? `handover of ${only?.service.id} to ${only?.to}` : `${passing.length} handovers`,
      by,
      ...(why !== undefined && { why }),
      nowMs,
      deadlineMs,
      items: passing.map(({ service: { id, doc } }) => ({
        key: id,
        target: { kind: SERVICE.name, id },
        ...(doc.designated !== undefined && { host: doc.designated.host }),
        step: 'prepare',
      })),
    }),
  ];
}

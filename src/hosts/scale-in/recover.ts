// The operation `scale-in-recover`: a leaving host becomes active again. It counts only once the moves of its drain have ended and the host
// itself has converged on its view.
import { mergeChanges, mark, put, type FleetReader, type Reason } from '../../fleet/index.ts';
import {
  decideLater,
  ITEM,
  record,
  wait,
  type ActionOutcome,
  type PlannedStep,
  type OperationId,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { findHost, type StoredHost } from '../decide.ts';
import type { Evacuator } from '../evacuator.ts';
import { HOST } from '../model.ts';
import { RECOVER_KIND } from './host-items.ts';
import { retryConvergence, awaitConvergence } from '../convergence.ts';

const RECOVERER = 'operation:scale-in-recover';
/** Tenants that are brought back have as long as any move. */
const FAIL_BACK_DEADLINE_MS = 3600 * 1000;

export function scaleInRecoverKind(evacuators: readonly Evacuator[]): OperationKind {
  return {
    name: RECOVER_KIND,
    steps: ['settle', 'activate'],
    cancel: { kind: 'none', because: 'start the scale-in again instead' },
    retry: { kind: 'does', what: 'hosts that did not come back in time are waited for again' },

    plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, { evacuators, item, nowMs })),
    observe: (item, outcome, { nowMs }) => observeConvergence(item, outcome, nowMs),
    // Those of hosts that a change touches are woken by the kind `scale-in`, whatever operation they are of.
  };
}

interface Recovering {
  readonly evacuators: readonly Evacuator[];
  readonly item: StoredItem;
  readonly nowMs: number;
}

function planItem(fleet: FleetReader, recovering: Recovering): readonly PlannedStep[] {
  const { evacuators, item, nowMs } = recovering;
  const host = findHost(fleet, item.doc.target.id);
  if (host?.doc.state !== 'recovering') return [record(item, { state: 'done', step: item.doc.step })];
  const reason = recoverBlocker(fleet, evacuators, host);
  if (reason !== undefined) return [wait({ ...item, doc: { ...item.doc, step: 'settle' } }, reason)];
  if (item.doc.step === 'activate') {
    return [
      decideLater(item, (at, atMs) => {
        const now = at.get(ITEM, item.id);
        const found = findHost(at, host.id);
        if (now === undefined || found?.doc.state !== 'recovering') return [];
        return [activateRecovered(at, { evacuators, item: now, nowMs: atMs }, found)];
      }),
    ];
  }
  return nowMs < (item.doc.retryAtMs ?? 0)
    ? []
    : [awaitConvergence(item, { hosts: [host.id], revision: host.revision })];
}

/** Why it cannot be active yet. Open moves complete, and are not waited for. */
function recoverBlocker(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { id, doc }: StoredHost,
): Reason | undefined {
  if (doc.quarantined !== undefined) return { code: 'quarantined', host: id, because: doc.quarantined.because };
  if (doc.forcedDown !== undefined) return { code: 'forced-down', host: id };
  if (doc.credential === undefined) return { code: 'agent-has-left', host: id };
  if (doc.connection.state !== 'up') return { code: 'agent-not-connected', host: id };
  if (!evacuators.some((one) => one.holdsRecover?.(fleet, id) === true)) return undefined;
  mark('recover-waits-for-handovers');
  return { code: 'handovers-under-way', host: id };
}

function activateRecovered(fleet: FleetReader, { evacuators, item, nowMs }: Recovering, host: StoredHost): RecordStep {
  const reason = recoverBlocker(fleet, evacuators, host);
  if (reason !== undefined) return wait({ ...item, doc: { ...item.doc, step: 'settle' } }, reason);
  const { leaving, ...rest } = host.doc;
  const back = leaving?.failBack === true ? failBackTenants(fleet, evacuators, { host, item, nowMs }) : [];
  const active = put(HOST, host.id, { ...rest, state: 'active', changedBy: RECOVERER, changedAtMs: nowMs });
  return record(item, { state: 'done', step: 'activate' }, { changes: mergeChanges([...back, active]) });
}

function failBackTenants(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { host, item, nowMs }: { readonly host: StoredHost; readonly item: StoredItem; readonly nowMs: number },
) {
  mark('scale-in-fails-back');
  const operation = `${item.doc.operation}.${host.id}.back` as OperationId;
  const how = { operation, by: RECOVERER, nowMs, deadlineMs: FAIL_BACK_DEADLINE_MS };
  return evacuators.flatMap((one) => one.failBack?.(fleet, host.id, how) ?? []);
}

function observeConvergence(item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  if (outcome.kind !== 'failed') return record(item, { state: 'running', step: 'activate' });
  return retryConvergence(item, outcome.reason, nowMs);
}

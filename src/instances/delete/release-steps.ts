// The steps that release the resources of an instance: its host destroys the copy, back ends outside the journal release its ports, and one commit
// releases the rest. A host that is only silent is waited for: it may still use the addresses, which must never be given to another instance
// meanwhile.
import { idOf, mark, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import { undeliveredReason } from '../../network/index.ts';
import {
  retryWithBackoff,
  decideLater,
  record,
  wait,
  type ActionOutcome,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
  type Task,
  type TaskAnswer,
} from '../../operations/index.ts';
import { composeReleaseNics } from '../build/host-tasks.ts';
import { beginSweep, uniqueSweepKey } from './clean.ts';
import { INSTANCE } from '../model.ts';
import { composeReleaseOrder, nonInlinePorts } from '../back-end-orders.ts';
import { isFencedOrRemoved, portsOf, type StoredInstance } from '../build/placement.ts';
import { retryDestroy } from './retry-destroy.ts';

/** The host that created the ports has destroyed the instance and released them. */
const RELEASED_BY_HOST = 'released-by-host';

/** The last commit of an operation that ends an instance, and the end of its item. */
export type ReleaseFinisher = (
  fleet: FleetReader,
  instance: StoredInstance,
  nowMs: number,
) => { readonly changes: readonly Change[]; readonly progress: Omit<RecordStep['progress'], 'step'> };

export function instanceOf(fleet: FleetReader, item: StoredItem): StoredInstance | undefined {
  return fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
}

export function composeDestroyTask(fleet: FleetReader, item: StoredItem): Omit<Task, 'id'> | undefined {
  const instance = instanceOf(fleet, item);
  if (item.doc.step !== 'destroy' || item.doc.state !== 'running' || instance === undefined) return undefined;
  // A host that created the ports itself also deletes those that are Muster's.
  const ports = instance.doc.path.create === 'host' ? 'delete-own' : 'leave';
  return { kind: 'destroy', args: { instance: instance.id, nics: composeReleaseNics(fleet, instance), ports } };
}

export function handleDestroyAnswer(
  fleet: FleetReader,
  item: StoredItem,
  answer: TaskAnswer,
  nowMs: number,
): RecordStep {
  const path = instanceOf(fleet, item)?.doc.path;
  const reason = path?.create === 'host' ? { reason: { code: RELEASED_BY_HOST } } : {};
  const { attempt } = item.doc;
  if (answer.outcome === 'done')
    return record(item, { state: 'running', step: 'release', attempt, host: null, ...reason });
  return retryDestroy(item, answer, nowMs);
}

export function planDestroy(
  fleet: FleetReader,
  item: StoredItem,
  instance: StoredInstance,
  nowMs: number,
): readonly PlannedStep[] {
  const host = item.doc.host ?? '';
  const stored = findHost(fleet, host);
  if (isFencedOrRemoved(fleet, host)) {
    // The host is certainly off: its addresses can be used again. Should it come back, it is swept first.
    const sweep =
      stored === undefined ? [] : beginSweep(instance.id, host, uniqueSweepKey(fleet, item.id, nowMs), nowMs);
    const { attempt } = item.doc;
    return [record(item, { state: 'running', step: 'release', attempt, host: null }, { changes: sweep })];
  }
  // A host that is only silent may still run it: its addresses are not given to another instance.
  if (stored?.doc.connection.state !== 'up') {
    mark('delete-waits-for-silent-host');
    return [wait(item, { code: 'host-silent', host, instance: instance.id })];
  }
  if (item.doc.state === 'running' || nowMs < (item.doc.retryAtMs ?? 0)) return [];
  return [record(item, { state: 'running', step: 'destroy', attempt: item.doc.attempt + 1 })];
}

export function planRelease(
  fleet: FleetReader,
  item: StoredItem,
  {
    instance,
    nowMs,
    finish,
  }: { readonly instance: StoredInstance; readonly nowMs: number; readonly finish: ReleaseFinisher },
): readonly PlannedStep[] {
  const outside = nonInlinePorts(fleet, portsOf(fleet, instance.doc));
  if (outside.length === 0) return [decideLater(item, (at, atMs) => [commitFinish(at, item, atMs, finish)])];
  if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
  const args = composeReleaseOrder(fleet, 'release', instance, outside) as unknown as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step: 'release', attempt: item.doc.attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

/** A fault of one port does not stop the others: the back end has processed all of them, and the order is repeated for the rest. */
export function handleReleaseOutcome(
  fleet: FleetReader,
  item: StoredItem,
  {
    outcome,
    nowMs,
    finish,
  }: { readonly outcome: ActionOutcome; readonly nowMs: number; readonly finish: ReleaseFinisher },
): RecordStep {
  const instance = instanceOf(fleet, item);
  if (instance === undefined) return record(item, { state: 'done', step: 'release' });
  const answers = outcome.kind === 'applied' || outcome.kind === 'already' ? outcome.facts?.['ports'] : undefined;
  const ports = answers as readonly { readonly port: string; readonly outcome: string }[] | undefined;
  const left = ports?.filter((port) => port.outcome !== 'ok' && port.outcome !== 'not-found');
  if (left?.length === 0) return commitFinish(fleet, item, nowMs, finish);
  // Without credentials the back end was not called: a host has released the ports that it created itself.
  if (undeliveredReason(outcome) !== undefined && item.doc.reason?.code === RELEASED_BY_HOST)
    return commitFinish(fleet, item, nowMs, finish);
  const unreleased = left?.map(({ port }) => port) ?? instance.doc.nics.map(({ port }) => port);
  const reason = undeliveredReason(outcome) ?? { code: 'ports-not-released', instance: instance.id, ports: unreleased };
  return retryWithBackoff(item, reason, { nowMs });
}

/** Everything that it holds when it is deleted, including later additions. */
function commitFinish(fleet: FleetReader, item: StoredItem, nowMs: number, finish: ReleaseFinisher): RecordStep {
  const instance = instanceOf(fleet, item);
  if (instance === undefined) return record(item, { state: 'done', step: 'release' });
  const { changes, progress } = finish(fleet, instance, nowMs);
  return record(item, { ...progress, step: 'release', host: null }, { changes });
}

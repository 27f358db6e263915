// The operation `instance-shelve`: the host destroys its copy, the ports are unbound and kept, and the claim is released. A host that is only silent is
// waited for: it may still run the instance with the addresses that stay its own.
import { idOf, put, type FleetReader } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import { PORT, undeliveredReason, unbindPort, type PortAnswer } from '../../network/index.ts';
import {
  retryWithBackoff,
  decideLater,
  expectUnchanged,
  fail,
  record,
  wait,
  type ActionOutcome,
  type PlannedStep,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { composeNicArgs } from '../build/host-tasks.ts';
import { loadItem } from '../build/steps.ts';
import { beginSweep, itemsOfHost } from '../delete/clean.ts';
import { dropClaim } from '../build/failure.ts';
import { INSTANCE, type Instance } from '../model.ts';
import { composeReleaseOrder, nonInlinePorts } from '../back-end-orders.ts';
import { isFencedOrRemoved, isInline, portsOf, type StoredInstance } from '../build/placement.ts';
import { retryDestroy } from '../delete/retry-destroy.ts';

const SHELVER = 'operation:instance-shelve';

export const instanceShelve: OperationKind = {
  name: 'instance-shelve',
  steps: ['destroy', 'unbind'],
  cancel: { kind: 'none', because: 'the instance may be gone from its host already; unshelve it afterwards' },
  retry: { kind: 'does', what: 'a task or an order that was not answered in time is repeated' },

  plan: (fleet, items, nowMs) =>
    items.flatMap((item) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
      if (instance?.doc.state !== 'shelving') return [endSuperseded(item, instance)];
      return item.doc.step === 'destroy'
        ? planDestroy(fleet, item, instance, nowMs)
        : planUnbind(fleet, item, instance, nowMs);
    }),

  observe: (item, outcome, { fleet, nowMs }) => handleUnbindOutcome(fleet, item, outcome, nowMs),

  task: (item, { fleet }) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    if (item.doc.step !== 'destroy' || item.doc.state !== 'running' || instance?.doc.state !== 'shelving')
      return undefined;
    const nics = portsOf(fleet, instance.doc).map((port) => composeNicArgs(fleet, port, undefined));
    return { kind: 'destroy', args: { instance: instance.id, nics, ports: 'leave' } };
  },

  handleTaskAnswer: (item, answer, { fleet, nowMs }) => {
    if (answer.outcome === 'done') return recordDestroyed(fleet, item, nowMs);
    return retryDestroy(item, answer, nowMs);
  },

  // The host has destroyed its copy: whatever the back end answers, the instance is shelved and can be unshelved. A port that is still bound
  // there is bound again under a higher serial then.
  onDeadline: (fleet, item, nowMs) => {
    const { instance } = loadItem(fleet, item.id);
    if (instance?.doc.state !== 'shelving' || item.doc.step !== 'unbind') return { changes: [], expects: [] };
    return recordShelved(fleet, item, instance, nowMs);
  },

  itemsToWake: (fleet, { kind, before, after }) => itemsOfHost(fleet, kind, (after ?? before)?.id),
};

/** Another operation has the instance now. */
function endSuperseded(item: StoredItem, instance: StoredInstance | undefined): RecordStep {
  const { target, step } = item.doc;
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: target.id });
  if (instance.doc.state === 'deleting') return fail(item, { code: 'instance-deleted', instance: target.id });
  return record(item, { state: 'done', step });
}

function planDestroy(
  fleet: FleetReader,
  item: StoredItem,
  instance: StoredInstance,
  nowMs: number,
): readonly PlannedStep[] {
  const { host = '', state, attempt, retryAtMs = 0 } = item.doc;
  if (isFencedOrRemoved(fleet, host)) return [decideLater(item, (at, atMs) => [recordHostRemoved(at, item, atMs)])];
  if (findHost(fleet, host)?.doc.connection.state !== 'up')
    return [wait(item, { code: 'host-silent', host, instance: instance.id })];
  if (state === 'running' || nowMs < retryAtMs) return [];
  return [record(item, { state: 'running', step: 'destroy', attempt: attempt + 1 })];
}

/** The host is certainly off. Should it come back, it is swept first. */
function recordHostRemoved(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const { host = '', attempt, target } = item.doc;
  const next = recordDestroyed(fleet, item, nowMs);
  const sweep = findHost(fleet, host) === undefined ? [] : beginSweep(target.id, host, `${item.id}.${attempt}`, nowMs);
  return { ...next, changes: [...next.changes, ...sweep] };
}

function recordDestroyed(fleet: FleetReader, item: StoredItem, nowMs: number): RecordStep {
  const { instance } = loadItem(fleet, item.id);
  if (instance?.doc.state !== 'shelving') return endSuperseded(item, instance);
  const outside = nonInlinePorts(fleet, portsOf(fleet, instance.doc));
  return outside.length > 0
    ? record(item, { state: 'running', step: 'unbind', host: null })
    : recordShelved(fleet, item, instance, nowMs);
}

function planUnbind(
  fleet: FleetReader,
  item: StoredItem,
  instance: StoredInstance,
  nowMs: number,
): readonly PlannedStep[] {
  const outside = nonInlinePorts(fleet, portsOf(fleet, instance.doc));
  if (outside.length === 0) return [recordShelved(fleet, item, instance, nowMs)];
  if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
  const args = composeReleaseOrder(fleet, 'unbind', instance, outside) as unknown as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step: 'unbind', attempt: item.doc.attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

/** A port that is unknown to the back end counts as unbound there. */
function handleUnbindOutcome(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  const { instance } = loadItem(fleet, item.id);
  if (instance?.doc.state !== 'shelving') return endSuperseded(item, instance);
  const facts = outcome.kind === 'applied' || outcome.kind === 'already' ? outcome.facts : undefined;
  const answers = (facts as { readonly ports?: readonly PortAnswer[] } | undefined)?.ports;
  const left = answers?.filter((answer) => answer.outcome !== 'ok' && answer.outcome !== 'not-found');
  // Without credentials the back end was not called: a host that binds by itself takes the port over under a higher serial.
  const hosts = instance.doc.path.bind === 'host' && undeliveredReason(outcome) !== undefined;
  if (left?.length === 0 || hosts) return recordShelved(fleet, item, instance, nowMs);
  const bound = left?.map(({ port }) => port) ?? instance.doc.nics.map(({ port }) => port);
  const reason = undeliveredReason(outcome) ?? { code: 'ports-not-unbound', instance: instance.id, ports: bound };
  return retryWithBackoff(item, reason, { nowMs });
}

function recordShelved(fleet: FleetReader, item: StoredItem, instance: StoredInstance, nowMs: number): RecordStep {
  const { host: _, fault: __, ...rest } = instance.doc;
  const doc: Instance = { ...rest, state: 'shelved', changedBy: SHELVER, changedAtMs: nowMs };
  // The back end has unbound under a higher serial: that serial is used as well.
  const bound = portsOf(fleet, doc).filter((port) => port.doc.binding !== undefined || !isInline(fleet, port.doc));
  const changes = [
    put(INSTANCE, instance.id, doc),
    ...dropClaim(fleet, instance.id),
    ...bound.map((port) => put(PORT, port.id, unbindPort(port.doc, { by: SHELVER, nowMs }))),
  ];
  const expects = [expectUnchanged(INSTANCE, instance), ...bound.map((port) => expectUnchanged(PORT, port))];
  return record(item, { state: 'done', step: item.doc.step, host: null }, { changes, expects });
}

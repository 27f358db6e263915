// The operation `instance-clean`: a copy that may be left on a host is destroyed there, as soon as the host is heard again.
// Until then nothing of the same name is placed on it. The instance itself lives elsewhere, or nowhere any more.
import { mark, type Change, type FleetReader, type Index } from '../fleet/index.ts';
import { findHost, HOST } from '../hosts/index.ts';
import {
  isOpen,
  ITEM,
  newOperation,
  OPEN_ITEMS_BY_HOST,
  record,
  wait,
  type Item,
  type OperationId,
  type OperationKind,
  type StoredItem,
} from '../operations/index.ts';
import { INSTANCE } from './model.ts';

/** It ends when the host is swept or removed, however long that takes: a host that comes back late must not run a second copy. */
const CLEAN_DEADLINE_MS = 100 * 365 * 24 * 3600 * 1000;
/** A host that could not destroy a copy is asked again after this time. */
const DESTROY_AGAIN_MS = 30_000;

const DESTROY = 'destroy';
const NO_KEYS: readonly string[] = [];

/**
 * Open items that destroy a copy of an instance, by the instance: those of this operation, and of others with such a step.
 * Every placement asks, and nearly always there is none.
 */
export const DESTROYS_BY_INSTANCE: Index<'item', Item> = {
  name: 'destroys-by-instance',
  kind: ITEM,
  keysOf: (doc) =>
    doc.step === DESTROY && doc.target.kind === INSTANCE.name && isOpen(doc) ? [doc.target.id] : NO_KEYS,
};

export const instanceClean: OperationKind = {
  name: 'instance-clean',
  steps: [DESTROY],
  cancel: { kind: 'none', because: 'a copy that is left behind would be found by nobody' },
  retry: { kind: 'does', what: 'the host is asked again' },
  rollback: { kind: 'none', because: 'what is destroyed is a copy that nobody uses' },

  plan: (fleet, _operation, items, nowMs) =>
    items.flatMap((item) => {
      const { step, state, attempt, host = '' } = item.doc;
      const stored = findHost(fleet, host);
      if (stored === undefined || stored.doc.state === 'removed') return [record(item, { state: 'done', step })];
      if (stored.doc.connection.state !== 'up') return [wait(item, { code: 'host-not-heard', host })];
      if (state === 'running' || nowMs < (item.doc.retryAtMs ?? 0)) return [];
      return [record(item, { state: 'running', step, attempt: attempt + (state === 'waiting' ? 1 : 0) })];
    }),

  task: (_fleet, item) =>
    item.doc.state === 'running'
      ? { kind: 'destroy', args: { instance: item.doc.target.id, nics: [], ports: 'leave' } }
      : undefined,

  answered: (_fleet, item, answer, nowMs) => {
    if (answer.outcome === 'done') return record(item, { state: 'done', step: item.doc.step });
    const problems = answer.problems ?? [];
    return wait(item, { code: 'not-destroyed', instance: item.doc.target.id, problems }, nowMs + DESTROY_AGAIN_MS);
  },

  wakes: (fleet, { kind, before, after }) => itemsOfHost(fleet, kind, (after ?? before)?.id),
};

export function itemsOfHost(fleet: FleetReader, kind: string, id: string | undefined): Iterable<StoredItem> {
  return kind === HOST.name && id !== undefined ? fleet.find(OPEN_ITEMS_BY_HOST, id) : [];
}

/** Starts the sweep of a host that may hold a copy. `key` tells this sweep from others. */
export function cleaningOf(instance: string, host: string, key: string, nowMs: number): Change[] {
  mark('host-to-be-swept');
  return newOperation({
    id: `clean-${key}` as OperationId,
    kind: 'instance-clean',
    title: `destroy what is left of instance ${instance} on host ${host}`,
    by: 'muster',
    nowMs,
    deadlineMs: CLEAN_DEADLINE_MS,
    items: [{ key: 'copy', target: { kind: INSTANCE.name, id: instance }, host, step: DESTROY, state: 'running' }],
  });
}

// The operation `instance-clean`: destroys a stale copy on a host as soon as the host is connected again. Until then nothing of the same name is placed
// on it. A copy that may be the only one is held until a successor runs: it must never be destroyed before, unless the user deletes the instance.
import {
  idOf,
  mark,
  type AppliedChange,
  type Change,
  type FleetReader,
  type Index,
  type Reason,
} from '../../fleet/index.ts';
import { findHost, HOST, type Host } from '../../hosts/index.ts';
import { NETWORK_EVENT, type NetworkEvent } from '../../network/index.ts';
import {
  decideLater,
  isOpen,
  ITEM,
  newOperation,
  OPEN_ITEMS_BY_HOST,
  OPERATION,
  OPEN_ITEMS_BY_TARGET,
  record,
  targetKey,
  wait,
  type Item,
  type OperationId,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { INSTANCE, INSTANCES_BY_HOST, type InstanceState } from '../model.ts';

/** It ends when the host is swept or removed, however long that takes: a host that returns late must not run a second copy. */
export const NO_DEADLINE_MS = 100 * 365 * 24 * 3600 * 1000;
/** The task of a host that could not destroy a copy is repeated after this time. */
const DESTROY_RETRY_MS = 30_000;

const HOLD = 'hold';
const DESTROY = 'destroy';
/** Of a copy that was held: until it is done, it is held again when its successor is lost. */
const DESTROY_HELD = 'destroy-held';
const STEPS: readonly string[] = [HOLD, DESTROY, DESTROY_HELD];
const NO_KEYS: readonly string[] = [];

/**
 * Open items that destroy a copy of an instance or hold it, by instance: those of this operation, and of others with such a step. Every placement
 * reads this, and it is nearly always empty.
 */
export const CLEAN_ITEMS_BY_INSTANCE: Index<'item', Item> = {
  name: 'clean-items-by-instance',
  kind: ITEM,
  keysOf: (doc) =>
    STEPS.includes(doc.step) && doc.target.kind === INSTANCE.name && isOpen(doc) ? [doc.target.id] : NO_KEYS,
};

/** The role of a copy on a host. */
export type CopyRole =
  /** Not used: a successor runs elsewhere, or the user has released its contents. */
  | 'superseded'
  /** The instance is on this host again: the copy is the instance. */
  | 'current'
  /** It is not confirmed that the instance runs elsewhere. */
  | 'possibly-last';

/** A shelve or a delete releases the contents; a build begins without any. */
const WITHOUT_CONTENTS: readonly InstanceState[] = ['deleting', 'shelving', 'shelved', 'building'];

export interface Copy {
  readonly instance: string;
  readonly host: string;
  /** The recorded host when the copy was first held: whether it runs there was unknown then. */
  readonly home?: string | undefined;
}

export function roleOfCopy(fleet: FleetReader, { instance: id, host, home: doubtful }: Copy): CopyRole {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, id))?.doc;
  if (instance === undefined || !instance.wasActive || WITHOUT_CONTENTS.includes(instance.state)) return 'superseded';
  const { state, host: home } = instance;
  if (home === host && (state === 'active' || state === 'error')) return 'current';
  if (state !== 'active' || home === undefined || home === host || home === doubtful) return 'possibly-last';
  const { state: homeState, forcedDown } = findHost(fleet, home)?.doc ?? {};
  const isGone = homeState === undefined || homeState === 'removed' || forcedDown !== undefined;
  return isGone ? 'possibly-last' : 'superseded';
}

/** The copy of an item. */
export function copyOf({ doc: { target, host = '', reason } }: StoredItem): Copy {
  const home = reason?.['home'];
  return { instance: target.id, host, ...(typeof home === 'string' && { home }) };
}

/** The instances of which a host may have the only copy: they live there until a successor runs, whatever host is recorded. */
export function* instancesHeldOn(fleet: FleetReader, host: string): Iterable<string> {
  for (const item of fleet.find(OPEN_ITEMS_BY_HOST, host)) {
    if (isHold(item.doc) && roleOfCopy(fleet, copyOf(item)) === 'possibly-last') yield item.doc.target.id;
  }
}

export function isHold({ step, target }: Item): boolean {
  return step === HOLD && target.kind === INSTANCE.name;
}

export const instanceClean: OperationKind = {
  name: 'instance-clean',
  steps: STEPS,
  cancel: { kind: 'none', because: 'a copy that is left behind would stay unnoticed' },
  retry: { kind: 'does', what: 'the task of the host is repeated' },

  plan: (fleet, items, nowMs) =>
    items.flatMap((item) => {
      const { step, state, attempt, host = '' } = item.doc;
      const stored = findHost(fleet, host);
      if (stored === undefined || stored.doc.state === 'removed') return [record(item, { state: 'done', step })];
      if (step === HOLD) return [planHold(fleet, item)];
      if (isHeldAgain(fleet, item)) return [decideLater(item, (at) => holdAgain(at, item))];
      if (stored.doc.connection.state !== 'up')
        return [wait(item, { code: 'host-not-connected', host, instance: item.doc.target.id })];
      if (state === 'running' || nowMs < (item.doc.retryAtMs ?? 0)) return [];
      return [record(item, { state: 'running', step, attempt: attempt + (state === 'waiting' ? 1 : 0) })];
    }),

  task: (item, { fleet }) =>
    item.doc.state === 'running' && item.doc.step !== HOLD && !isHeldAgain(fleet, item)
      ? { kind: 'destroy', args: { instance: item.doc.target.id, nics: [], ports: 'leave' } }
      : undefined,

  handleTaskAnswer: (item, answer, { nowMs }) => {
    if (answer.outcome === 'done') return record(item, { state: 'done', step: item.doc.step });
    const { target, host } = item.doc;
    const reason = { code: 'not-destroyed', instance: target.id, host, problems: answer.problems ?? [] };
    return wait(item, reason, nowMs + DESTROY_RETRY_MS);
  },

  itemsToWake: (fleet, change) => [
    ...itemsOfHost(fleet, change.kind, (change.after ?? change.before)?.id),
    ...holdsAffectedBy(fleet, change),
  ],
};

/** What cannot be taken back is decided inside the commit: the successor's host may be lost since. */
function planHold(fleet: FleetReader, item: StoredItem): PlannedStep {
  const next = decideHold(fleet, item);
  return next.progress.state === 'waiting' ? next : decideLater(item, (at) => [decideHold(at, item)]);
}

/** The copy is destroyed once a successor runs; where the instance is back, there is nothing to destroy. */
function decideHold(fleet: FleetReader, item: StoredItem): RecordStep {
  const copy = copyOf(item);
  switch (roleOfCopy(fleet, copy)) {
    case 'superseded':
      return record(item, { state: 'running', step: DESTROY_HELD, attempt: item.doc.attempt + 1 });
    case 'current':
      return record(item, { state: 'done', step: HOLD });
    case 'possibly-last':
      mark('only-copy-held');
      return wait(item, { code: 'only-copy', ...copy });
  }
}

/**
 * Its successor is lost, and the host has not answered that the copy is destroyed. It may have done so all the same: then the copy is held in
 * vain until the instance runs again.
 */
function isHeldAgain(fleet: FleetReader, item: StoredItem): boolean {
  return item.doc.step === DESTROY_HELD && roleOfCopy(fleet, copyOf(item)) === 'possibly-last';
}

function holdAgain(fleet: FleetReader, item: StoredItem): RecordStep[] {
  if (!isHeldAgain(fleet, item)) return [];
  mark('held-copy-kept');
  const reason = { code: 'only-copy', ...copyOf(item) };
  return [record(item, { state: 'waiting', step: HOLD, attempt: item.doc.attempt + 1, reason })];
}

/** Copies elsewhere of instances on a host whose force-down changes: they may be the only ones from now on. */
function holdsAffectedBy(fleet: FleetReader, { kind, before, after }: AppliedChange): StoredItem[] {
  if (kind !== HOST.name || after === undefined) return [];
  const wasForced = (before?.doc as Host | undefined)?.forcedDown !== undefined;
  if (wasForced === ((after.doc as Host).forcedDown !== undefined)) return [];
  return [...fleet.find(INSTANCES_BY_HOST, after.id)].flatMap(({ id }) => [...fleet.find(CLEAN_ITEMS_BY_INSTANCE, id)]);
}

export function itemsOfHost(fleet: FleetReader, kind: string, id: string | undefined): Iterable<StoredItem> {
  return kind === HOST.name && id !== undefined ? fleet.find(OPEN_ITEMS_BY_HOST, id) : [];
}

/** The open items of a network event's instance. */
export function itemsOfEvent(fleet: FleetReader, { kind, before, after }: AppliedChange): Iterable<StoredItem> {
  if (kind !== NETWORK_EVENT.name) return [];
  const instance = ((after ?? before)?.doc as NetworkEvent | undefined)?.instance;
  return instance === undefined ? [] : fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, instance));
}

interface CleanRequest {
  readonly instance: string;
  readonly host: string;
  /** Identifies this sweep. */
  readonly key: string;
  readonly nowMs: number;
}

/** It destroys a copy beside the instance, and needs nothing of the instance itself. */
export function isSweep(fleet: FleetReader, { doc: { operation } }: StoredItem): boolean {
  return fleet.get(OPERATION, idOf(OPERATION, operation))?.doc.kind === instanceClean.name;
}

/** A unique key: a retried operation may have started one before. */
export function uniqueSweepKey(fleet: FleetReader, key: string, nowMs: number): string {
  return fleet.get(OPERATION, idOf(OPERATION, `clean-${key}`)) === undefined ? key : `${key}.${nowMs}`;
}

/** Starts the sweep of a host that may have a copy which is not the only one. */
export function beginSweep(instance: string, host: string, key: string, nowMs: number): Change[] {
  return beginCleanOperation({ instance, host, key, nowMs }, { step: DESTROY, state: 'running' });
}

/**
 * Starts the sweep of a host that may have the only copy: nothing is destroyed there before a successor runs. `home`: the recorded host, where it
 * is unknown whether the instance runs.
 */
export function beginHold({ home, ...at }: CleanRequest & Pick<Copy, 'home'>): Change[] {
  const { instance, host } = at;
  const reason = { code: 'only-copy', instance, host, ...(home !== undefined && home !== host && { home }) };
  return beginCleanOperation(at, { step: HOLD, state: 'pending', reason });
}

function beginCleanOperation(
  { instance, host, key, nowMs }: CleanRequest,
  first: { readonly step: string; readonly state: 'pending' | 'running'; readonly reason?: Reason },
): Change[] {
  mark('host-to-be-swept');
  return newOperation({
    id: `clean-${key}` as OperationId,
    kind: 'instance-clean',
    title: `destroy the copy of instance ${instance} on host ${host}`,
    by: 'muster',
    nowMs,
    deadlineMs: NO_DEADLINE_MS,
    items: [{ key: 'copy', target: { kind: INSTANCE.name, id: instance }, host, ...first }],
  });
}

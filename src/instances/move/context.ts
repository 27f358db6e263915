// An open move, as its steps see it: its instance, its target, who binds there, and what a failed try leaves behind.
import { mark, put, remove, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost } from '../../hosts/index.ts';
import { CLAIM, claimId } from '../../network/index.ts';
import {
  expectUnchanged,
  fail,
  record,
  shortenText,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { loadItem } from '../build/steps.ts';
import { beginSweep, beginHold } from '../delete/clean.ts';
import { INSTANCE, MOVE_TRIES_MAX, type Instance, type MoveState } from '../model.ts';
import { bindModeOn, type BindMode, type StoredInstance } from '../build/placement.ts';

export const MOVER = 'operation:instance-move';

/** An instance with its move. */
export interface MovingInstance extends StoredInstance {
  readonly doc: Instance & { readonly move: MoveState };
}

/** The target of a move; undefined before a host is chosen. */
export function targetOf({ move }: Pick<Instance, 'move'>): string | undefined {
  const last = move?.tries.at(-1);
  return last?.fault === undefined ? last?.host : undefined;
}

/**
 * The instance, if this operation moves it: because it is moving, or because an earlier run of the same operation, which is retried now, left it
 * where it was.
 */
export function movingInstanceOf(item: StoredItem, instance: StoredInstance | undefined): MovingInstance | undefined {
  const { state, move } = instance?.doc ?? {};
  if (instance === undefined || move?.operation !== item.doc.operation) return undefined;
  return state === 'moving' || state === 'active' ? { ...instance, doc: { ...instance.doc, move } } : undefined;
}

export interface MoveContext {
  readonly fleet: FleetReader;
  readonly item: StoredItem;
  readonly instance: MovingInstance;
  readonly nowMs: number;
}

/** Takes a step on the newest state, unless another operation has the instance by then. */
export function decideMoveStep(
  at: { readonly fleet: FleetReader; readonly item: string; readonly nowMs: number },
  step: (look: MoveContext) => RecordStep,
): RecordStep {
  const { item, instance } = loadItem(at.fleet, at.item);
  const moving = movingInstanceOf(item, instance);
  return moving === undefined ? failSuperseded(item, instance) : step({ ...at, item, instance: moving });
}

/** Another operation has the instance now: it is deleted, or was moved or rebuilt since. */
export function failSuperseded(item: StoredItem, instance: StoredInstance | undefined): RecordStep {
  mark('move-superseded');
  const id = item.doc.target.id;
  if (instance === undefined) return fail(item, { code: 'instance-gone', instance: id });
  if (instance.doc.state === 'deleting') return fail(item, { code: 'instance-deleted', instance: id });
  return fail(item, { code: 'move-superseded', instance: id });
}

/** The instance as it would be if it were being built at its target: its tries are those of the move. */
export function composeTargetInstance({ doc, ...stored }: MovingInstance): StoredInstance {
  const { onlyHost: _, ...where } = doc.place;
  const { target, tries } = doc.move;
  const host = targetOf(doc) ?? doc.host;
  const place = { ...where, ...(target !== undefined && { onlyHost: target }) };
  const there = { place, attempts: tries, attemptsMax: MOVE_TRIES_MAX };
  return { ...stored, doc: { ...doc, ...(host !== undefined && { host }), ...there } };
}

/** Who binds the ports at the target. */
export function targetBindMode(fleet: FleetReader, instance: MovingInstance): BindMode {
  const host = findHost(fleet, targetOf(instance.doc) ?? '')?.doc;
  return host === undefined ? 'ready' : bindModeOn(host, instance.doc);
}

/** Every step of a move is an attempt of its own: an answer to an earlier one, of this try or another, does not count for it. */
export function advanceMove(
  { item, instance }: MoveContext,
  next: { readonly step: string; readonly host: string | null; readonly changes?: readonly Change[] },
): RecordStep {
  const { step, host, changes = [] } = next;
  const progress = { state: 'running' as const, step, attempt: item.doc.attempt + 1, host };
  return record(item, progress, { changes, expects: [expectUnchanged(INSTANCE, instance)] });
}

/** Reasons are part of their item, which stays small. */
const REASON_MESSAGE_MAX = 500;

/** The end of a failed move; the instance records it as well. */
export function failMove(
  { item, instance }: MoveContext,
  fault: { readonly code: string; readonly message: string },
  changes: readonly Change[],
): RecordStep {
  const { code, message } = fault;
  const reason = { code, instance: instance.id, message: shortenText(message, REASON_MESSAGE_MAX) };
  const progress = { state: 'failed' as const, step: item.doc.step, reason, host: null };
  return record(item, progress, { changes, expects: [expectUnchanged(INSTANCE, instance)] });
}

/** The instance with what a step changed of it. */
export function putMoving({ instance, nowMs }: MoveContext, change: Partial<Instance>): Change {
  return put(INSTANCE, instance.id, { ...instance.doc, ...change, changedBy: MOVER, changedAtMs: nowMs });
}

/** The instance when its move is over, successful or not. */
export function putEnded({ instance, nowMs }: MoveContext, change: Partial<Instance>): Change {
  const { move: _, fault: __, ...doc } = instance.doc;
  return put(INSTANCE, instance.id, { ...doc, ...change, changedBy: MOVER, changedAtMs: nowMs });
}

export function dropMoveClaim(fleet: FleetReader, instance: string): Change[] {
  const id = claimId(instance, 'move');
  return fleet.get(CLAIM, id) === undefined ? [] : [remove(CLAIM, id)];
}

/** Starts the sweep of one end of the move, if that host is still in the fleet. The instance runs at the other end. */
export function sweepEnd({ fleet, item, instance, nowMs }: MoveContext, host: string | undefined): Change[] {
  if (host === undefined || findHost(fleet, host) === undefined) return [];
  return beginSweep(instance.id, host, `${item.id}.${item.doc.attempt}`, nowMs);
}

/** The same when it is unknown whether the instance runs at the other end: the copy here is held until it runs elsewhere. */
export function holdEnd({ fleet, item, instance, nowMs }: MoveContext, host: string | undefined): Change[] {
  if (host === undefined || findHost(fleet, host) === undefined) return [];
  const key = `${item.id}.${item.doc.attempt}`;
  return beginHold({ instance: instance.id, host, key, nowMs, home: instance.doc.host });
}

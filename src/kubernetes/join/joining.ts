// What the steps of a join have in common: the worker with its operation's join, the time that it has, and how many join at once.
import { idOf, type FleetReader, type Reason } from '../../fleet/index.ts';
import {
  fail,
  ITEMS_BY_OPERATION,
  isOpen,
  OPERATION,
  wait,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { findVictim, type Victim } from '../drain/victim-steps.ts';
import { CLUSTER, type Cluster } from '../model.ts';
import { JOINS_AT_ONCE, WORKER_ADD } from './decide.ts';
import { WORKER_JOIN, type StoredJoin } from './model.ts';

/**
 * `build` and `await-instance` bring the instance; `look` ends it for one that has joined; `queue` waits for its turn. What follows is one of the joins that run
 * at once.
 */
export const JOIN_STEPS = [
  'build',
  'await-instance',
  'look',
  'queue',
  'token',
  'contact',
  'join',
  'await-node',
] as const;
export type JoinStep = (typeof JOIN_STEPS)[number];

const JOINING_STEPS: readonly string[] = ['token', 'contact', 'join', 'await-node'];

/** One worker that joins, in one operation. */
export interface Joining extends Victim {
  readonly cluster: Cluster;
  readonly join: StoredJoin;
}

const BY = `operation:${WORKER_ADD}`;

/** Undefined when its operation has it not in hand any more. */
export function findJoining(fleet: FleetReader, item: StoredItem, nowMs: number): Joining | undefined {
  const worker = findVictim(fleet, item);
  const join = fleet.get(WORKER_JOIN, idOf(WORKER_JOIN, item.doc.operation));
  if (worker === undefined || join === undefined) return undefined;
  const cluster = fleet.get(CLUSTER, idOf(CLUSTER, worker.doc.cluster))?.doc;
  return cluster === undefined ? undefined : { fleet, item, worker, nowMs, by: BY, cluster, join };
}

/** Until when the join may last; from now on where it has not begun. */
export function joinByMs({ worker, join, nowMs }: Joining): number {
  return worker.doc.work?.joinByMs ?? nowMs + join.doc.joinDeadlineMs;
}

/** A wait that ends with the time of the join; what it waited for is said then. */
export function waitOrFail(joining: Joining, reason: Reason, retryAtMs: number): RecordStep {
  const { item, nowMs, worker } = joining;
  const untilMs = joinByMs(joining);
  if (nowMs < untilMs) return wait(item, reason, Math.min(retryAtMs, untilMs));
  return fail(item, timeoutReason(worker.id, reason));
}

/** What is to be tried again, when its time has come; its end is said where there is none left. */
export function whenDue(joining: Joining, next: () => PlannedStep): readonly PlannedStep[] {
  const { item, nowMs, worker } = joining;
  const { state, retryAtMs, reason } = item.doc;
  if (state === 'waiting' && retryAtMs !== undefined && nowMs < retryAtMs) return [];
  if (nowMs < joinByMs(joining)) return [next()];
  return [fail(item, timeoutReason(worker.id, reason))];
}

/** With what it waited for. */
function timeoutReason(worker: string, reason: Reason | undefined): Reason {
  const isKnown = reason !== undefined && reason.code !== JOIN_TIMED_OUT;
  return { ...reason, ...(isKnown && { waitedFor: reason.code }), code: JOIN_TIMED_OUT, worker };
}

const JOIN_TIMED_OUT = 'join-timed-out';

function countJoining(fleet: FleetReader, operation: string): number {
  let count = 0;
  for (const { doc } of fleet.find(ITEMS_BY_OPERATION, idOf(OPERATION, operation)))
    if (isOpen(doc) && JOINING_STEPS.includes(doc.step)) count += 1;
  return count;
}

export function hasCapacity(fleet: FleetReader, operation: string): boolean {
  return countJoining(fleet, operation) < JOINS_AT_ONCE;
}

/** Whether it is the one of its operation that makes the token for all. */
export function makesToken(fleet: FleetReader, item: StoredItem): boolean {
  for (const { id, doc } of fleet.find(ITEMS_BY_OPERATION, idOf(OPERATION, item.doc.operation)))
    if (isOpen(doc) && doc.step === 'token' && id < item.id) return false;
  return true;
}

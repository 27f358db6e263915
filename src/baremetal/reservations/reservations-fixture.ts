// Requests for nodes in tests, as the route makes them, on a fleet that holds every invariant.
import { expect } from 'vitest';
import { Fleet, idOf, put, Registry, type Change, type FleetReader } from '../../fleet/index.ts';
import type { Decision } from '../../journal/index.ts';
import { OPERATION, operationsModel } from '../../operations/index.ts';
import { canonicalRequest, parseReservationBody, type ReservationBody } from '../matching/request.ts';
import { MODELS } from '../nodes-fixture.ts';
import { MANAGER, RESERVATION, type Manager, type Reservation } from '../model.ts';
import { reservationId } from './documents.ts';
import { reserveNode, type ReserveAnswer, type ReserveCommand } from './reserve.ts';

export const NOW = 1_000_000;

export function newFleet(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  commit(fleet, changes);
  return fleet;
}

export function commit(fleet: Fleet, changes: readonly Change[]): void {
  if (changes.length === 0) return;
  for (const { kind, doc } of changes)
    if (doc !== null) expect(fleet.registry.kinds.get(kind)?.check(doc)).toBe(undefined);
  const applied = fleet.apply(fleet.revision + 1, changes);
  expect(fleet.registry.invariants.flatMap(({ check }) => check(applied, fleet))).toEqual([]);
}

/** Commits what was decided; answers the answer. */
export function decide<A>(fleet: Fleet, decision: Decision<A>): A {
  if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
  commit(fleet, decision.changes);
  return decision.answer;
}

export function putManager(name: string, facts: Partial<Manager> = {}): Change {
  const doc: Manager = {
    name,
    version: '1',
    state: 'live',
    holder: 'h1',
    leaseEpoch: 3,
    sinceMs: 0,
    changedBy: 'test',
    changedAtMs: 0,
    ...facts,
  };
  return put(MANAGER, idOf(MANAGER, name), doc);
}

export type BodyFields = Partial<ReservationBody>;

/** For instance `i1` by manager `m1`, unless said otherwise. */
export function reserveCommand(fields: BodyFields = {}, facts: Partial<ReserveCommand> = {}): ReserveCommand {
  const body: ReservationBody = { instance_uuid: 'i1', manager: 'm1', ...fields };
  const request = parseReservationBody(body);
  if (!('requirements' in request)) throw new Error(JSON.stringify(request));
  return {
    request,
    body,
    digest: canonicalRequest(body),
    ...(request.project !== undefined && { project: request.project }),
    isVisible: () => true,
    operation: idOf(OPERATION, `op-${request.instance}`),
    claimModeOf: () => 'inline',
    isLeaseLive: () => true,
    by: 'test',
    nowMs: NOW,
    ...facts,
  };
}

export function decideReserve(
  fleet: FleetReader,
  fields: BodyFields = {},
  facts: Partial<ReserveCommand> = {},
): Decision<ReserveAnswer> {
  return reserveNode(fleet, reserveCommand(fields, facts));
}

export function reservationOf(fleet: Fleet, instance = 'i1'): Reservation | undefined {
  return fleet.get(RESERVATION, reservationId(instance))?.doc;
}

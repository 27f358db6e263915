// Which managers are lost, and what a look at all of them changes: documents, alarms, drains that have lost their cause. A manager is never declared
// lost because this server, or all servers, were away: then it could not have renewed its lease.
import { mark, mergeChanges, valueOf, type Change, type FleetReader } from '../../fleet/index.ts';
import { findHost, isTombstoned } from '../../hosts/index.ts';
import { MANAGER } from '../model.ts';
import { reconcileManagerAlarms } from './alarms.ts';
import { clearDraining, loseManager } from './decide.ts';
import type { ManagerLeases } from './leases.ts';
import { isOnDuty, type ClaimedTenure } from './right.ts';
import { MANAGERS } from './settings.ts';

export type LostManager = Pick<ClaimedTenure, 'manager' | 'leaseEpoch'>;

export function findLostManagers(fleet: FleetReader, leases: ManagerLeases): LostManager[] {
  const { leaseMs } = valueOf(fleet, MANAGERS);
  const lost: LostManager[] = [];
  for (const { id, doc } of fleet.all(MANAGER)) {
    if (!isOnDuty(doc) || !hasRunOut(leases, id)) continue;
    if (leases.servingMs() < leaseMs) mark('manager-kept-by-young-server');
    else lost.push({ manager: id, leaseEpoch: doc.leaseEpoch });
  }
  return lost;
}

/** As the store said; one that registers anew has a lease before its document says so. */
function hasRunOut(leases: ManagerLeases, manager: string): boolean {
  return (leases.find(manager)?.expiresInMs ?? 0) <= 0;
}

export interface ReconcileManagers {
  readonly lost: readonly LostManager[];
  readonly by: string;
  readonly nowMs: number;
}

export function reconcileManagers(fleet: FleetReader, { lost, by, nowMs }: ReconcileManagers): Change[] {
  const lose = lost.flatMap((one) => loseManager(fleet, { ...one, by, nowMs }));
  const names = new Set(lose.map(({ id }) => id));
  const stay = [...fleet.all(MANAGER)].flatMap(({ id, doc: { draining } }) =>
    draining?.host === undefined || names.has(id) || isLeaving(fleet, draining.host)
      ? []
      : clearDraining(fleet, { manager: id, by, nowMs }),
  );
  return mergeChanges([...lose, ...stay, ...reconcileManagerAlarms(fleet, names, nowMs)]);
}

function isLeaving(fleet: FleetReader, host: string): boolean {
  const doc = findHost(fleet, host)?.doc;
  return doc !== undefined && isTombstoned(doc);
}

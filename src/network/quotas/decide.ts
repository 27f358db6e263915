// Decides on quotas: set as a whole, or deleted. A quota below the present usage must never remove anything.
import { idOf, put, remove, type FleetReader, type Stored } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { QUOTA, type QuotaLimits, type Quota } from './quota.ts';
import { unknownResource } from '../refusal.ts';

export interface SetQuota {
  readonly project: string;
  /** What is absent is not limited. */
  readonly limits: QuotaLimits;
  readonly by: string;
  readonly nowMs: number;
}

export function setQuota({ project, limits, by, nowMs }: SetQuota): Decision<Quota> {
  const quota: Quota = { project, ...limits, changedBy: by, changedAtMs: nowMs };
  return accept([put(QUOTA, idOf(QUOTA, project), quota)], quota);
}

export function deleteQuota(fleet: FleetReader, { id }: { readonly id: string }): Decision<Stored<'quota', Quota>> {
  const stored = fleet.get(QUOTA, idOf(QUOTA, id));
  return stored === undefined ? refuse(unknownResource('quota', id)) : accept([remove(QUOTA, stored.id)], stored);
}

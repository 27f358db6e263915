// What `muster scale-in status` requests: the hosts that were named, each by itself so that others take no place in a limited answer,
// or all of them.
import { ApiRefusal } from '../client/problem.ts';
import type { BlockedTenants, ScaleInStatus } from '../client/representations.ts';
import type { Session } from '../session.ts';
import type { HostProgress } from './scale-in-text.ts';
import { SCALE_IN_PATH } from './submit.ts';

/** As many as the server returns. */
const BLOCKED_MAX = 1000;

export interface FullStatus extends ScaleInStatus {
  readonly blocked: BlockedTenants['blocked'];
  /** In all, listed or not. */
  readonly blockedCount: number;
}

type BlockedList = Pick<FullStatus, 'blocked' | 'blockedCount'>;

const NOTHING_BLOCKED: BlockedList = { blocked: [], blockedCount: 0 };

/** `named` in any form of id; the server refuses one that does not exist. */
export async function fetchStatus(
  session: Session,
  named: readonly string[],
  site: string | undefined,
): Promise<FullStatus> {
  if (named.length === 0) {
    const all = await session.client.get<ScaleInStatus>(SCALE_IN_PATH, { site });
    return { ...all, ...(all.hosts.some(isDraining) ? await fetchBlocked(session, { site }) : NOTHING_BLOCKED) };
  }
  const each = new Map<string, FullStatus>();
  // One after the other: what is blocked is planned on the whole fleet.
  for (const form of named) {
    const one = await session.client.get<ScaleInStatus>(SCALE_IN_PATH, { site, host: form });
    const [host] = one.hosts;
    const key = host?.host ?? one.pendingCleanUps[0]?.host ?? form;
    if (each.has(key)) continue;
    const isEmptied = host !== undefined && isDraining(host);
    each.set(key, { ...one, ...(isEmptied ? await fetchBlocked(session, { host: host.host }) : NOTHING_BLOCKED) });
  }
  return mergeStatus([...each.values()]);
}

function isDraining({ state }: HostProgress): boolean {
  return state === 'draining';
}

/** A server of an older version lacks the route. A host that is removed meanwhile has nothing blocked. */
async function fetchBlocked(
  { client }: Session,
  query: { readonly site?: string | undefined; readonly host?: string },
): Promise<BlockedList> {
  try {
    const { blocked, count } = await client.get<BlockedTenants>(`${SCALE_IN_PATH}/blocked`, {
      ...query,
      limit: BLOCKED_MAX,
    });
    return { blocked, blockedCount: count };
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 404) return NOTHING_BLOCKED;
    throw error;
  }
}

function mergeStatus(each: readonly FullStatus[]): FullStatus {
  const sumOf = (field: 'count' | 'pendingCleanUpCount' | 'blockedCount'): number =>
    each.reduce((sum, one) => sum + one[field], 0);
  return {
    count: sumOf('count'),
    hosts: each.flatMap(({ hosts }) => hosts),
    pendingCleanUpCount: sumOf('pendingCleanUpCount'),
    pendingCleanUps: each.flatMap(({ pendingCleanUps }) => pendingCleanUps),
    blockedCount: sumOf('blockedCount'),
    blocked: each.flatMap(({ blocked }) => blocked),
  };
}

// Alarms about tunnel addresses that several hosts share. No address is given out twice any more, but stores of earlier versions have
// shared ones, and a removed host may report again after its address was reassigned. One alarm per host, so that each site sees its own.
import { ALARM, ALARMS_BY_CODE, alarmId, raiseOrUpdateAlarm } from '../alarms/index.ts';
import { remove, type Change, type FleetReader } from '../fleet/index.ts';
import { formatFact, type ReasonSentences } from '../operations/index.ts';
import { findHost, type StoredHost } from './find-host.ts';
import { reportersOf } from './removed-reports.ts';
import { TUNNEL_ADDRESSES } from './tunnel-address-index.ts';

const SHARED = 'tunnel-address-shared';

/** Enough names to find the mistake. */
const NAMED_MAX = 3;

/** The alarm changes to commit. Costs O(hosts with shared addresses + open alarms of this code). */
export function planAddressAlarms(fleet: FleetReader, nowMs: number): Change[] {
  const wanted = new Set<string>();
  const raised = fleet.projection(TUNNEL_ADDRESSES).listSharedAddresses().flatMap((address) =>
    conflictsAt(fleet, address).flatMap(({ host, others, count }) => {
      const id = alarmId(SHARED, host.id);
      wanted.add(id);
      const reason = { code: SHARED, host: host.id, address, others, count };
      return raiseOrUpdateAlarm(fleet, id, { severity: 'critical', site: host.doc.site, reason, sinceMs: nowMs });
    }),
  ); // prettier-ignore
  const over = [...fleet.find(ALARMS_BY_CODE, SHARED)].filter(({ id }) => !wanted.has(id));
  return [...raised, ...over.map(({ id }) => remove(ALARM, id))];
}

interface AddressConflict {
  readonly host: StoredHost;
  /** Alarms name only hosts of the same site: a reader of this site may not see those of others. */
  readonly others: readonly string[];
  /** The count covers hosts of every site. */
  readonly count: number;
}

function conflictsAt(fleet: FleetReader, address: string): AddressConflict[] {
  const hosts = fleet.projection(TUNNEL_ADDRESSES).hostsAt(address).flatMap((id) => findHost(fleet, id) ?? []); // prettier-ignore
  const living = hosts.filter(({ doc }) => doc.state !== 'removed');
  const removed = hosts.flatMap((host) => {
    const { itself, as } = reportersOf(fleet, host.id);
    return itself || as.length > 0 ? [{ host, itself, as }] : [];
  });
  return living.flatMap((host) => {
    // A machine that joined under another name and reports its old switch is one machine, not two.
    const back = removed.filter(({ itself, as }) => itself || as.some((name) => name !== host.id));
    const count = living.length - 1 + back.length;
    return count === 0 ? [] : [{ host, others: namesFor(host, [...living, ...back.map((one) => one.host)]), count }];
  });
}

function namesFor({ id, doc }: StoredHost, hosts: readonly StoredHost[]): string[] {
  const names: string[] = [];
  for (const other of hosts) {
    if (names.length === NAMED_MAX) break;
    if (other.id !== id && other.doc.site === doc.site) names.push(other.id);
  }
  return names;
}

export const addressSentences: ReasonSentences = {
  [SHARED]: ({ host, address, others, count }) => {
    const named = Array.isArray(others) ? others.map(String) : [];
    const hidden = Number(count) - named.length;
    const more = hidden === 0 ? [] : [`${hidden} ${named.length === 0 ? '' : 'more '}host${hidden === 1 ? '' : 's'}`];
    const who = [...(named.length === 0 ? [] : [named.join(', ')]), ...more].join(' and ');
    return `Host ${formatFact(host)} has the tunnel address ${formatFact(address)}, and so ${Number(count) === 1 ? 'has' : 'have'} ${who}: each receives packets of the others. Give each its own with "muster hosts edit ${formatFact(host)} --tunnel-address", or stop the agent of one that was removed.`;
  },
};

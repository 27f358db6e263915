// Which hosts a start would take: all that are named, or none of them.
import type { FleetReader, Refusal } from '../fleet/index.ts';
import type { StoredHost } from './decide.ts';
import { resolveHost } from './identity.ts';
import type { HostState } from './model.ts';

const MAY_LEAVE: readonly HostState[] = ['active', 'draining', 'drained', 'recovering'];

interface BadName {
  readonly host: string;
  readonly result: 'unknown' | 'wrong-state';
  readonly reason: { readonly code: string; readonly host: string; readonly state?: HostState };
}

/** In the order of ids, each once, whatever form it was named in. */
export function leaversOf(fleet: FleetReader, names: readonly string[], site?: string): StoredHost[] | Refusal {
  const found = new Map<string, StoredHost>();
  const bad: BadName[] = [];
  for (const name of new Set(names)) {
    const host = resolveHost(fleet, name, site);
    if (host === undefined) bad.push({ host: name, result: 'unknown', reason: { code: 'unknown-host', host: name } });
    else if (MAY_LEAVE.includes(host.doc.state)) found.set(host.id, host);
    else {
      const { state } = host.doc;
      bad.push({ host: name, result: 'wrong-state', reason: { code: 'wrong-state', host: host.id, state } });
    }
  }
  if (bad.length > 0) return badNames(bad);
  return [...found.values()].sort((one, other) => (one.id < other.id ? -1 : 1));
}

function badNames(bad: readonly BadName[]): Refusal {
  const unknown = bad.filter(({ result }) => result === 'unknown');
  const told = bad.map(({ host, reason }) =>
    reason.state === undefined ? `${host}: unknown` : `${host}: ${reason.state}`,
  );
  const message = `These hosts cannot be taken out of service: ${told.join(', ')}. Nothing was changed.`;
  const facts = { hosts: bad };
  if (unknown.length > 0) return { kind: 'not-found', code: 'unknown-host', message, field: '/hosts', facts };
  return { kind: 'conflict', code: 'wrong-state', message, field: '/hosts', facts };
}

// Resolves the hosts of a start: all that are named, or a refusal that lists every bad name.
import type { FleetReader, Refusal } from '../../fleet/index.ts';
import type { StoredHost } from '../decide.ts';
import { resolveNamedHosts, refuseVerb, unknownName, type HostResult } from '../scale-in/answer.ts';
import { SCALE_IN_TABLE } from '../scale-in/verb-table.ts';

/** Sorted by id, each once, in whatever form it was named. */
export function leaversOf(fleet: FleetReader, names: readonly string[], site?: string): StoredHost[] | Refusal {
  const leavers: StoredHost[] = [];
  const bad: HostResult[] = [];
  for (const named of resolveNamedHosts(fleet, names, site)) {
    const { requestedId, host } = named;
    if (host === undefined) bad.push(unknownName(named));
    else {
      const { state } = host.doc;
      const act = SCALE_IN_TABLE[state].start;
      if (act.act !== 'refuse') leavers.push(host);
      else {
        const reason = { code: act.because, host: host.id, state };
        bad.push({ host: requestedId, name: host.id, result: 'wrong-state', reason });
      }
    }
  }
  return bad.length > 0 ? refuseVerb('start', bad) : leavers;
}

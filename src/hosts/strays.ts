// Strays: what a host's agent reports that the fleet does not know (instances, interfaces on its bridge, ports that others' flows name). Muster
// must never touch them; they are evidence that something lives there. Pure.
import type { Redactor } from '../access/index.ts';
import { ALARM, alarmId, clearAlarm, type Alarm } from '../alarms/index.ts';
import { mark, put, type Change, type FleetReader, type Reason } from '../fleet/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import { formatFact, type ReasonSentences } from '../operations/index.ts';
import { findHost, type StoredHost } from './decide.ts';
import { HOST, type Host, type HostState } from './model.ts';
import { STRAY_LENGTH_MAX, STRAYS_NAMED_MAX, type Strays } from './strays-schema.ts';

/**
 * The report, cut to what a document keeps. The total comes from unvalidated facts: an invalid count must not keep the names from being
 * recorded.
 */
export function summarizeStrays(names: readonly string[], inAll: unknown): Pick<Strays, 'names' | 'count'> | undefined {
  if (names.length === 0) return undefined;
  const count = Number.isSafeInteger(inAll) ? Math.max(inAll as number, names.length) : names.length;
  const cut = names.map((name) => name.slice(0, STRAY_LENGTH_MAX));
  return { names: cut.sort().slice(0, STRAYS_NAMED_MAX), count };
}

/** As far as a caller may see them: a stray may have the name of something in another site. */
export function redactStrays(strays: Strays | undefined, sight: Redactor | undefined): { readonly strays?: Strays } {
  if (strays === undefined) return {};
  return {
    strays: sight === undefined ? strays : { ...strays, names: strays.names.map((name) => sight.redactText(name)) },
  };
}

export function straysKey(strays: Pick<Strays, 'names' | 'count'> | undefined): string {
  return strays === undefined ? '' : `${strays.count} ${strays.names.join()}`;
}

/** A joining host has nothing of ours yet, and one past the point of no return is decided already. */
const RECORDED_IN: readonly HostState[] = ['active', 'draining', 'drained', 'recovering'];

export interface RecordStrays {
  readonly host: string;
  readonly strays: Pick<Strays, 'names' | 'count'> | undefined;
  readonly nowMs: number;
}

export function recordStrays(fleet: FleetReader, { host: id, strays, nowMs }: RecordStrays): Decision<null> {
  const host = findHost(fleet, id);
  if (host === undefined || !RECORDED_IN.includes(host.doc.state)) return accept([], null);
  return accept(strayChanges(fleet, { host, strays, nowMs }), null);
}

/** The host's document with its strays, and their alarm. */
export function strayChanges(
  fleet: FleetReader,
  { host, strays, nowMs }: Omit<RecordStrays, 'host'> & { readonly host: StoredHost },
): Change[] {
  const { strays: before, ...rest } = host.doc;
  if (straysKey(before) === straysKey(strays)) return [];
  if (strays === undefined) return [put(HOST, host.id, rest), ...endStraysAlarm(fleet, host.id)];
  mark('strays-recorded');
  const doc: Host = { ...rest, strays: { ...strays, sinceMs: before?.sinceMs ?? nowMs } };
  return [put(HOST, host.id, doc), straysAlarm(host, strays, before?.sinceMs ?? nowMs)];
}

function straysAlarm({ id, doc }: StoredHost, strays: Pick<Strays, 'names' | 'count'>, sinceMs: number): Change {
  const alarm: Alarm = { severity: 'warning', site: doc.site, reason: straysReason(id, strays), sinceMs };
  return put(ALARM, alarmId(STRAYS, id), alarm);
}

export function endStraysAlarm(fleet: FleetReader, host: string): Change[] {
  return clearAlarm(fleet, alarmId(STRAYS, host));
}

const STRAYS = 'strays';

export function straysReason(host: string, { names, count }: Pick<Strays, 'names' | 'count'>): Reason {
  return { code: STRAYS, host, names: [...names], count };
}

export const straysSentences: ReasonSentences = {
  [STRAYS]: ({ host, names, count }) => {
    const more = Number(count) - (names as readonly string[]).length;
    const all = `${formatFact(names)}${more > 0 ? ` and ${more} more` : ''}`;
    return `Host ${formatFact(host)} has what the fleet does not know: ${all}. Muster does not touch it. Remove it there; until then the host can only be removed by force with a reason ("muster scale-in end ${formatFact(host)} --force --reason ...").`;
  },
};

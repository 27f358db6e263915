// Alarms about the store itself: history that was lost, damage that was accepted or found, a clock that jumped. They stand
// until an operator acknowledges them: their cause does not go away by itself.
import { idOf, remove, type Change, type FleetReader, type Reason, type Stored } from '../fleet/index.ts';
import { accept, refuse, type Decision, type Divergence } from '../journal/index.ts';
import { shortenText } from '../operations/index.ts';
import { ALARM, alarmId, raiseAlarm, type Alarm } from './model.ts';

type StoredAlarm = Stored<'alarm', Alarm>;

/** Which alarms an operator acknowledges. All others are cleared by the controller that raised them. */
export const INTEGRITY_CODES = ['history-diverged', 'loss-accepted', 'store-damaged', 'clock-jumped'] as const;
export type IntegrityCode = (typeof INTEGRITY_CODES)[number];

export interface IntegrityFinding {
  readonly code: IntegrityCode;
  /** What makes it another one than those before it, such as the range of revisions. */
  readonly place: string;
  readonly facts: Omit<Reason, 'code'>;
}

export function raiseFinding(fleet: FleetReader, { code, place, facts }: IntegrityFinding, nowMs: number): Change[] {
  return raiseAlarm(fleet, alarmId(code, place), {
    severity: 'critical',
    reason: { ...facts, code },
    sinceMs: nowMs,
  });
}

/** Commits that were acknowledged are not in the store any more, because a standby that lagged was promoted. */
export function historyDivergedFinding({ lostFrom, lostTo, head }: Divergence): IntegrityFinding {
  const place = `${lostFrom ?? 'unknown'}-${lostTo}`;
  return {
    code: 'history-diverged',
    place,
    facts: { ...(lostFrom !== undefined && { lostFrom }), lostTo, head, place },
  };
}

/** The database's own check of its file has found something. */
export function storeDamagedFinding(findings: readonly string[]): IntegrityFinding {
  const place = 'quick-check';
  return { code: 'store-damaged', place, facts: { detail: shortenText(findings.join('; '), 2000), place } };
}

/** Retention pauses while this is pending or stands. Each server has a clock of its own: who confirms the one says nothing of another. */
export function clockJumpedFinding(server: string, detail: string): IntegrityFinding {
  // An address may have what an id may not, such as the brackets of IPv6.
  const place = server.replaceAll(/[^\w.:-]+/g, '-').replace(/^-/, '');
  return { code: 'clock-jumped', place, facts: { detail, place } };
}

export function isClockDoubted(fleet: FleetReader): boolean {
  // There are few alarms, and a check is once a minute.
  return [...fleet.all(ALARM)].some(({ doc }) => doc.reason.code === 'clock-jumped');
}

export function acknowledgeAlarm(fleet: FleetReader, id: string): Decision<StoredAlarm> {
  const alarm = fleet.get(ALARM, idOf(ALARM, id));
  if (alarm === undefined) {
    return refuse({
      kind: 'not-found',
      code: 'no-such-alarm',
      message: `There is no alarm "${id}". List them with "muster alarms".`,
    });
  }
  if (!INTEGRITY_CODES.some((code) => code === alarm.doc.reason.code)) {
    const message = `The alarm "${id}" is cleared when its cause is gone, not by acknowledging it. "muster alarms" says what to do.`;
    return refuse({ kind: 'conflict', code: 'alarm-clears-itself', message });
  }
  return accept([remove(ALARM, alarm.id)], alarm);
}

type Sentences = Readonly<Record<string, (reason: Reason) => string>>;

const acknowledgeHint = (code: string, place: string): string =>
  `acknowledge it with: muster alarms acknowledge ${code}:${place}`;

export const integritySentences: Sentences = {
  'history-diverged': ({ lostFrom, lostTo, head, place }) => {
    const range = lostFrom === undefined ? `up to ${String(lostTo)}` : `${String(lostFrom)} to ${String(lostTo)}`;
    return (
      `The store fell back to an older state: the commits of revisions ${range} were acknowledged and are lost (it went on ` +
      `from revision ${String(head)}). Compare the fleet with the requests of that time, then ` +
      `${acknowledgeHint('history-diverged', String(place))}.`
    );
  },
  'loss-accepted': ({ revision, lostTo, detail, place }) => {
    const lost =
      lostTo === undefined ? '' : `: the commits of revisions ${Number(revision) + 1} to ${String(lostTo)} are lost`;
    const more = detail === undefined ? '' : `: ${String(detail)}`;
    return (
      `The server was started with --accept-loss ${String(revision)}${lost}${more}. Compare the fleet with the requests ` +
      `since then, then ${acknowledgeHint('loss-accepted', String(place))}.`
    );
  },
  'store-damaged': ({ detail, place }) =>
    `The database is damaged: ${String(detail)}. Check it with "muster verify": if it finds nothing, back it up and restore that into a ` +
    `new folder; if it finds damage, restore an earlier backup, or start once with --accept-loss. Then ${acknowledgeHint('store-damaged', String(place))}.`,
  // One that an earlier version raised has no place in its facts.
  'clock-jumped': ({ detail, place = 'retention' }) =>
    `The clock of the server ${String(place)} is not trusted: ${String(detail)}. Nothing expires and no history is forgotten until an ` +
    `operator has looked at the clock and confirmed it with "muster alarms acknowledge clock-jumped:${String(place)}".`,
};

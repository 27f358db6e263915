// Whether a server has the keys of its control plane. The first lease holder writes down which keys it has; one with later keys of the
// same line writes those down; one with others has the wrong file, and an alarm says so. Also which journals this one continues.
import { alarmId, clearAlarm, raiseAlarm } from '../alarms/index.ts';
import { put, type FleetReader } from '../fleet/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import type { ReasonSentences } from '../operations/index.ts';
import { CONTROL_PLANE_KEYS, findKeyIds, JOURNALS_MAX, KEYS_ID, type KeyIds } from './model.ts';

export interface OwnKeys extends Omit<KeyIds, 'changedAtMs' | 'journals'> {
  /** Made because those before were lost, not by rotating them. */
  readonly replacesLost?: boolean;
}

/** `later`: the server has been given the keys of a rotation, or in place of lost ones, that the journal does not know of yet. */
export type KeyAgreement = 'none-recorded' | 'same' | 'later' | 'different';

export function compareKeys(recorded: KeyIds | undefined, own: OwnKeys): KeyAgreement {
  if (recorded === undefined) return 'none-recorded';
  if (recorded.serial === own.serial) return recorded.signing[0] === own.signing[0] ? 'same' : 'different';
  // A rotation keeps the previous key valid: that distinguishes a server with rotated keys from one with foreign keys.
  const isSameLine = own.signing.some((id) => recorded.signing.includes(id));
  return own.serial > recorded.serial && (isSameLine || own.replacesLost === true) ? 'later' : 'different';
}

const ALARM_ID = alarmId('keys-differ', 'control-plane');

export interface RecordKeys {
  readonly own: OwnKeys;
  readonly journalId: string;
  readonly nowMs: number;
}

export function recordKeys(fleet: FleetReader, { own, journalId, nowMs }: RecordKeys): Decision<KeyAgreement> {
  const recorded = findKeyIds(fleet);
  const agreement = compareKeys(recorded, own);
  const alarm =
    agreement === 'different'
      ? raiseAlarm(fleet, ALARM_ID, { severity: 'critical', reason: { code: 'keys-differ' }, sinceMs: nowMs })
      : clearAlarm(fleet, ALARM_ID);
  const { serial, signing, authorities } = agreement === 'different' && recorded !== undefined ? recorded : own;
  const journals = continueJournals(recorded?.journals ?? [], journalId);
  if (agreement !== 'none-recorded' && agreement !== 'later' && journals === recorded?.journals)
    return accept(alarm, agreement);
  const ids = { serial, signing: [...signing], authorities: [...authorities], journals: [...journals] };
  return accept([put(CONTROL_PLANE_KEYS, KEYS_ID, { ...ids, changedAtMs: nowMs }), ...alarm], agreement);
}

/** A backup has the id of the journal that it was made of; the store that it was restored into has another one. */
export function continueJournals(journals: readonly string[], journalId: string): readonly string[] {
  if (journals[0] === journalId) return journals;
  return [journalId, ...journals.filter((one) => one !== journalId)].slice(0, JOURNALS_MAX);
}

export const keySentences: ReasonSentences = {
  'keys-differ': () =>
    'The server that holds the lease has other keys than its control plane: agents do not believe what it signs. Copy control-plane-keys.json from another server into its --keys folder.',
};

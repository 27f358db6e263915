// Whether a server has the keys of its control plane. The first lease holder writes down which keys it has; one with later keys of the
// same line writes those down; one with others has the wrong file, and an alarm says so.
import { alarmId, cleared, raised } from '../alarms/index.ts';
import { put, type FleetReader } from '../fleet/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import type { ReasonSentences } from '../operations/index.ts';
import { CONTROL_PLANE_KEYS, findKeyIds, KEYS_ID, type KeyIds } from './model.ts';

export type OwnKeys = Omit<KeyIds, 'changedAtMs'>;

/** `later`: the server has been given the keys of a rotation that the journal does not know of yet. */
export type KeyAgreement = 'none-recorded' | 'same' | 'later' | 'different';

export function compareKeys(recorded: KeyIds | undefined, own: OwnKeys): KeyAgreement {
  if (recorded === undefined) return 'none-recorded';
  if (recorded.serial === own.serial) return recorded.signing[0] === own.signing[0] ? 'same' : 'different';
  // A rotation keeps the key before it in force: that is how a server that was rotated is told from a stranger.
  const isSameLine = own.signing.some((id) => recorded.signing.includes(id));
  return own.serial > recorded.serial && isSameLine ? 'later' : 'different';
}

const ALARM_ID = alarmId('keys-differ', 'control-plane');

export function recordKeys(fleet: FleetReader, own: OwnKeys, nowMs: number): Decision<KeyAgreement> {
  const agreement = compareKeys(findKeyIds(fleet), own);
  switch (agreement) {
    case 'none-recorded':
    case 'later':
      return accept(
        [put(CONTROL_PLANE_KEYS, KEYS_ID, { ...own, changedAtMs: nowMs }), ...cleared(fleet, ALARM_ID)],
        agreement,
      );
    case 'same':
      return accept(cleared(fleet, ALARM_ID), agreement);
    case 'different':
      return accept(
        raised(fleet, ALARM_ID, { severity: 'critical', reason: { code: 'keys-differ' }, sinceMs: nowMs }),
        agreement,
      );
  }
}

export const keySentences: ReasonSentences = {
  'keys-differ': () =>
    'The server that holds the lease has other keys than its control plane: agents do not believe what it signs. Copy control-plane-keys.json from another server into its --keys folder.',
};

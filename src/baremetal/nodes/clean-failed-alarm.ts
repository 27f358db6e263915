// The alarm of a node that could not be cleaned: it stands for as long as the node is out of service for that.
import { alarmId, clearAlarm, raiseAlarm } from '../../alarms/index.ts';
import type { Change, FleetReader } from '../../fleet/index.ts';
import type { Node } from '../model.ts';
import type { StoredNode } from './transitions.ts';

export const CLEAN_FAILED = 'node-clean-failed';

interface FailedClean {
  /** Whose node it was. */
  readonly instance: string;
  readonly text: string;
  readonly nowMs: number;
}

export function raiseCleanFailed(fleet: FleetReader, { id, doc }: StoredNode, failed: FailedClean): Change[] {
  const { instance, text, nowMs } = failed;
  return raiseAlarm(fleet, alarmId(CLEAN_FAILED, id), {
    severity: 'warning',
    ...(doc.site !== undefined && { site: doc.site }),
    reason: { code: CLEAN_FAILED, node: id, instance, text },
    sinceMs: nowMs,
  });
}

export function clearCleanFailed(fleet: FleetReader, { id, doc }: StoredNode, after: Node): Change[] {
  const isOver = doc.state === 'clean-failed' && after.state !== 'clean-failed';
  return isOver ? clearAlarm(fleet, alarmId(CLEAN_FAILED, id)) : [];
}

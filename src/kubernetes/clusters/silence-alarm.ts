// The alarm of a cluster whose API does not answer: one, however many workers it has.
import { alarmId, clearAlarm, raiseAlarm } from '../../alarms/index.ts';
import type { Change, FleetReader } from '../../fleet/index.ts';
import type { Cluster } from '../model.ts';

const CLUSTER_SILENT = 'cluster-silent';

export function silenceAlarm(cluster: string): ReturnType<typeof alarmId> {
  return alarmId(CLUSTER_SILENT, cluster);
}

export function raiseSilence(fleet: FleetReader, { name, site }: Cluster, text: string, nowMs: number): Change[] {
  return raiseAlarm(fleet, silenceAlarm(name), {
    severity: 'warning',
    ...(site !== undefined && { site }),
    reason: { code: CLUSTER_SILENT, cluster: name, text },
    sinceMs: nowMs,
  });
}

export function clearSilence(fleet: FleetReader, { name }: Cluster): Change[] {
  return clearAlarm(fleet, silenceAlarm(name));
}

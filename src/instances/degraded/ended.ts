// Instances that ended by themselves, as their hosts report it: not by a task, but because the guest panicked or its process was killed. Their hosts
// start them again; here it is recorded, so that it is shown, and is in the history. It decides nothing about where an instance runs.
import { idOf, mark, put, type Change, type FleetReader, type Reason } from '../../fleet/index.ts';
import { accept, type Decision } from '../../journal/index.ts';
import { INSTANCE, type Instance, type InstanceState } from '../model.ts';
import type { StoredInstance } from '../build/placement.ts';

/** What a host's agent says of an instance on its machine. */
export interface ReportedInstance {
  readonly id: string;
  readonly state: string;
  /** When it last ended by itself, by the clock of its host: another time is another end. */
  readonly endedAtMs?: number;
}

/** The instances in an agent's report, which nothing has validated. */
export function readReportedInstances(reported: unknown): readonly ReportedInstance[] {
  return Array.isArray(reported) ? reported.filter(isReportedInstance) : [];
}

function isReportedInstance(one: unknown): one is ReportedInstance {
  const { id, state, endedAtMs } = (typeof one === 'object' && one !== null ? one : {}) as Partial<
    Record<keyof ReportedInstance, unknown>
  >;
  const isTime = endedAtMs === undefined || (Number.isSafeInteger(endedAtMs) && Number(endedAtMs) >= 0);
  return typeof id === 'string' && typeof state === 'string' && isTime;
}

/** Not the agent by its name, which has the host's: projects do not see hosts. */
const REPORTED = 'agents';

export interface EndedReport {
  readonly host: string;
  readonly reported: readonly ReportedInstance[];
  readonly nowMs: number;
}

/** Those in which its host has it running, or hands it on as it runs. In all others an operation says what becomes of it. */
const RUNNING_STATES: readonly InstanceState[] = ['active', 'moving'];

/** What the report changes. Costs O(those that ended here since they were made). */
export function composeEndedChanges(fleet: FleetReader, { host, reported, nowMs }: EndedReport): Change[] {
  return reported.flatMap(({ id, state, endedAtMs }) => {
    const instance = endedAtMs === undefined ? undefined : fleet.get(INSTANCE, idOf(INSTANCE, id));
    if (endedAtMs === undefined || instance?.doc.host !== host || !RUNNING_STATES.includes(instance.doc.state))
      return [];
    const before = instance.doc.ended?.host === host ? instance.doc.ended : undefined;
    const runsAgain = state === 'running';
    if (before?.reportedMs === endedAtMs && before.runsAgain === runsAgain) return [];
    const isNew = before?.reportedMs !== endedAtMs;
    const ended: NonNullable<Instance['ended']> = {
      host,
      reportedMs: endedAtMs,
      atMs: isNew || before === undefined ? nowMs : before.atMs,
      times: (before?.times ?? 0) + (isNew ? 1 : 0),
      runsAgain,
    };
    return [put(INSTANCE, instance.id, { ...instance.doc, ended, changedBy: REPORTED, changedAtMs: nowMs })];
  });
}

export function recordEnded(fleet: FleetReader, report: EndedReport): Decision<null> {
  const changes = composeEndedChanges(fleet, report);
  if (changes.length > 0) mark('instance-ended-by-itself');
  return accept(changes, null);
}

/** What is known of an instance that ended by itself where it is, and does not run again yet. */
export function findEnded({ doc }: Pick<StoredInstance, 'doc'>): Instance['ended'] {
  const { ended, host, state } = doc;
  const isHere = ended?.host === host && RUNNING_STATES.includes(state);
  return isHere && ended?.runsAgain === false ? ended : undefined;
}

export const ENDED = 'instance-ended';

export function endedReason(
  { id }: Pick<StoredInstance, 'id'>,
  { host, times }: NonNullable<Instance['ended']>,
): Reason {
  return { code: ENDED, instance: id, host, times };
}

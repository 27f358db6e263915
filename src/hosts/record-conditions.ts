// The commit that makes a host degraded or ends that, with its alarm. Pure; how long a report must last is decided in conditions.ts.
import { ALARM, alarmId, clearAlarm, type Alarm } from '../alarms/index.ts';
import { mark, put, type Change, type FleetReader, type Reason } from '../fleet/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import { formatFact, type ReasonSentences } from '../operations/index.ts';
import { isSameTrouble, type Condition, type ConditionType, type Degraded } from './conditions.ts';
import { findHost, type StoredHost } from './decide.ts';
import { HOST, type Host } from './model.ts';

export interface RecordConditions {
  readonly host: string;
  /** All current failures; an empty list ends the condition. */
  readonly conditions: readonly Condition[];
  readonly nowMs: number;
}

const HOST_DEGRADED = 'host-degraded';

export function recordConditions(
  fleet: FleetReader,
  { host: id, conditions, nowMs }: RecordConditions,
): Decision<null> {
  const host = findHost(fleet, id);
  // A joining host is checked before it is active: nothing is chosen for it until then.
  const isIn = host !== undefined && host.doc.state !== 'removed' && host.doc.state !== 'joining';
  if (!isIn) return accept([], null);
  if (isSameTrouble(host.doc.degraded ?? [], conditions)) return accept([], null);
  const { degraded: before = [], ...rest } = host.doc;
  if (conditions.length === 0) {
    mark('host-degraded-no-more');
    return accept([put(HOST, host.id, rest), ...endDegradedAlarm(fleet, id)], null);
  }
  mark('host-degraded');
  const degraded = conditions.map((condition) => ({
    ...condition,
    sinceMs: conditionSinceMs(before, condition, nowMs),
  }));
  const doc: Host = { ...rest, degraded };
  return accept([put(HOST, host.id, doc), degradedAlarm(host, degraded, nowMs)], null);
}

/** The host is degraded since its first failure, whatever the cause has become meanwhile. */
function conditionSinceMs(before: Degraded | [], { type }: Condition, nowMs: number): number {
  return before.find((one) => one.type === type)?.sinceMs ?? nowMs;
}

/** Written again when the cause changes: the text says what to do about it. */
function degradedAlarm({ id, doc }: StoredHost, degraded: Degraded, nowMs: number): Change {
  const isCritical = degraded.some(({ type }) => type === 'switch');
  const alarm: Alarm = {
    severity: isCritical ? 'critical' : 'warning',
    site: doc.site,
    reason: {
      code: HOST_DEGRADED,
      host: id,
      parts: degraded.map(({ type }) => type),
      conditions: degraded.map(conditionText),
      ...(degraded.some(({ cannotServe }) => cannotServe === true) && { cannotServe: true }),
      ...(degraded.some(({ code }) => code === NOT_CONVERGING) && { isAnswering: true }),
      ...(degraded.some(({ code }) => code === INTERFACE_NOT_OPENED) && { isUplinkMissing: true }),
    },
    sinceMs: Math.min(nowMs, ...degraded.map((one) => one.sinceMs)),
  };
  return put(ALARM, alarmId(HOST_DEGRADED, id), alarm);
}

export function endDegradedAlarm(fleet: FleetReader, host: string): Change[] {
  return clearAlarm(fleet, alarmId(HOST_DEGRADED, host));
}

const WRONG: Readonly<Record<ConditionType, string>> = {
  switch: 'its switch is out of control',
  'instance-runtime': 'its instance runtime fails',
  agent: 'its agent reports a problem',
};

/** The failure in a few words. */
export function conditionText({ type, message, cannotServe }: Condition): string {
  return `${WRONG[type]}${cannotServe === true ? ' and forwards nothing' : ''}: ${message}`;
}

/** The code that an agent reports when its switch answers and still does not converge. */
const NOT_CONVERGING = 'not-converging';
/** And when it answers, and could not open its tunnel port or its external port. */
const INTERFACE_NOT_OPENED = 'interface-not-opened';

const TO_DO: Readonly<Record<ConditionType, (reason: Reason) => string>> = {
  switch: (reason) => {
    const services =
      reason['cannotServe'] === true
        ? 'services that it has move to other hosts after "moveAfterMs" of the setting "conditions"'
        : 'services that it has stay while its peers see its BFD up';
    return `It gets no new services and instances; ${services}. ${adviseOnSwitch(reason)}`;
  },
  'instance-runtime': ({ host }) =>
    `It gets no new instances; instances keep running. See the log of the agent on ${formatFact(host)}.`,
  agent: ({ host }) => `Instances keep running. See the log of the agent on ${formatFact(host)}.`,
};

function adviseOnSwitch({ host, isAnswering, isUplinkMissing }: Reason): string {
  if (isAnswering === true)
    return `Its switch answers but does not converge on its view: see the log of the agent on ${formatFact(host)}, and run "muster dataplane diff" there.`;
  if (isUplinkMissing === true)
    return `Its switch answers, but has no way to other hosts or to the external network: on ${formatFact(host)}, "ovs-vsctl show" has the error at the interface.`;
  return `On ${formatFact(host)}, see that ovsdb-server and ovs-vswitchd run and answer on their sockets ("ovs-vsctl show", "ovs-appctl version").`;
}

export const conditionSentences: ReasonSentences = {
  [HOST_DEGRADED]: (reason) => {
    const { host, parts, conditions } = reason as Readonly<Record<string, Reason[string]>>;
    const wrong = (conditions as readonly string[]).join('; ');
    const toDo = [...new Set(parts as readonly ConditionType[])].map((part) => TO_DO[part](reason)).join(' ');
    return `Host ${formatFact(host)} is degraded: ${wrong}. ${toDo} This ends by itself once no failure is reported for a few seconds.`;
  },
};

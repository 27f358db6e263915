// The operation `instance-build`: ports, placement, binding, then the host builds. A fault excludes its cause and the build continues elsewhere with
// the same ports; when no host is left, everything is released and the instance records why.
import { idOf, mark, mergeChanges, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { PORT, unbindPort, type StoredPort } from '../../network/index.ts';
import {
  decideLater,
  expectUnchanged,
  isOpen,
  ITEMS_BY_OPERATION,
  record,
  wait,
  type PlannedStep,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { handleBuildAnswer, composeBuildTask } from './host-tasks.ts';
import { handleBuildOutcome } from './back-end-answers.ts';
import {
  continueAfterFault,
  continueAfterSweep,
  expectInstanceUnchanged,
  BUILDER,
  finishRelease,
  isBeingBuilt,
  endSuperseded,
  scheduleInstance,
  scheduleTogether,
  STEPS_WITH_COPY,
  sweepHostFirst,
  recordBuilt,
} from './steps.ts';
import { beginSweep, itemsOfEvent, itemsOfHost } from '../delete/clean.ts';
import { notPluggedFailure, PLUG_TIMEOUT_MS, reportsPlugEvents, listDisconnectedPorts } from '../degraded/degraded.ts';
import { beginDeletion } from '../delete/delete.ts';
import { keepWithoutHost } from './failure.ts';
import { INSTANCE, type Instance, type InstanceFault, type InstanceState } from '../model.ts';
import { composeBindOrder, composeCreateOrder, composeReleaseOrder, nonInlinePorts } from '../back-end-orders.ts';
import { isUnavailable, isFencedOrRemoved, portsOf, canReachPools, type StoredInstance } from './placement.ts';
import { releaseOverdue } from '../delete/release.ts';
import { returnToShelf } from '../shelve-rebuild/shelve.ts';

export const BUILD_DEADLINE_MS = 3600 * 1000;

export const instanceBuild: OperationKind = {
  name: 'instance-build',
  steps: ['ports', 'schedule', 'bind', 'build', 'plug', 'sweep', 'unbind', 'release'],
  cancel: {
    kind: 'does',
    what: 'instances that do not run yet are deleted, or go back to the shelf if they come from there; the others stay',
  },
  retry: {
    kind: 'none',
    because: 'a failed build has handed its ports back; delete the instance and create it again',
  },

  plan: planInState('building'),
  observe: (item, outcome, { fleet, nowMs }) => handleBuildOutcome(fleet, item, outcome, nowMs),
  task: composeBuildTask,
  handleTaskAnswer: (item, answer, { fleet, nowMs }) => handleBuildAnswer(fleet, item, answer, nowMs),

  undo: (fleet, item, nowMs) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    if (instance?.doc.state !== 'building') return { changes: [], expects: [] };
    const end = instance.doc.wasActive ? returnToShelf : beginDeletion;
    return { changes: end(instance, `${item.id}.undo`, nowMs), expects: [expectUnchanged(INSTANCE, instance)] };
  },

  onDeadline: (fleet, item, nowMs) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    if (instance === undefined || !isBeingBuilt(instance.doc)) return { changes: [], expects: [] };
    // Its ports end here too: a floating address may have been associated with one since this was planned.
    const expects = expectInstanceUnchanged(instance, portsOf(fleet, instance.doc));
    return { changes: failOverdue(fleet, item, instance, nowMs), expects };
  },

  itemsToWake: (fleet, change) => [
    ...itemsOfHost(fleet, change.kind, (change.after ?? change.before)?.id),
    ...itemsOfEvent(fleet, change),
  ],
};

/** The steps from the ports to the host's answer, for as long as the instance is in this state. */
export function planInState(state: InstanceState): OperationKind['plan'] {
  return (fleet, items, nowMs) =>
    items.flatMap((item) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
      if (instance?.doc.state !== state) return [endSuperseded(item, instance)];
      return planItem(fleet, { item, instance, nowMs });
    });
}

/** Everything is released. An instance that ran before keeps its ports, its copy of this build is swept, and it can be tried again. */
function failOverdue(fleet: FleetReader, item: StoredItem, instance: StoredInstance, nowMs: number): Change[] {
  const { id, doc } = instance;
  const what = doc.wasActive ? 'Try it again' : 'Delete the instance and create it again';
  const message = `The build passed its deadline. ${what}.`;
  const fault: InstanceFault = { code: 'deadline-passed', message, atMs: nowMs };
  const sent = STEPS_WITH_COPY.includes(item.doc.step) ? doc.host : findReleasingHost(item);
  const key = `${item.id}:late`;
  if (doc.wasActive) {
    const sweep = sent === undefined ? [] : beginSweep(id, sent, key, nowMs);
    return [...keepWithoutHost(fleet, id, { ...doc, fault }, { by: BUILDER, nowMs }), ...sweep];
  }
  const failed = { ...doc, state: 'error' as const, fault, changedBy: BUILDER, changedAtMs: nowMs };
  return mergeChanges([
    put(INSTANCE, id, failed),
    ...portsBoundWithoutClaim(fleet, doc).map((port) =>
      put(PORT, port.id, unbindPort(port.doc, { by: BUILDER, nowMs })),
    ),
    ...releaseOverdue(fleet, { instance: { ...instance, doc: failed }, sent, key, nowMs }),
  ]);
}

/** The host that created the ports itself, and was ordered to release them. */
function findReleasingHost({ doc: { step, host } }: StoredItem): string | undefined {
  return step === 'release' ? host : undefined;
}

/** Its claim was released when the host failed: a port that is still bound there would block that host's removal. */
function portsBoundWithoutClaim(fleet: FleetReader, doc: Instance): StoredPort[] {
  return doc.host === undefined ? portsOf(fleet, doc).filter((port) => port.doc.binding !== undefined) : [];
}

interface BuildContext {
  readonly item: StoredItem;
  readonly instance: StoredInstance;
  readonly nowMs: number;
}

function planItem(fleet: FleetReader, context: BuildContext): readonly PlannedStep[] {
  const { item, instance } = context;
  const ports = portsOf(fleet, instance.doc);
  switch (item.doc.step) {
    case 'ports':
      return orderBackEnd(fleet, context, ports, () =>
        composeCreateOrder(fleet, instance.id, nonInlinePorts(fleet, ports)),
      );
    case 'schedule':
      return planSchedule(fleet, context);
    case 'bind': {
      const order = { instance, host: instance.doc.host ?? '', pools: instance.doc.attempts.at(-1)?.pools ?? [] };
      if (!canReachPools(fleet, order.host, order.pools))
        return [decideWhileBuilding(item, (at, atMs) => continueAfterFault(at, item, { fault: 'mapping-gone' }, atMs))];
      return orderBackEnd(fleet, context, ports, () => composeBindOrder(fleet, order, nonInlinePorts(fleet, ports)));
    }
    case 'build':
      return waitForHost(fleet, context, failHostLost(item)) ?? resumeWaiting(item);
    case 'plug':
      return [
        isFencedOrRemoved(fleet, item.doc.host ?? '')
          ? decideWhileBuilding(item, failHostLost(item))
          : planPlug(fleet, context),
      ];
    case 'sweep':
      return waitForHost(fleet, context, (at, atMs) => continueAfterSweep(at, item, atMs)) ?? retryTask(context);
    case 'unbind':
      return orderBackEnd(fleet, context, ports, () =>
        composeReleaseOrder(fleet, 'unbind', instance, nonInlinePorts(fleet, ports)),
      );
    case 'release':
      if (item.doc.host !== undefined && !isUnavailable(fleet, item.doc.host)) return retryTask(context);
      return orderBackEnd(fleet, context, ports, () =>
        composeReleaseOrder(fleet, 'release', instance, nonInlinePorts(fleet, ports)),
      );
    default:
      throw new Error(`instance-build has no step "${item.doc.step}"`);
  }
}

/**
 * A host that is certainly off is excluded. A host that is only silent may still build the instance, or run it: nothing is built elsewhere with
 * the same ports and addresses before an operator forces it down.
 */
function waitForHost(
  fleet: FleetReader,
  { item, instance }: BuildContext,
  onHostRemoved: (fleet: FleetReader, nowMs: number) => RecordStep,
): readonly PlannedStep[] | undefined {
  const host = item.doc.host ?? '';
  if (isFencedOrRemoved(fleet, host)) return [decideWhileBuilding(item, onHostRemoved)];
  if (!isUnavailable(fleet, host)) return undefined;
  mark('build-waits-for-a-silent-host');
  return [wait(item, { code: 'host-silent', host, instance: instance.id })];
}

function failHostLost(item: StoredItem): (fleet: FleetReader, nowMs: number) => RecordStep {
  return (fleet, nowMs) => continueAfterFault(fleet, item, { fault: 'host-lost' }, nowMs);
}

/** The host is connected (again) and has its task. */
function resumeWaiting(item: StoredItem): readonly PlannedStep[] {
  const { state, step } = item.doc;
  return state === 'waiting' ? [record(item, { state: 'running', step })] : [];
}

/** A repeated task gets a new id: the answer to the first does not count for it. */
function retryTask({ item, nowMs }: BuildContext): readonly PlannedStep[] {
  const { state, step, attempt, retryAtMs = 0 } = item.doc;
  if (state !== 'waiting' || nowMs < retryAtMs) return [];
  return [record(item, { state: 'running', step, attempt: attempt + 1 })];
}

/** Changes of the instance are decided on the newest state: a delete may have come first. */
function decideWhileBuilding(item: StoredItem, step: (fleet: FleetReader, nowMs: number) => RecordStep): PlannedStep {
  return decideLater(item, (fleet, nowMs) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    return instance !== undefined && isBeingBuilt(instance.doc) ? [step(fleet, nowMs)] : [];
  });
}

/** An order to the back end, not before its backoff has passed. */
function orderBackEnd(
  fleet: FleetReader,
  { item, nowMs }: BuildContext,
  ports: readonly StoredPort[],
  order: () => object,
): readonly PlannedStep[] {
  if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
  if (nonInlinePorts(fleet, ports).length === 0) {
    return [
      item.doc.step === 'release'
        ? decideWhileBuilding(item, (at, atMs) => finishRelease(at, item, atMs))
        : record(item, { state: 'running', step: 'schedule' }),
    ];
  }
  const { step, attempt } = item.doc;
  const args = order() as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

/** Instances that were requested together are placed together, once the ports of all of them exist. */
function planSchedule(fleet: FleetReader, { item, instance }: BuildContext): readonly PlannedStep[] {
  const { together } = instance.doc;
  const retried = instance.doc.attempts.length > 0;
  if (together === undefined || retried)
    return [decideLater(item, (at, atMs) => [scheduleInstance(at, item.id, atMs)])];
  const open = [...fleet.find(ITEMS_BY_OPERATION, item.doc.operation)].filter((one) => isOpen(one.doc));
  const without = open.find((one) => one.doc.step === 'ports');
  if (without !== undefined) return waitForOtherPorts(item, without.doc);
  const first = open.filter((one) => one.doc.step === 'schedule');
  return [decideLater(item, (at, atMs) => scheduleTogether(at, first, together.minimum, atMs))];
}

/** Only a wait that may last is recorded: the ports of the others are usually created at the same time. */
function waitForOtherPorts(item: StoredItem, { state, target }: StoredItem['doc']): readonly PlannedStep[] {
  return state === 'waiting' ? [wait(item, { code: 'others-without-ports', instance: target.id })] : [];
}

function planPlug(fleet: FleetReader, { item, instance, nowMs }: BuildContext): PlannedStep {
  // Only those of outside back ends: the binding of the others is known.
  const waiting = listDisconnectedPorts(fleet, instance).filter(({ port }) => reportsPlugEvents(fleet, port));
  if (waiting.length === 0) {
    // It does not become active on a host that was removed meanwhile.
    return decideWhileBuilding(item, (at, atMs) => {
      const isLost = isFencedOrRemoved(at, item.doc.host ?? '');
      return isLost ? failHostLost(item)(at, atMs) : recordBuilt(at, item, [], atMs);
    });
  }
  const failed = waiting.find(({ trouble }) => trouble === 'plug-failed');
  const sinceMs = item.doc.state === 'waiting' ? item.doc.sinceMs : nowMs;
  if (failed !== undefined || nowMs >= sinceMs + PLUG_TIMEOUT_MS) {
    return decideWhileBuilding(item, (at, atMs) => sweepHostFirst(at, item, notPluggedFailure(failed), atMs));
  }
  // The reason names no ports: another reason would be another wait, and its deadline would start again.
  const reason = { code: 'ports-not-plugged', instance: instance.id };
  return wait(item, reason, sinceMs + PLUG_TIMEOUT_MS);
}

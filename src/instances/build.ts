// The operation `instance-build`: ports, place, binding, then the host builds. A fault excludes what it must and the build
// goes on elsewhere with the same ports; when nothing is left, everything is given back and the instance says why.
import { idOf, mark, mergeChanges, put, type Change, type FleetReader } from '../fleet/index.ts';
import { PORT, unboundPort, type StoredPort } from '../network/index.ts';
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
  type StoredOperation,
} from '../operations/index.ts';
import { answeredBuild, buildTask } from './build-answers.ts';
import { observedBuild } from './build-orders.ts';
import {
  afterFault,
  afterSweep,
  asRead,
  BUILDER,
  gaveUp,
  isBeingBuilt,
  leftBuild,
  scheduled,
  scheduledTogether,
  SENT,
  sweptFirst,
  wentWell,
} from './build-steps.ts';
import { cleaningOf, itemsOfEvent, itemsOfHost } from './clean.ts';
import { notPlugged, PLUG_WAIT_MS, tellsOfPlugs, troubledPorts } from './degraded.ts';
import { deletionOf } from './delete.ts';
import { keptWithoutHost } from './give-up.ts';
import { INSTANCE, type Instance, type InstanceFault, type InstanceState } from './model.ts';
import { bindOrder, createOrder, endOrder, outsidePorts } from './orders.ts';
import { isAway, isConfirmedGone, portsOf, reachesPools, type StoredInstance } from './place.ts';
import { releaseOverdue } from './release.ts';
import { shelvingOf } from './shelve.ts';

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
    because: 'a build that was given up has handed its ports back; delete the instance and create it again',
  },
  rollback: { kind: 'none', because: 'a build that fails gives everything back by itself' },

  plan: planWhile('building'),
  observe: (fleet, item, outcome, nowMs) => observedBuild(fleet, item, outcome, nowMs),
  task: (fleet, item) => buildTask(fleet, item),
  handleTaskAnswer: (fleet, item, answer, nowMs) => answeredBuild(fleet, item, answer, nowMs),

  undo: (fleet, item, nowMs) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    if (instance?.doc.state !== 'building') return { changes: [], expects: [] };
    const end = instance.doc.wasActive ? shelvingOf : deletionOf;
    return { changes: end(instance, `${item.id}.undo`, nowMs), expects: [expectUnchanged(INSTANCE, instance)] };
  },

  onDeadline: (fleet, item, nowMs) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    if (instance === undefined || !isBeingBuilt(instance.doc)) return { changes: [], expects: [] };
    // Its ports end here too: one that got a floating address since this was planned is looked at again.
    const expects = asRead(instance, portsOf(fleet, instance.doc));
    return { changes: tooLate(fleet, item, instance, nowMs), expects };
  },

  itemsToWake: (fleet, change) => [
    ...itemsOfHost(fleet, change.kind, (change.after ?? change.before)?.id),
    ...itemsOfEvent(fleet, change),
  ],
};

/** The steps from the ports to the host's answer, for as long as the instance is in this state. */
export function planWhile(state: InstanceState): OperationKind['plan'] {
  return (fleet, operation, items, nowMs) =>
    items.flatMap((item) => {
      const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
      if (instance?.doc.state !== state) return [leftBuild(item, instance)];
      return nextStep(fleet, { operation, item, instance, nowMs });
    });
}

/** Everything is given back. One that ran before keeps its ports, is swept where it was being built, and can be tried again. */
function tooLate(fleet: FleetReader, item: StoredItem, instance: StoredInstance, nowMs: number): Change[] {
  const { id, doc } = instance;
  const what = doc.wasActive ? 'Try it again' : 'Delete the instance and create it again';
  const message = `The build took longer than it may. ${what}.`;
  const fault: InstanceFault = { code: 'deadline-passed', message, atMs: nowMs };
  const sent = SENT.includes(item.doc.step) ? doc.host : releasingHost(item);
  const key = `${item.id}:late`;
  if (doc.wasActive) {
    const sweep = sent === undefined ? [] : cleaningOf(id, sent, key, nowMs);
    return [...keptWithoutHost(fleet, id, { ...doc, fault }, { by: BUILDER, nowMs }), ...sweep];
  }
  const failed = { ...doc, state: 'error' as const, fault, changedBy: BUILDER, changedAtMs: nowMs };
  return mergeChanges([
    put(INSTANCE, id, failed),
    ...boundWithoutClaim(fleet, doc).map((port) => put(PORT, port.id, unboundPort(port.doc, { by: BUILDER, nowMs }))),
    ...releaseOverdue(fleet, { instance: { ...instance, doc: failed }, sent, key, nowMs }),
  ]);
}

/** The host that made the ports by itself, and was asked to release them. */
function releasingHost({ doc: { step, host } }: StoredItem): string | undefined {
  return step === 'release' ? host : undefined;
}

/** Its claim was dropped when the host failed: a port that is still bound there would keep that host from leaving. */
function boundWithoutClaim(fleet: FleetReader, doc: Instance): StoredPort[] {
  return doc.host === undefined ? portsOf(fleet, doc).filter((port) => port.doc.binding !== undefined) : [];
}

interface Looked {
  readonly operation: StoredOperation;
  readonly item: StoredItem;
  readonly instance: StoredInstance;
  readonly nowMs: number;
}

function nextStep(fleet: FleetReader, looked: Looked): readonly PlannedStep[] {
  const { item, instance } = looked;
  const ports = portsOf(fleet, instance.doc);
  switch (item.doc.step) {
    case 'ports':
      return toOutside(fleet, looked, ports, () => createOrder(fleet, instance.id, outsidePorts(fleet, ports)));
    case 'schedule':
      return toSchedule(fleet, looked);
    case 'bind': {
      const order = { instance, host: instance.doc.host ?? '', pools: instance.doc.attempts.at(-1)?.pools ?? [] };
      if (!reachesPools(fleet, order.host, order.pools))
        return [onBuilding(item, (at, atMs) => afterFault(at, item, { fault: 'mapping-gone' }, atMs))];
      return toOutside(fleet, looked, ports, () => bindOrder(fleet, order, outsidePorts(fleet, ports)));
    }
    case 'build':
      return whileHostThere(fleet, looked, hostLost(item)) ?? heard(item);
    case 'plug':
      return [isConfirmedGone(fleet, item.doc.host ?? '') ? onBuilding(item, hostLost(item)) : plugged(fleet, looked)];
    case 'sweep':
      return whileHostThere(fleet, looked, (at, atMs) => afterSweep(at, item, atMs)) ?? askAgain(looked);
    case 'unbind':
      return toOutside(fleet, looked, ports, () => endOrder(fleet, 'unbind', instance, outsidePorts(fleet, ports)));
    case 'release':
      if (item.doc.host !== undefined && !isAway(fleet, item.doc.host)) return askAgain(looked);
      return toOutside(fleet, looked, ports, () => endOrder(fleet, 'release', instance, outsidePorts(fleet, ports)));
    default:
      throw new Error(`instance-build has no step "${item.doc.step}"`);
  }
}

/**
 * A host that is off for certain is given up. One that is only silent may build it yet, and may run it: nothing is done
 * elsewhere with the same ports and addresses before somebody vouches for it being off.
 */
function whileHostThere(
  fleet: FleetReader,
  { item, instance }: Looked,
  onceGone: (fleet: FleetReader, nowMs: number) => RecordStep,
): readonly PlannedStep[] | undefined {
  const host = item.doc.host ?? '';
  if (isConfirmedGone(fleet, host)) return [onBuilding(item, onceGone)];
  if (!isAway(fleet, host)) return undefined;
  mark('build-waits-for-a-silent-host');
  return [wait(item, { code: 'host-silent', host, instance: instance.id })];
}

function hostLost(item: StoredItem): (fleet: FleetReader, nowMs: number) => RecordStep {
  return (fleet, nowMs) => afterFault(fleet, item, { fault: 'host-lost' }, nowMs);
}

/** The host is there (again) and has its task. */
function heard(item: StoredItem): readonly PlannedStep[] {
  const { state, step } = item.doc;
  return state === 'waiting' ? [record(item, { state: 'running', step })] : [];
}

/** A task that has to be done again is another one: the answer to the first does not count for it. */
function askAgain({ item, nowMs }: Looked): readonly PlannedStep[] {
  const { state, step, attempt, retryAtMs = 0 } = item.doc;
  if (state !== 'waiting' || nowMs < retryAtMs) return [];
  return [record(item, { state: 'running', step, attempt: attempt + 1 })];
}

/** What changes the instance is decided on the newest state: a delete may have been faster. */
function onBuilding(item: StoredItem, step: (fleet: FleetReader, nowMs: number) => RecordStep): PlannedStep {
  return decideLater(item, (fleet, nowMs) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    return instance !== undefined && isBeingBuilt(instance.doc) ? [step(fleet, nowMs)] : [];
  });
}

/** An order to the back end, not before it is time to ask again. */
function toOutside(
  fleet: FleetReader,
  { item, nowMs }: Looked,
  ports: readonly StoredPort[],
  order: () => object,
): readonly PlannedStep[] {
  if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
  if (outsidePorts(fleet, ports).length === 0) {
    return [
      item.doc.step === 'release'
        ? onBuilding(item, (at, atMs) => gaveUp(at, item, atMs))
        : record(item, { state: 'running', step: 'schedule' }),
    ];
  }
  const { step, attempt } = item.doc;
  const args = order() as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

/** Instances that were asked for together are placed together, once the ports of all of them are there. */
function toSchedule(fleet: FleetReader, { operation, item, instance }: Looked): readonly PlannedStep[] {
  const { together } = instance.doc;
  const retried = instance.doc.attempts.length > 0;
  if (together === undefined || retried) return [decideLater(item, (at, atMs) => [scheduled(at, item.id, atMs)])];
  const open = [...fleet.find(ITEMS_BY_OPERATION, operation.id)].filter((one) => isOpen(one.doc));
  const without = open.find((one) => one.doc.step === 'ports');
  if (without !== undefined) return whileOthersWait(item, without.doc);
  const first = open.filter((one) => one.doc.step === 'schedule');
  return [decideLater(item, (at, atMs) => scheduledTogether(at, first, together.minimum, atMs))];
}

/** Only a wait that may last is written down: the ports of the others are on their way too, as a rule. */
function whileOthersWait(item: StoredItem, { state, target }: StoredItem['doc']): readonly PlannedStep[] {
  return state === 'waiting' ? [wait(item, { code: 'others-without-ports', instance: target.id })] : [];
}

function plugged(fleet: FleetReader, { item, instance, nowMs }: Looked): PlannedStep {
  // Only what back ends say of: how the others are bound is known.
  const waiting = troubledPorts(fleet, instance).filter(({ port }) => tellsOfPlugs(fleet, port));
  if (waiting.length === 0) {
    // It is not called active on a host that was removed since: whatever is in service there has gone with it.
    return onBuilding(item, (at, atMs) => {
      const isLost = isConfirmedGone(at, item.doc.host ?? '');
      return isLost ? hostLost(item)(at, atMs) : wentWell(at, item, [], atMs);
    });
  }
  const failed = waiting.find(({ trouble }) => trouble === 'plug-failed');
  const sinceMs = item.doc.state === 'waiting' ? item.doc.sinceMs : nowMs;
  if (failed !== undefined || nowMs >= sinceMs + PLUG_WAIT_MS) {
    return onBuilding(item, (at, atMs) => sweptFirst(at, item, notPlugged(failed), atMs));
  }
  // Which ones is not said: another reason would be another wait, and the patience would begin anew.
  const reason = { code: 'ports-not-plugged', instance: instance.id };
  return wait(item, reason, sinceMs + PLUG_WAIT_MS);
}

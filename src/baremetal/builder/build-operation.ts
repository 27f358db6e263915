// The operation `baremetal-build`: a manager has a node reserved, connects it, and deploys to it. A manager that is lost hands on what it had: before there
// is a node to another manager, from then on with the node. A deploy that failed is cleaned up, and tried on another node.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { FLAVOR, INSTANCE, type Instance, type StoredInstance } from '../../instances/index.ts';
import { composeWiredPorts } from '../../network/index.ts';
import {
  decideLater,
  expectUnchanged,
  fail,
  record,
  retryWithBackoff,
  wait,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
  type Task,
  type TaskAnswer,
} from '../../operations/index.ts';
import type { Reservation } from '../model.ts';
import {
  assignManager,
  beginOnMachine,
  BUILDER,
  CONNECT_STEP,
  continueAfterTeardown,
  DEPLOY_STEP,
  endSuperseded,
  failBuild,
  handleMachineAnswer,
  loadBuild,
} from './build-steps.ts';
import { beginDeletion, failOverdue } from './delete-operation.ts';
import { BUILD_KIND, RESERVE_STEP } from './names.ts';
import { nodeOfBuild, nodeOfInstance, reservationOfBuild } from './node-of.ts';
import { canTakeBuilds, pickManager } from './pick-manager.ts';
import { composeReservationBody } from './reservation-body.ts';
import { planWithManager, sinceEpochOf } from './step-facts.ts';
import { composeTeardownTask, handleTeardownAnswer, planTeardown, TEARDOWN_STEPS, type Teardown } from './teardown.ts';
import { itemsToWake } from './wake.ts';

const MACHINE_STEPS: readonly string[] = [CONNECT_STEP, DEPLOY_STEP];

export const baremetalBuild: OperationKind = {
  name: BUILD_KIND,
  steps: [RESERVE_STEP, ...MACHINE_STEPS, ...TEARDOWN_STEPS],
  cancel: {
    kind: 'does',
    what: 'instances that do not run yet are deleted, and their nodes are cleaned; the others stay',
  },
  retry: {
    kind: 'none',
    because: 'a failed build has handed its ports back; delete the instance and create it again',
  },

  plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, item, nowMs)),
  task: (item, { fleet }) => composeTask(fleet, item),
  handleTaskAnswer: (item, answer, { fleet, nowMs }) => handleAnswer(fleet, item, answer, nowMs),

  undo: (fleet, item, nowMs) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    if (instance?.doc.state !== 'building') return { changes: [], expects: [] };
    return {
      changes: beginDeletion(instance, `${item.id}.undo`, { by: BUILDER, nowMs }),
      expects: [expectUnchanged(INSTANCE, instance)],
    };
  },

  onDeadline: (fleet, item, nowMs) => {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    if (instance?.doc.state !== 'building') return { changes: [], expects: [] };
    return {
      changes: failOverdue(fleet, instance, `${item.id}.late`, nowMs),
      expects: [expectUnchanged(INSTANCE, instance)],
    };
  },

  // Of all kinds here: each of them would find the same items.
  itemsToWake: (fleet, change) => itemsToWake(fleet, change),
};

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): readonly PlannedStep[] {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
  if (TEARDOWN_STEPS.includes(item.doc.step)) return planTeardown(fleet, teardownOf(item, nowMs));
  if (instance?.doc.state !== 'building') return planSuperseded(fleet, item, instance);
  if (item.doc.step === RESERVE_STEP) return planReserve(fleet, { item, instance, nowMs });
  const node = nodeOfInstance(fleet, instance.id);
  return node === undefined
    ? [fail(item, { code: 'node-gone', instance: instance.id })]
    : planWithManager(fleet, item, node);
}

function teardownOf(item: StoredItem, nowMs: number): Teardown {
  return { item, instance: item.doc.target.id, by: BUILDER, nowMs, finish: continueAfterTeardown };
}

/** What a machine does for it is waited for: whoever ends the instance must not clean a machine that is being deployed to. */
function planSuperseded(
  fleet: FleetReader,
  item: StoredItem,
  instance: StoredInstance | undefined,
): readonly PlannedStep[] {
  const node = instance === undefined ? undefined : nodeOfInstance(fleet, instance.id);
  const isAtWork = instance?.doc.state === 'deleting' && node?.doc.state === 'deploying';
  if (isAtWork && MACHINE_STEPS.includes(item.doc.step)) return planWithManager(fleet, item, node);
  return [endSuperseded(item, instance)];
}

interface BuildContext {
  readonly item: StoredItem;
  readonly instance: StoredInstance;
  readonly nowMs: number;
}

function planReserve(fleet: FleetReader, { item, instance, nowMs }: BuildContext): readonly PlannedStep[] {
  const { state, assignee, retryAtMs } = item.doc;
  if (nodeOfBuild(fleet, item) !== undefined)
    return [decideLater(item, (at, atMs) => beginOnMachine(at, item.id, atMs))];
  const reservation = reservationOfBuild(fleet, item);
  // A claim is under way at its inventory; it continues whatever becomes of the manager.
  if (reservation?.state === 'allocating') return [];
  if (state === 'waiting' && retryAtMs !== undefined && nowMs < retryAtMs) return [];
  if (canTakeBuilds(fleet, assignee)) {
    return state === 'waiting' ? [record(item, { state: 'running', step: RESERVE_STEP })] : [];
  }
  if (pickManager(fleet) === undefined) return [wait(item, { code: 'no-manager-alive', instance: instance.id })];
  return [decideLater(item, (at, atMs) => assignManager(at, item.id, atMs))];
}

function composeTask(fleet: FleetReader, item: StoredItem): Omit<Task, 'id'> | undefined {
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id))?.doc;
  if (instance === undefined) return undefined;
  const { step, state, assignee } = item.doc;
  const args = { sinceEpoch: sinceEpochOf(item) };
  switch (step) {
    case RESERVE_STEP: {
      if (assignee === undefined || state !== 'running' || instance.state !== 'building') return undefined;
      const request = composeReservationBody(fleet, instance, { build: item.id, manager: assignee });
      return { kind: RESERVE_STEP, args: { request } };
    }
    case CONNECT_STEP:
      return { kind: CONNECT_STEP, args: { ...args, ports: composeWiredPorts(fleet, portIdsOf(instance)) } };
    case DEPLOY_STEP: {
      const { image, imageProperties, amounts } = instance;
      const { ephemeralGiB, swapMiB } = fleet.get(FLAVOR, idOf(FLAVOR, instance.flavor))?.doc.bareMetal ?? {};
      return {
        kind: DEPLOY_STEP,
        args: {
          ...args,
          ...(image !== undefined && { image }),
          ...(imageProperties !== undefined && { imageProperties }),
          rootGiB: amounts.diskGiB,
          ...(ephemeralGiB !== undefined && { ephemeralGiB }),
          ...(swapMiB !== undefined && { swapMiB }),
        },
      };
    }
    default:
      return composeTeardownTask(item);
  }
}

function portIdsOf({ nics }: Instance): string[] {
  return nics.map(({ port }) => port);
}

function handleAnswer(fleet: FleetReader, item: StoredItem, answer: TaskAnswer, nowMs: number): RecordStep {
  if (TEARDOWN_STEPS.includes(item.doc.step)) return handleTeardownAnswer(fleet, teardownOf(item, nowMs), answer);
  const build = loadBuild(fleet, item.id);
  if (build === undefined) {
    const instance = fleet.get(INSTANCE, idOf(INSTANCE, item.doc.target.id));
    return endSuperseded(item, instance);
  }
  return item.doc.step === RESERVE_STEP
    ? handleReserveAnswer(fleet, { ...build, nowMs }, answer)
    : handleMachineAnswer(fleet, build, answer, nowMs);
}

/** The reservation says what became of it; the answer only when there is none, and says why. */
function handleReserveAnswer(
  fleet: FleetReader,
  { item, instance, nowMs }: BuildContext,
  { outcome, facts, problems = [] }: TaskAnswer,
): RecordStep {
  if (outcome === 'done') {
    const [begun] = beginOnMachine(fleet, item.id, nowMs);
    return begun ?? record(item, { state: 'running', step: RESERVE_STEP });
  }
  const code = codeOf(facts) ?? 'reservation-failed';
  const text = problems.join(' ') || 'The manager did not say why.';
  const reservation = reservationOfBuild(fleet, item);
  if (isFinal(code)) return failBuild(fleet, { item, instance }, composeNoNode(code, text, reservation, nowMs));
  // The node of an earlier try is not free yet, the manager drains, its inventory does not answer: another answer is possible later.
  return retryWithBackoff(item, { code: 'reservation-retried', instance: instance.id, why: code, text }, { nowMs });
}

function codeOf(facts: TaskAnswer['facts']): string | undefined {
  const { code } = (facts?.['reason'] ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' && CODE.test(code) ? code : undefined;
}

/** The code of a refusal. A manager may send anything, and the item keeps it. */
const CODE = /^[a-z][a-z0-9-]{0,63}$/;

/** Another try would get the same answer. */
const FINAL_CODES: readonly string[] = ['no-match', 'addresses-exhausted', 'malformed-body', 'unknown-candidate'];

function isFinal(code: string): boolean {
  return FINAL_CODES.includes(code);
}

function composeNoNode(code: string, text: string, reservation: Reservation | undefined, nowMs: number) {
  const isFailed = reservation?.state === 'error';
  const message = isFailed ? (reservation.reason?.message ?? text) : text;
  const nodes = isFailed ? reservation.stages : undefined;
  return { code, message, nowMs, ...(nodes !== undefined && { nodes }) };
}

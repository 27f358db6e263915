// The operation `baremetal-power` switches the machine of an instance on or off, or off and on. It is accepted while its node has no
// manager, and done once it has one. The deletion of the instance waits for it.
import { idOf, put, type FleetReader, type Refusal } from '../../fleet/index.ts';
import {
  beginInstanceOperation,
  INSTANCE,
  type Instance,
  type PowerAction,
  type StoredInstance,
  type SwitchPower,
} from '../../instances/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import {
  fail,
  OPEN_ITEMS_BY_TARGET,
  operationOf,
  record,
  retryWithBackoff,
  shortenText,
  targetKey,
  wait,
  type OperationId,
  type OperationKind,
  type PlannedStep,
  type RecordStep,
  type StoredItem,
  type TaskAnswer,
} from '../../operations/index.ts';
import { NODE } from '../model.ts';
import type { StoredNode } from '../nodes/transitions.ts';
import { POWER_KIND } from './names.ts';
import { nodeOfInstance } from './node-of.ts';
import { planWithManager, retryReason, sinceEpochOf, stepReason } from './step-facts.ts';

/** Which of them the item is: the step says it, and the task. */
const STEPS: Readonly<Record<PowerAction, string>> = { on: 'power-on', off: 'power-off', reboot: 'reboot' };

const POWER_TRIES_MAX = 3;

export function switchPower(fleet: FleetReader, command: SwitchPower): Decision<{ readonly operation: OperationId }> {
  const { id, power, operation } = command;
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
  if (instance === undefined) return refuse(unknownInstance(id));
  if (instance.doc.state !== 'active') return refuse(notSwitchable(instance));
  const changes = beginInstanceOperation(fleet, [instance], command, {
    kind: POWER_KIND,
    title: (what) => (power === 'reboot' ? `reboot ${what}` : `switch ${what} ${power}`),
    step: STEPS[power],
  });
  return accept(changes, { operation });
}

export const baremetalPower: OperationKind = {
  name: POWER_KIND,
  steps: Object.values(STEPS),
  cancel: {
    kind: 'does',
    what: 'a machine that was not called yet is left as it is; a call that is under way is not taken back',
  },
  retry: { kind: 'does', what: 'the machine is called again' },

  plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, item, nowMs)),
  task: (item) => {
    const { step, retryAtMs } = item.doc;
    if (!hasBegun(item) || retryAtMs !== undefined) return undefined;
    return { kind: step, args: { sinceEpoch: sinceEpochOf(item) } };
  },
  handleTaskAnswer: (item, answer, { fleet, nowMs }) => handleAnswer(fleet, item, answer, nowMs),
};

/** From then on the reason says under which epoch of the node. */
function hasBegun({ doc }: StoredItem): boolean {
  return doc.reason?.['epoch'] !== undefined;
}

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): readonly PlannedStep[] {
  const { id } = item.doc.target;
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
  const node = instance === undefined ? undefined : nodeOfInstance(fleet, id);
  if (instance === undefined || node === undefined) return [fail(item, { code: 'instance-gone', instance: id })];
  const { state, step, reason, retryAtMs } = item.doc;
  if (!hasBegun(item)) {
    if (instance.doc.state !== 'active') return [fail(item, { code: 'instance-deleted', instance: id })];
    if (hasEarlierWork(fleet, item)) return [wait(item, { code: 'other-work-ends-first', instance: id })];
    return [record(item, { state: 'running', step, reason: stepReason(step, node) })];
  }
  if (state !== 'waiting' || retryAtMs === undefined) return planWithManager(fleet, item, node);
  if (nowMs < retryAtMs) return [];
  return [record(item, { state: 'running', step, reason: { ...stepReason(step, node), tries: reason?.['tries'] } })];
}

/** One at a time, in the order of their requests. */
function hasEarlierWork(fleet: FleetReader, item: StoredItem): boolean {
  const mine = operationOf(fleet, item).doc.createdAtMs;
  const open = [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(INSTANCE.name, item.doc.target.id))];
  return open.some((other) => {
    const theirs = operationOf(fleet, other).doc.createdAtMs;
    return other.id !== item.id && (theirs < mine || (theirs === mine && other.id < item.id));
  });
}

function handleAnswer(fleet: FleetReader, item: StoredItem, answer: TaskAnswer, nowMs: number): RecordStep {
  const { id } = item.doc.target;
  const instance = fleet.get(INSTANCE, idOf(INSTANCE, id));
  const node = nodeOfInstance(fleet, id);
  if (instance === undefined || node === undefined) return fail(item, { code: 'instance-gone', instance: id });
  const { step } = item.doc;
  if (answer.outcome === 'failed') return handleFailure(item, node, answer, nowMs);
  const power = step === STEPS.off ? 'off' : 'on';
  const by = `operation:${POWER_KIND}`;
  const noted = { changedBy: by, changedAtMs: nowMs };
  const switched: Instance = { ...instance.doc, power, ...noted };
  const changes = [put(INSTANCE, instance.id, switched), put(NODE, node.id, { ...node.doc, power, ...noted })];
  return record(item, { state: 'done', step }, { changes });
}

function handleFailure(item: StoredItem, node: StoredNode, { problems = [] }: TaskAnswer, nowMs: number): RecordStep {
  const text = shortenText(problems.length === 0 ? 'its driver did not say why' : problems.join('; '), 500);
  const tries = Number(item.doc.reason?.['tries'] ?? 0) + 1;
  const facts = { node: node.id, instance: item.doc.target.id, text };
  if (tries >= POWER_TRIES_MAX) return fail(item, { code: 'power-failed', ...facts });
  return retryWithBackoff(item, { ...retryReason('power-retried', node), tries, text }, { nowMs });
}

function notSwitchable({ id, doc }: StoredInstance): Refusal {
  const message = `Instance "${id}" cannot be switched on or off: it is ${doc.state}, and only active instances can. "muster instances show ${id}" tells more.`;
  return { kind: 'conflict', code: 'not-active', message, facts: { instance: id, state: doc.state } };
}

function unknownInstance(id: string): Refusal {
  const message = `There is no instance "${id}". List them with "muster instances list".`;
  return { kind: 'not-found', code: 'unknown-instance', message, facts: { instance: id } };
}

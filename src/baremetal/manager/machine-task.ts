// One task on one machine: a look at the own right, a look at the machine, then the act. A task may have been begun before, by this process or by the
// manager that had the node: what the machine shows counts, never what is remembered.
import { mark, type Reason } from '../../fleet/index.ts';
import { MACHINE_ACTIONS, type MachineAction, type MachineDriver, type MachineStatus } from '../drivers/inventory.ts';
import type { TaskAnswer } from '../../operations/index.ts';
import type { ManagerTask } from '../managers/messages.ts';

/** The right to act, as far as this process knows by itself. */
export interface Right {
  readonly mayAct: () => boolean;
  /** Aborted when the right ends. */
  readonly signal: AbortSignal;
}

export type MachineTaskResult = Pick<TaskAnswer, 'outcome' | 'problems' | 'facts'>;

/** Undefined: the right is over, and there is nothing to say. */
export async function carryOutOnMachine(
  task: ManagerTask,
  { driver, manager, right }: { readonly driver: MachineDriver; readonly manager: string; readonly right: Right },
): Promise<MachineTaskResult | undefined> {
  const { id, kind, node, nodeEpoch, instance, args } = task;
  if (!isMachineAction(kind) || node === undefined || nodeEpoch === undefined || instance === undefined)
    return { outcome: 'failed', problems: [`This manager does not know the task "${kind}".`] };
  const fence = { node, nodeEpoch, instance };
  const how = { signal: right.signal, mayAct: right.mayAct };
  if (!isRight(right)) return undefined;
  const status = await driver.inspect(fence, how);
  if (isDone(kind, status, instance)) return { outcome: 'done', facts: { already: true } };
  // Looking took a while.
  if (!isRight(right)) return undefined;
  const outcome = await driver.carryOut({ ...fence, action: kind, manager, args: { ...args, task: id } }, how);
  switch (outcome.kind) {
    case 'applied':
    case 'already':
      return { outcome: 'done', ...(outcome.facts !== undefined && { facts: outcome.facts }) };
    case 'stale':
      // Without a reason the control plane itself has refused it: whoever has no right says nothing. What the machine says is an answer, and whether it
      // came from a manager with the right is checked where it is recorded.
      return outcome.reason === undefined ? undefined : failWith(outcome.reason);
    case 'failed':
      return failWith(outcome.reason);
  }
}

function failWith(reason: Reason): MachineTaskResult {
  return { outcome: 'failed', problems: [textOf(reason)], facts: { reason } };
}

function isRight({ mayAct, signal }: Right): boolean {
  const isLate = !mayAct();
  if (isLate) mark('manager-late-to-act');
  return !isLate && !signal.aborted;
}

function isMachineAction(kind: string): kind is MachineAction {
  return MACHINE_ACTIONS.some((one) => one === kind);
}

/** Whether the machine is already as the action would leave it. What leaves no trace is done again. */
export function isDone(action: MachineAction, { instance, power, state }: MachineStatus, wanted: string): boolean {
  switch (action) {
    case 'deploy':
      return state === 'deployed' && instance === wanted;
    case 'clean':
      return state === 'empty' && instance === undefined;
    case 'power-on':
      return power === 'on';
    case 'power-off':
      return power === 'off';
    case 'reboot':
    case 'connect':
    case 'disconnect':
      return false;
  }
}

function textOf({ code, ...facts }: { readonly code: string; readonly [fact: string]: unknown }): string {
  const { message } = facts;
  return typeof message === 'string' ? message : code;
}

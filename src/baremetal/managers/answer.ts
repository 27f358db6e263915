// What a manager's answer to a task means: recorded for the item that waits for it, if the manager has the right to act on the node now. Without the
// right nothing changes: the manager that has the node by now looks at the machine and continues from there.
import type { FleetReader, Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import {
  ITEM,
  itemOfTask,
  recordTaskAnswer,
  taskOf,
  type OperationKind,
  type StoredItem,
} from '../../operations/index.ts';
import type { IsLeaseLive } from './leases.ts';
import type { AnswerRequest, AnswerResponse } from './messages.ts';
import { denyUnlessManages, denyUnlessTenured } from './right.ts';
import { findNodeOf } from './share.ts';
import { managerOfItem } from './task-list.ts';

/** The task of finding a node: it is begun without one, and answered when there is one. */
export const RESERVE_TASK = 'reserve';

export interface ManagerAnswer extends AnswerRequest {
  readonly manager: string;
  readonly isLeaseLive: IsLeaseLive;
  readonly nowMs: number;
}

export function decideAnswer(
  fleet: FleetReader,
  kinds: ReadonlyMap<string, OperationKind>,
  command: ManagerAnswer,
): Decision<AnswerResponse> {
  const { manager, isLeaseLive, nowMs, task, outcome, problems, facts } = command;
  const denied = denyUnlessTenured(fleet, command, isLeaseLive);
  if (denied !== undefined) return refuse(denied);
  const item = fleet.get(ITEM, itemOfTask(task));
  if (item === undefined) return accept([], { result: 'stale' });
  const fenced = denyUnlessOwnNode(fleet, kinds, item, command);
  if (fenced !== undefined) return refuse(fenced);
  const answer = { task, outcome, ...(problems !== undefined && { problems }), ...(facts !== undefined && { facts }) };
  const isAddressee = ({ doc }: StoredItem): boolean =>
    managerOfItem(fleet, doc) === manager && isAboutNode(fleet, doc, command.node);
  const recorded = recordTaskAnswer(fleet, kinds, { answer, isAddressee, nowMs });
  return recorded.kind === 'refuse' ? recorded : accept(recorded.changes, { result: recorded.answer });
}

/** Before there is a node, or after it was given back, there is none to be another. */
function isAboutNode(fleet: FleetReader, { target }: StoredItem['doc'], node: string | undefined): boolean {
  const found = findNodeOf(fleet, target);
  return node === undefined || found === undefined || found.id === node;
}

/** The node is the item's, and all that the manager says of it is so. */
function denyUnlessOwnNode(
  fleet: FleetReader,
  kinds: ReadonlyMap<string, OperationKind>,
  item: StoredItem,
  { manager, node, nodeEpoch, instance, isLeaseLive }: ManagerAnswer,
): Refusal | undefined {
  const found = findNodeOf(fleet, item.doc.target);
  const isNeeded = found?.doc.manager !== undefined && taskOf(fleet, kinds, item)?.kind !== RESERVE_TASK;
  const named = node ?? (isNeeded ? found.id : undefined);
  if (named === undefined) return undefined;
  const claimed = { manager, node: named, nodeEpoch: nodeEpoch ?? -1, instance, isLeaseLive };
  return denyUnlessManages(fleet, claimed);
}

// The operation `manager-rebalance`: managers that have more nodes than an even share give the surplus to those that have less. Idle nodes are taken over
// at once, others when no step is under way for them any more. It acts on no machine, and without it no node moves to make shares even.
import { idOf, type AppliedChange, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import {
  newOperation,
  OPERATION,
  record,
  wait,
  type OperationId,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { MANAGER, NODE, type Node } from '../model.ts';
import { countNodesOfTakers, evenShares, MANAGER_REBALANCE, openItemsOf, surplusOf } from './even-shares.ts';

const STEP = 'offer';
const DEADLINE_MS = 24 * 3600 * 1000;

export const managerRebalanceKind: OperationKind = {
  name: MANAGER_REBALANCE,
  steps: [STEP],
  cancel: { kind: 'does', what: 'No more nodes are offered. Those that others have taken over stay with them.' },
  retry: { kind: 'does', what: 'what is above an even share now is offered to the other managers again' },
  plan: (fleet, items) => items.map((item) => planItem(fleet, item)),
  undo: () => ({ changes: [], expects: [] }),
  itemsToWake: (fleet, change) => (hasMoved(change) ? openItems(fleet) : []),
};

function planItem(fleet: FleetReader, item: StoredItem): RecordStep {
  const { id: manager } = item.doc.target;
  const surplus = surplusOf(fleet, manager);
  if (surplus === undefined || countNodesOfTakers(fleet).size < 2)
    return record(item, { state: 'done', step: STEP, reason: { code: 'manager-rebalance-ended', manager } });
  if (surplus <= 0) return record(item, { state: 'done', step: STEP });
  return wait(item, { code: 'nodes-to-take-over', manager, nodes: surplus });
}

/** Whoever got or lost a node, the even share of all may be another. */
function hasMoved({ kind, before, after }: AppliedChange): boolean {
  if (kind !== NODE.name) return false;
  const [from, to] = [before?.doc as Node | undefined, after?.doc as Node | undefined];
  return from?.manager !== to?.manager || from?.managerEpoch !== to?.managerEpoch;
}

function* openItems(fleet: FleetReader): Iterable<StoredItem> {
  for (const { id } of fleet.all(MANAGER))
    for (const item of openItemsOf(fleet, id))
      if (fleet.get(OPERATION, idOf(OPERATION, item.doc.operation))?.doc.kind === MANAGER_REBALANCE) yield item;
}

/** The one that is under way. */
function findUnderWay(fleet: FleetReader): OperationId | undefined {
  for (const { doc } of openItems(fleet)) {
    const operation = fleet.get(OPERATION, idOf(OPERATION, doc.operation));
    if (operation?.doc.state === 'running') return operation.id;
  }
  return undefined;
}

export interface RebalanceManagers {
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string | undefined;
  readonly nowMs: number;
  readonly deadlineMs?: number | undefined;
}

/** Answers the operation that does it: the one that is under way already, if any is. */
export function rebalanceManagers(fleet: FleetReader, command: RebalanceManagers): Decision<OperationId> {
  const underWay = findUnderWay(fleet);
  if (underWay !== undefined) return accept([], underWay);
  const counts = countNodesOfTakers(fleet);
  if (counts.size < 2) return refuse(tooFewManagers(counts.size));
  const shares = evenShares(counts);
  const givers = [...counts]
    .filter(([manager, count]) => count > (shares.get(manager) ?? 0))
    .map(([manager]) => manager);
  if (givers.length === 0) return refuse(sharesAreEven(counts.size));
  const { operation: id, by, why, nowMs, deadlineMs = DEADLINE_MS } = command;
  const items = givers.map((name) => ({ key: name, target: { kind: MANAGER.name, id: name }, step: STEP }));
  const title = 'even out the nodes of managers';
  return accept(newOperation({ id, kind: MANAGER_REBALANCE, title, by, why, nowMs, deadlineMs, items }), id);
}

function tooFewManagers(managers: number): Refusal {
  const message = `Nodes are evened out among managers that are live and do not drain, and there ${managers === 1 ? 'is 1' : 'is none'}. Start another one with "muster manager", or take one out of its drain with "muster baremetal managers undrain".`;
  return { kind: 'conflict', code: 'too-few-managers', message, facts: { managers } };
}

function sharesAreEven(managers: number): Refusal {
  const message = `The ${managers} managers have even shares of the nodes already. Nothing was changed. "muster baremetal managers list" shows what each has.`;
  return { kind: 'conflict', code: 'shares-even', message, facts: { managers } };
}

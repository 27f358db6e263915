// Drains, removals and returns of Kubernetes workers with one bug each.
import { idOf } from '../../src/fleet/index.ts';
import { INSTANCE_HOLDS } from '../../src/instances/index.ts';
import { NODES_DRIVER, toActionOutcome, type NodeOrder } from '../../src/kubernetes/drain/node-order.ts';
import { CLUSTER, WORKERS_BY_CLUSTER } from '../../src/kubernetes/model.ts';
import {
  ITEMS_BY_OPERATION,
  type Action,
  type ActionFence,
  type Driver,
  type Item,
  type OperationKind,
} from '../../src/operations/index.ts';
import { actsForRunning, movedEmpty, operatorsCordonKept } from '../checkers/clusters/promises.ts';
import { cordonedBeforeEvicted, drainedBeforeDeleted, victimsOnly } from '../checkers/clusters/victims.ts';
import { KUBERNETES } from '../scenarios.ts';
import { AT_REST, NO_LEFTOVERS } from '../seed-properties.ts';
import { WORLD, type SimParts } from '../world/parts.ts';
import { hideFromIndex } from './altered-kind.ts';
import type { Mutant } from './mutant.ts';
import { withDriver, withKinds } from './planting.ts';

const BATCHES = ['worker-drain', 'worker-remove'];

/** Each item is planned as if these were all of its operation. */
function withBatchOf(parts: SimParts, sees: (id: string, doc: Item, own: string) => boolean): SimParts {
  const changed = (kind: OperationKind): OperationKind => ({
    ...kind,
    plan: (fleet, items, nowMs) =>
      items.flatMap((item) => {
        const seen = hideFromIndex(fleet, ITEMS_BY_OPERATION.name, (id, doc) => sees(id, doc as Item, item.id));
        return kind.plan(seen, [item], nowMs);
      }),
  });
  return withKinds(parts, BATCHES, changed);
}

export const drainsOneByOne: Mutant = {
  name: 'drains-one-by-one',
  bug: 'a worker is drained as soon as it is cordoned, whatever the others of its batch are at',
  scenario: KUBERNETES,
  caughtBy: [cordonedBeforeEvicted.name, drainedBeforeDeleted.name],
  plant: (parts) => withBatchOf(parts, (id, _doc, own) => id === own),
};

export const goesOnAfterFailure: Mutant = {
  name: 'goes-on-after-failed-drain',
  bug: 'a removal goes on with the others when a worker of its batch could not be drained',
  scenario: KUBERNETES,
  caughtBy: [drainedBeforeDeleted.name],
  plant: (parts) => withBatchOf(parts, (_id, { state }) => state !== 'failed'),
};

type CarryOut = (
  order: NodeOrder,
  carryOut: (order: NodeOrder) => ReturnType<Driver['carryOut']>,
  action: Action,
) => ReturnType<Driver['carryOut']>;

function withNodes(parts: SimParts, make: () => CarryOut): SimParts {
  return withDriver(parts, NODES_DRIVER, (inner) => {
    const changed = make();
    return {
      ...inner,
      maxConcurrent: inner.maxConcurrent ?? 1,
      carryOut: (action, fence) =>
        changed(
          action.args as unknown as NodeOrder,
          (order) => inner.carryOut({ ...action, args: { ...order } }, fence),
          action,
        ),
    };
  });
}

/** What a server has begun by itself is in its memory alone. */
export const victimsAnew: Mutant = {
  name: 'victims-anew-after-restart',
  bug: 'a server that goes on with what another began picks the workers anew',
  scenario: KUBERNETES,
  likely: 2,
  caughtBy: [victimsOnly.name],
  plant: (parts) =>
    withDriver(parts, NODES_DRIVER, (inner, runtime) => {
      const begun = new Set<string>();
      const pick = ({ cluster, node }: NodeOrder): object => {
        const workers = [...runtime.environment.journal.fleet.find(WORKERS_BY_CLUSTER, idOf(CLUSTER, cluster))];
        const other = workers.find(({ doc }) => doc.node !== node && doc.nodeUid !== undefined)?.doc;
        return other === undefined ? {} : { node: other.node, uid: other.nodeUid };
      };
      return {
        ...inner,
        maxConcurrent: inner.maxConcurrent ?? 1,
        carryOut: (action, fence) => {
          const order = action.args as unknown as NodeOrder;
          if (order.op === 'inspect') begun.add(action.item);
          const isKnown = begun.has(action.item) || action.step === 'uncordon';
          return inner.carryOut(isKnown ? action : { ...action, args: { ...order, ...pick(order) } }, fence);
        },
      };
    }),
};

export const uncordonsAll: Mutant = {
  name: 'return-uncordons-all',
  likely: 4,
  bug: 'a worker that is given back is uncordoned, whoever had cordoned it',
  scenario: KUBERNETES,
  caughtBy: [operatorsCordonKept.name],
  plant: (parts) =>
    withNodes(parts, () => (order, carryOut, { step }) => {
      if (order.op !== 'mark' || step !== 'uncordon') return carryOut(order);
      return carryOut({ ...order, marks: { isUnschedulable: false, isExcludedFromLoadBalancers: false } });
    }),
};

export const nameForUid: Mutant = {
  name: 'name-for-uid',
  likely: 11,
  bug: 'a Node is taken for the one of a worker by its name alone',
  scenario: KUBERNETES,
  caughtBy: [victimsOnly.name],
  plant: (parts) =>
    withNodes(parts, () => (order, carryOut) => {
      const { uid: _, ...byName } = order as NodeOrder & { readonly uid?: string };
      return carryOut(byName);
    }),
};

export const forgetsEmptyNode: Mutant = {
  name: 'forgets-node-without-pods',
  bug: 'a Node from which nothing had to be evicted is not deleted',
  scenario: KUBERNETES,
  caughtBy: [AT_REST, NO_LEFTOVERS],
  plant: (parts) =>
    withNodes(parts, () => {
      const evicted = new Set<string>();
      return async (order, carryOut) => {
        const isDeletion = order.op === 'delete' || order.op === 'confirm-deleted';
        if (isDeletion && !evicted.has(order.node)) return toActionOutcome({ kind: 'deleted' });
        const outcome = await carryOut(order);
        const result = outcome.kind === 'applied' ? outcome.facts?.['result'] : undefined;
        const left = (result as { readonly progress?: { readonly left: number } } | undefined)?.progress?.left ?? 0;
        if (order.op === 'evict' && left > 0) evicted.add(order.node);
        return outcome;
      };
    }),
};

export const movesUndrained: Mutant = {
  name: 'moves-worker-undrained',
  bug: 'instances of workers leave their host as any others do: nothing holds them until their pods have left',
  scenario: KUBERNETES,
  caughtBy: [
    movedEmpty.name,
    "never: a worker's instance is moved, shelved or deleted before the worker is drained, unless it is forced or its cluster says that it moves as it is",
  ],
  plant: (parts) => ({
    ...parts,
    modules: parts.modules.map((module) => ({
      ...module,
      contributions: (module.contributions ?? []).filter(({ point }) => point !== INSTANCE_HOLDS.name),
    })),
  }),
};

export const actsAfterAbort: Mutant = {
  name: 'acts-after-abort',
  likely: 30,
  bug: 'the driver of nodes goes on when it is to stop: the operation was cancelled, its deadline has passed, or the lease is lost',
  scenario: KUBERNETES,
  caughtBy: [actsForRunning.name],
  plant: (parts) =>
    withDriver(parts, NODES_DRIVER, (inner, runtime) => {
      const { actingOrders } = runtime.get(WORLD);
      const deafen = (fence: ActionFence): ActionFence => {
        const { signal } = new AbortController();
        const acting = actingOrders.get(fence.signal);
        if (acting !== undefined) actingOrders.set(signal, acting);
        return { ...fence, signal };
      };
      return {
        ...inner,
        maxConcurrent: inner.maxConcurrent ?? 1,
        carryOut: (action, fence) => inner.carryOut(action, deafen(fence)),
      };
    }),
};

// Which nodes a manager may acquire: first those that were its own, then orphans, up to an even share of all that have a manager. An orphan is a
// node whose manager was declared lost, has stopped, or has registered under another lease since: documents say so, since a lease that ran out by
// this server's clock may still be renewed in the store. A node of a manager that drains is offered once its step has ended. No node is offered
// to make shares even, unless a rebalance is under way.
import type { StoredManager } from './decide.ts';
import { type FleetReader, idOf, type Stored } from '../../fleet/index.ts';
import { ITEM, taskOf, type OperationKind } from '../../operations/index.ts';
import { MANAGER, NODE, NODES_BY_INSTANCE, type Node } from '../model.ts';
import { countNodesOfTakers, evenShares, isGiving } from './even-shares.ts';
import { MANAGED_NODES } from './managed-nodes.ts';
import { MANAGER_TASKS } from './manager-tasks.ts';
import { isOnDuty } from './right.ts';

export interface ShareContext {
  readonly fleet: FleetReader;
  readonly kinds: ReadonlyMap<string, OperationKind>;
  /** Managers may not have had the time to take back what was theirs: each is offered its own former nodes, and nothing else. */
  readonly ownOnly: boolean;
  readonly nowMs: number;
}

interface Shares {
  /** Those on duty that take nodes, by name. */
  readonly takers: ReadonlyMap<string, StoredManager>;
  readonly draining: ReadonlyMap<string, StoredManager>;
  readonly even: number;
}

/** The managers are few: each is looked at. */
function readShares(fleet: FleetReader): Shares {
  const takers = new Map<string, StoredManager>();
  const draining = new Map<string, StoredManager>();
  for (const one of fleet.all(MANAGER)) {
    if (isOnDuty(one.doc)) (one.doc.draining === undefined ? takers : draining).set(one.id, one);
  }
  return { takers, draining, even: Math.ceil(fleet.projection(MANAGED_NODES).count / Math.max(1, takers.size)) };
}

/** Whether there is a manager that takes the nodes of others. */
export function hasTaker(fleet: FleetReader): boolean {
  for (const { doc } of fleet.all(MANAGER)) if (isOnDuty(doc) && doc.draining === undefined) return true;
  return false;
}

/** Whether nodes of a manager are offered to others as soon as nothing is under way for them. */
export function givesAway(fleet: FleetReader, manager: string, nowMs: number): boolean {
  const doc = fleet.get(MANAGER, idOf(MANAGER, manager))?.doc;
  return doc !== undefined && (doc.draining !== undefined || isGiving(fleet, manager, nowMs));
}

/** What a manager may acquire now, the first of it; and how much there is for it in all. */
export interface NodeOffer {
  readonly nodes: readonly string[];
  readonly count: number;
}

const NOTHING: NodeOffer = { nodes: [], count: 0 };

export function offerNodes(context: ShareContext, manager: string, max: number): NodeOffer {
  const { fleet, ownOnly } = context;
  const shares = readShares(fleet);
  const self = shares.takers.get(manager) ?? (shares.takers.size === 0 ? shares.draining.get(manager) : undefined);
  // While others take nodes, one that drains gets nothing back: what it had is on its way to them.
  if (self === undefined) return NOTHING;
  const managed = fleet.projection(MANAGED_NODES);
  const own = countFormer(context, self);
  if (ownOnly || !shares.takers.has(manager))
    return { nodes: takeFirst(listFormerNodes(context, self), max), count: own };
  const room = Math.max(0, shares.even - managed.nodesUnder(manager, self.doc.leaseEpoch).size);
  const others = countOffered(context, shares, manager);
  if (Math.min(room, own + others) === 0) return offerSurplus(context, manager, max);
  const limit = Math.min(max, room);
  const found = takeFirst(listFormerNodes(context, self), limit);
  for (const nodes of listOfferedBy(context, shares, manager)) {
    if (found.length >= limit) break;
    found.push(...takeFirst(nodes, limit - found.length));
  }
  return { nodes: found, count: Math.min(room, own + others) };
}

/** What a rebalance has others give away, up to an even share. It comes last: nodes without a manager do not wait for it. */
function offerSurplus(context: ShareContext, taker: string, max: number): NodeOffer {
  const { fleet, nowMs } = context;
  const counts = countNodesOfTakers(fleet);
  const shares = evenShares(counts);
  const room = Math.max(0, (shares.get(taker) ?? 0) - (counts.get(taker) ?? 0));
  if (room === 0) return NOTHING;
  const found: string[] = [];
  let count = 0;
  for (const [giver, has] of counts) {
    const surplus = has - (shares.get(giver) ?? 0);
    const stored = surplus > 0 && isGiving(fleet, giver, nowMs) ? fleet.get(MANAGER, idOf(MANAGER, giver)) : undefined;
    if (stored === undefined) continue;
    const idle = takeFirst(idleNodes(context, stored), Math.min(surplus, room));
    count += idle.length;
    found.push(...idle.slice(0, Math.max(0, Math.min(room, max) - found.length)));
  }
  return { nodes: found, count: Math.min(room, count) };
}

function takeFirst(ids: Iterable<string>, limit: number): string[] {
  const first: string[] = [];
  if (limit <= 0) return first;
  for (const id of ids) {
    first.push(id);
    if (first.length >= limit) break;
  }
  return first;
}

/** What a manager acquired under an earlier lease and has not acquired anew. */
function* listFormerNodes({ fleet }: ShareContext, { id, doc }: StoredManager): Iterable<string> {
  for (const [epoch, nodes] of fleet.projection(MANAGED_NODES).nodesOf(id)) if (epoch !== doc.leaseEpoch) yield* nodes;
}

function countFormer({ fleet }: ShareContext, { id, doc }: StoredManager): number {
  const managed = fleet.projection(MANAGED_NODES);
  return managed.countOf(id) - managed.nodesUnder(id, doc.leaseEpoch).size;
}

/** The nodes of others that may be taken, one source after the other. */
function* listOfferedBy(context: ShareContext, shares: Shares, taker: string): Iterable<Iterable<string>> {
  const { fleet } = context;
  const managed = fleet.projection(MANAGED_NODES);
  for (const other of managed.managers()) {
    if (other === taker) continue;
    const live = shares.takers.get(other);
    const draining = shares.draining.get(other);
    if (draining !== undefined) {
      yield listFormerNodes(context, draining);
      yield idleNodes(context, draining);
    } else if (live === undefined) for (const nodes of managed.nodesOf(other).values()) yield nodes;
    else if (countSurplus(context, shares, live) > 0)
      yield takeFirst(listFormerNodes(context, live), countSurplus(context, shares, live));
  }
}

function countOffered(context: ShareContext, shares: Shares, taker: string): number {
  const { fleet } = context;
  const managed = fleet.projection(MANAGED_NODES);
  let count = 0;
  for (const other of managed.managers()) {
    if (other === taker) continue;
    const live = shares.takers.get(other);
    const draining = shares.draining.get(other);
    if (draining !== undefined) count += managed.countOf(other) - countBusy(context, draining);
    else count += live === undefined ? managed.countOf(other) : countSurplus(context, shares, live);
  }
  return count;
}

/** How many of its former nodes a manager that lives has no room for. */
function countSurplus(context: ShareContext, { even }: Shares, live: StoredManager): number {
  const room = Math.max(
    0,
    even - context.fleet.projection(MANAGED_NODES).nodesUnder(live.id, live.doc.leaseEpoch).size,
  );
  return Math.max(0, countFormer(context, live) - room);
}

/** What a manager that gives nodes away has no step under way for. */
function* idleNodes(context: ShareContext, giver: StoredManager): Iterable<string> {
  const { fleet } = context;
  const busy = listBusyNodes(context, giver);
  const nodes = fleet.projection(MANAGED_NODES).nodesUnder(giver.id, giver.doc.leaseEpoch);
  for (const id of nodes) if (!busy.has(id)) yield id;
}

function countBusy(context: Pick<ShareContext, 'fleet' | 'kinds'>, draining: StoredManager): number {
  return listBusyNodes(context, draining).size;
}

/** Nodes with a step that the manager may have begun. Costs as much as it has open items. */
function listBusyNodes({ fleet, kinds }: Pick<ShareContext, 'fleet' | 'kinds'>, giver: StoredManager): Set<string> {
  const busy = new Set<string>();
  const beginsUntil = lastBegin(giver);
  for (const id of fleet.projection(MANAGER_TASKS).itemsOf(giver.id)) {
    const item = fleet.get(ITEM, idOf(ITEM, id));
    if (item === undefined || item.revision > beginsUntil || taskOf(fleet, kinds, item) === undefined) continue;
    const node = findNodeOf(fleet, item.doc.target);
    if (node?.doc.manager === giver.id && node.doc.managerEpoch === giver.doc.leaseEpoch) busy.add(node.id);
  }
  return busy;
}

/**
 * A manager that drains begins no step that was recorded after the drain. By revisions: the clocks of two servers, one of which decided before the other,
 * may say that a step which it has begun came later.
 */
export function lastBegin({ doc, revision }: StoredManager): number {
  return doc.draining === undefined ? Infinity : revision;
}

/** The node that an item is about: its target, or the one that the instance has. */
export function findNodeOf(
  fleet: FleetReader,
  target: { readonly kind: string; readonly id: string },
): Stored<'node', Node> | undefined {
  if (target.kind === NODE.name) return fleet.get(NODE, idOf(NODE, target.id));
  if (target.kind !== 'instance') return undefined;
  for (const node of fleet.find(NODES_BY_INSTANCE, target.id)) return node;
  return undefined;
}

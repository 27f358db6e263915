// What follows from what a watch has seen, which is where to look sooner and nothing else: at a cluster whose worker's Node may have changed, and for items that wait for
// pods or a Node.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { OPEN_ITEMS_BY_TARGET, targetKey, type StoredItem } from '../../operations/index.ts';
import type { WatchedChange } from '../cluster-api/cluster-api.ts';
import { CLUSTER, DRAIN_REPORT, WORKER, WORKERS_BY_CLUSTER } from '../model.ts';
import type { StoredWorker } from '../workers/transitions.ts';

/** Of one cluster, since it was looked at last. */
export class SeenChanges {
  readonly nodes = new Set<string>();
  /** Of pods that are on a node, or were. */
  readonly podNodes = new Set<string>();
  readonly namespaces = new Set<string>();

  add(change: WatchedChange): void {
    if (change.kind === 'node') {
      this.nodes.add(change.node);
      return;
    }
    this.namespaces.add(change.namespace);
    if (change.node !== undefined) this.podNodes.add(change.node);
  }
}

/** Waits that a change in the cluster may end. Others end by their own time: what cannot be watched, and an API that is away. */
const AWAITED: Readonly<Record<string, 'node' | 'pods'>> = {
  'node-awaited': 'node',
  'pods-leaving': 'pods',
  'budget-blocks': 'pods',
};

export function isWorkerNode(fleet: FleetReader, cluster: string, node: string): boolean {
  return fleet.get(WORKER, idOf(WORKER, `${cluster}.${node}`)) !== undefined;
}

/** Whether a drain waits for pods there, or is about to. */
export function hasDrains(fleet: FleetReader, cluster: string): boolean {
  for (const { doc } of fleet.find(WORKERS_BY_CLUSTER, cluster)) if (isDrained(doc)) return true;
  return false;
}

export function isDrained({ state, work }: Pick<StoredWorker['doc'], 'state' | 'work'>): boolean {
  return state === 'draining' && work !== undefined;
}

/** Costs O(workers of the cluster). */
export function findAwaiting(fleet: FleetReader, cluster: string, seen: SeenChanges): StoredItem[] {
  if (fleet.get(CLUSTER, idOf(CLUSTER, cluster)) === undefined) return [];
  const inHand = [...fleet.find(WORKERS_BY_CLUSTER, cluster)].filter(({ doc }) => doc.work !== undefined);
  return inHand.flatMap((worker) => {
    const items = [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(WORKER.name, worker.id))];
    return items.filter((item) => isAwaited(fleet, { worker, item, seen }));
  });
}

interface Waiting {
  readonly worker: StoredWorker;
  readonly item: StoredItem;
  readonly seen: SeenChanges;
}

function isAwaited(fleet: FleetReader, { worker: { id, doc }, item, seen }: Waiting): boolean {
  const { state, reason } = item.doc;
  const awaited = state === 'waiting' && reason !== undefined ? AWAITED[reason.code] : undefined;
  if (awaited === undefined) return false;
  if (seen.nodes.has(doc.node)) return true;
  if (awaited === 'node') return false;
  if (seen.podNodes.has(doc.node)) return true;
  // A budget gives way when a pod of its service is ready elsewhere.
  const blockers = fleet.get(DRAIN_REPORT, idOf(DRAIN_REPORT, id))?.doc.blockers ?? [];
  return blockers.some(({ namespace }) => seen.namespaces.has(namespace));
}

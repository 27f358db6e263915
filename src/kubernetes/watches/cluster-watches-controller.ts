// Watches the registered clusters, at the lease holder: the Nodes of each, and its pods while a drain waits for some. What they show makes looks sooner, never more often than
// said here, and decides nothing. A watch that ends is begun again after a while; whatever happened meanwhile is found by looking.
import { backoffMs, type BackoffPolicy, type Clock, type Journal, type Log } from '../../journal/index.ts';
import type { StoredItem } from '../../operations/index.ts';
import { isSameAccess } from '../cluster-api/access-of-cluster.ts';
import {
  ClusterRefused,
  ClusterUnreachable,
  type WatchedChange,
  type WatchedKind,
} from '../cluster-api/cluster-api.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { CLUSTER, type Cluster } from '../model.ts';
import { findAwaiting, hasDrains, isWorkerNode, SeenChanges } from './awaited-changes.ts';
import { CoalescedCall } from './coalesced-call.ts';

export interface ClusterWatchesOptions {
  readonly journal: Pick<Journal, 'fleet' | 'fence'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly apis: ClusterApis;
  readonly operations: { lookEarly(items: Iterable<StoredItem>): void };
  readonly lookAt: (cluster: string) => void;
}

/** A look lists all Nodes. */
const LOOK_GAP_MS = 1000;
/** As soon after evictions as a drain looks by itself. */
const ITEMS_GAP_MS = 250;
const REOPEN: BackoffPolicy = { firstMs: 1000, longestMs: 60_000 };
/** One that has lasted so long did not fail: the next one is begun soon. */
const STEADY_MS = 30_000;

interface OpenWatch {
  readonly cluster: Cluster;
  readonly what: WatchedKind;
  readonly life: AbortController;
}

export class ClusterWatches {
  readonly #options: ClusterWatchesOptions;
  readonly #open = new Map<string, OpenWatch>();

  constructor(options: ClusterWatchesOptions) {
    this.#options = options;
  }

  /** Opens what is missing, and ends what is not needed any more. Costs O(clusters and their workers). */
  keep(): void {
    const { journal } = this.#options;
    const wanted = new Map<string, Pick<OpenWatch, 'cluster' | 'what'>>();
    for (const { doc: cluster } of journal.fence === undefined ? [] : journal.fleet.all(CLUSTER)) {
      wanted.set(`nodes ${cluster.name}`, { cluster, what: 'nodes' });
      if (hasDrains(journal.fleet, cluster.name)) wanted.set(`pods ${cluster.name}`, { cluster, what: 'pods' });
    }
    for (const [key, { cluster, life }] of this.#open) {
      const now = wanted.get(key)?.cluster;
      if (now !== undefined && isSameAccess(cluster, now)) continue;
      this.#open.delete(key);
      life.abort('not needed');
    }
    for (const [key, one] of wanted) if (!this.#open.has(key)) this.#begin(key, one);
  }

  close(): void {
    for (const { life } of this.#open.values()) life.abort('closed');
    this.#open.clear();
  }

  #begin(key: string, one: Pick<OpenWatch, 'cluster' | 'what'>): void {
    const watch = { ...one, life: new AbortController() };
    this.#open.set(key, watch);
    void this.#run(watch);
  }

  async #run(watch: OpenWatch): Promise<void> {
    const { clock } = this.#options;
    const { signal } = watch.life;
    const onChange = this.#receiver(watch);
    for (let failures = 0; !signal.aborted;) {
      const beganMs = clock.nowMs();
      await this.#watchOnce(watch, onChange);
      if (signal.aborted) return;
      failures = clock.nowMs() - beganMs >= STEADY_MS ? 1 : failures + 1;
      await clock.sleep(backoffMs(REOPEN, failures), signal);
    }
  }

  async #watchOnce(
    { cluster: { name }, what, life: { signal } }: OpenWatch,
    onChange: (change: WatchedChange) => void,
  ) {
    try {
      const api = this.#options.apis.apiOf(name);
      if (api === undefined || 'reason' in api) return;
      await api.watch(what, onChange, { signal });
    } catch (error) {
      // Looks say that the cluster is silent, and what Muster may not do there is said with it.
      if (signal.aborted || error instanceof ClusterUnreachable || error instanceof ClusterRefused) return;
      this.#options.log.error({ err: error, cluster: name, what }, 'watching a cluster failed');
    }
  }

  #receiver({ cluster: { name }, life: { signal } }: OpenWatch): (change: WatchedChange) => void {
    const { clock, journal, operations, lookAt } = this.#options;
    let seen = new SeenChanges();
    const look = new CoalescedCall({ clock, gapMs: LOOK_GAP_MS, call: () => lookAt(name), signal });
    const items = new CoalescedCall({
      ...{ clock, gapMs: ITEMS_GAP_MS, signal },
      call: () => {
        const awaiting = findAwaiting(journal.fleet, name, seen);
        seen = new SeenChanges();
        if (awaiting.length > 0) operations.lookEarly(awaiting);
      },
    });
    return (change) => {
      if (signal.aborted || (change.kind === 'node' && !isWorkerNode(journal.fleet, name, change.node))) return;
      seen.add(change);
      items.request();
      if (change.kind === 'node') look.request();
    };
  }
}

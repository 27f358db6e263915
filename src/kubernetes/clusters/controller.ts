// Looks at every cluster, each at its own pace, and sooner when a watch has seen something: one that does not answer holds up no other. It commits transitions and keeps only
// what a restart may forget.
import type { AppliedChange, FleetReader } from '../../fleet/index.ts';
import { accept, isJournalAway, LeaseHolderLoop, type Clock, type Journal, type Log } from '../../journal/index.ts';
import {
  ClusterRefused,
  ClusterUnreachable,
  type ClusterCallOptions,
  type ClusterFacts,
} from '../cluster-api/cluster-api.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { CLUSTER, WORKER, type Worker } from '../model.ts';
import { isDrained } from '../watches/awaited-changes.ts';
import { ClusterWatches, type ClusterWatchesOptions } from '../watches/cluster-watches-controller.ts';
import { recordObservation, type ClusterObservation } from './observe.ts';

export interface ClustersOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly apis: ClusterApis;
  readonly operations: ClusterWatchesOptions['operations'];
}

const LOOK_MS = 3000;
/** So often in a row before a cluster is said to be silent: a lost packet is none. */
const SILENT_AFTER = 3;
/** What Muster may do there changes rarely. */
const FACTS_MS = 10 * 60 * 1000;

interface Watched {
  failures: number;
  factsAtMs: number;
  isLooking: boolean;
  /** Something was seen while a look was under way, which may have been before it. */
  isRequested: boolean;
}

export class ClustersController {
  readonly #options: ClustersOptions;
  readonly #loop: LeaseHolderLoop;
  readonly #watched = new Map<string, Watched>();
  readonly #watches: ClusterWatches;

  constructor(options: ClustersOptions) {
    this.#options = options;
    this.#watches = new ClusterWatches({ ...options, lookAt: (cluster) => void this.#lookSooner(cluster) });
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'clusters',
      reconcile: () => this.reconcile(),
      intervalMs: () => LOOK_MS,
      subscribe: () =>
        options.journal.onCommit(({ applied }) => {
          if (applied.some(({ kind, before }) => kind === CLUSTER.name && before === undefined)) this.#loop.wake();
          if (applied.some(beginsDrain)) this.#watches.keep();
        }),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const unsubscribe = this.#options.journal.onStepDown(() => this.#watches.close());
    try {
      await this.#loop.run(signal);
    } finally {
      unsubscribe();
      this.#watches.close();
    }
  }

  /** Begins a look at each cluster that none is under way for. */
  async reconcile(): Promise<void> {
    const { journal, clock } = this.#options;
    const names = [...journal.fleet.all(CLUSTER)].map(({ doc }) => doc.name);
    for (const name of this.#watched.keys()) if (!names.includes(name)) this.#watched.delete(name);
    this.#watches.keep();
    // A cluster that does not answer in time holds up the looks at no other.
    const looks = Promise.all(names.map((name) => this.#look(name)));
    await Promise.race([looks, clock.sleep(LOOK_MS)]);
  }

  async #lookSooner(cluster: string): Promise<void> {
    const watched = this.#watched.get(cluster);
    if (watched === undefined) return;
    watched.isRequested = true;
    if (watched.isLooking) return;
    await this.#look(cluster);
  }

  async #look(cluster: string): Promise<void> {
    const watched = this.#watched.get(cluster) ?? { failures: 0, factsAtMs: 0, isLooking: false, isRequested: false };
    this.#watched.set(cluster, watched);
    if (watched.isLooking) return;
    watched.isLooking = true;
    watched.isRequested = false;
    try {
      const observation = await this.#observe(cluster, watched);
      if (observation !== undefined) await this.#commit(cluster, observation);
    } catch (error) {
      if (!isJournalAway(error)) this.#options.log.error({ err: error, cluster }, 'looking at a cluster failed');
    } finally {
      watched.isLooking = false;
    }
    if (watched.isRequested) await this.#look(cluster);
  }

  async #observe(cluster: string, watched: Watched): Promise<ClusterObservation | undefined> {
    const { apis, clock } = this.#options;
    const api = apis.apiOf(cluster);
    if (api === undefined) return undefined;
    if ('reason' in api) return { kind: 'silent', text: api.reason.code };
    const how: ClusterCallOptions = { signal: new AbortController().signal };
    try {
      const nodes = await api.listNodes(how);
      const isDue = watched.failures > 0 || clock.nowMs() - watched.factsAtMs >= FACTS_MS;
      const facts: ClusterFacts | undefined = isDue ? await api.readFacts(how) : undefined;
      if (isDue) watched.factsAtMs = clock.nowMs();
      watched.failures = 0;
      return { kind: 'seen', nodes, ...(facts !== undefined && { facts }) };
    } catch (error) {
      if (!(error instanceof ClusterUnreachable) && !(error instanceof ClusterRefused)) throw error;
      watched.failures += 1;
      return watched.failures < SILENT_AFTER ? undefined : { kind: 'silent', text: error.message };
    }
  }

  async #commit(cluster: string, observation: ClusterObservation): Promise<void> {
    const { journal, clock } = this.#options;
    if (journal.fence === undefined) return;
    const observed = { cluster, observation, nowMs: clock.nowMs() };
    const decide = (fleet: FleetReader) => accept(recordObservation(fleet, observed), null);
    if (recordObservation(journal.fleet, observed).length === 0) return;
    await journal.submit({ by: 'clusters', decide });
  }
}

function beginsDrain({ kind, before, after }: AppliedChange): boolean {
  if (kind !== WORKER.name || after === undefined || !isDrained(after.doc as Worker)) return false;
  return before === undefined || !isDrained(before.doc as Worker);
}

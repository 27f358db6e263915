// The kubelets of simulated workers: each renews the Lease of its Node as long as the instance runs. As a real one it registers its Node at the join alone: one that
// was deleted does not come back.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { INSTANCE } from '../../instances/index.ts';
import { LeaseHolderLoop, type Clock, type Journal, type Log } from '../../journal/index.ts';
import { ClusterRefused, ClusterUnreachable, type ClusterApi } from '../cluster-api/cluster-api.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { CLUSTER, WORKERS_BY_CLUSTER } from '../model.ts';
import type { StoredWorker } from '../workers/transitions.ts';

export interface SimulatedKubeletsOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  readonly apis: ClusterApis;
}

/** As a kubelet does: a Node is not known to be well after 40 seconds without. */
const RENEW_MS = 10_000;

export class SimulatedKubeletsController {
  readonly #options: SimulatedKubeletsOptions;
  readonly #loop: LeaseHolderLoop;

  constructor(options: SimulatedKubeletsOptions) {
    this.#options = options;
    this.#loop = new LeaseHolderLoop({
      ...options,
      name: 'simulated-kubelets',
      reconcile: () => this.reconcile(),
      intervalMs: () => RENEW_MS,
      isSilent: true,
      subscribe: () => () => undefined,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#loop.run(signal);
  }

  async reconcile(): Promise<void> {
    const { fleet } = this.#options.journal;
    for (const [cluster, workers] of listRunningKubelets(fleet)) {
      const api = this.#options.apis.apiOf(cluster);
      if (api === undefined || 'reason' in api) continue;
      await this.#renewAll(api, cluster, workers);
    }
  }

  async #renewAll(api: ClusterApi, cluster: string, workers: readonly StoredWorker[]): Promise<void> {
    const how = { signal: new AbortController().signal };
    try {
      const names = new Set((await api.listNodes(how)).map(({ name }) => name));
      const present = workers.filter(({ doc }) => names.has(doc.node));
      await Promise.all(
        present.map(({ doc: { node: name, providerId = '' } }) => api.heartbeatNode({ name, providerId }, how)),
      );
    } catch (error) {
      if (!(error instanceof ClusterUnreachable) && !(error instanceof ClusterRefused)) throw error;
      this.#options.log.warn({ cluster, code: error.code }, 'leases of simulated workers are not renewed');
    }
  }
}

/** By cluster: workers that Muster joined there and whose instance runs. */
function listRunningKubelets(fleet: FleetReader): Map<string, StoredWorker[]> {
  const simulated = [...fleet.all(CLUSTER)].filter(({ doc }) => doc.reach === 'simulated');
  return new Map(
    simulated.map(({ id }) => [id, [...fleet.find(WORKERS_BY_CLUSTER, id)].filter((one) => isRunning(fleet, one))]),
  );
}

function isRunning(fleet: FleetReader, { doc }: StoredWorker): boolean {
  if (doc.instance === undefined || doc.providerId === undefined || doc.state === 'removing') return false;
  const state = fleet.get(INSTANCE, idOf(INSTANCE, doc.instance))?.doc.state;
  return state === 'active' || state === 'moving';
}

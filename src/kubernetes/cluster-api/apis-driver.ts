// The APIs of the registered clusters, each made when it is first used and again when its registration changes.
import { idOf } from '../../fleet/index.ts';
import type { Clock, Ids, Journal } from '../../journal/index.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { CLUSTER, type Cluster } from '../model.ts';
import type { ClusterApi } from './cluster-api.ts';
import { SimulatedCluster } from './simulated/simulated-cluster-driver.ts';

export interface RegisteredClustersOptions {
  readonly journal: Pick<Journal, 'fleet' | 'submit'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

interface MadeApi {
  readonly doc: Cluster;
  readonly api: ClusterApi;
}

export class RegisteredClusters implements ClusterApis {
  readonly #options: RegisteredClustersOptions;
  readonly #made = new Map<string, MadeApi>();

  constructor(options: RegisteredClustersOptions) {
    this.#options = options;
  }

  async apiOf(cluster: string): Promise<ClusterApi | undefined> {
    const doc = this.#options.journal.fleet.get(CLUSTER, idOf(CLUSTER, cluster))?.doc;
    if (doc === undefined) {
      this.#made.delete(cluster);
      return undefined;
    }
    const made = this.#made.get(cluster);
    if (made !== undefined && isSameAccess(made.doc, doc)) return made.api;
    const api = new SimulatedCluster({ ...this.#options, cluster });
    this.#made.set(cluster, { doc, api });
    return api;
  }
}

/** Whether the cluster is reached in the same way. */
function isSameAccess(one: Cluster, other: Cluster): boolean {
  const fields = ['kind', 'endpoint', 'caCertificate', 'tlsServerName', 'skipTlsVerify', 'credentials'] as const;
  return fields.every((field) => one[field] === other[field]);
}

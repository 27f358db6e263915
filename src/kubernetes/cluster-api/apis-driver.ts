// The APIs of the registered clusters, each made when it is first used and again when its registration changes.
import { idOf, type Reason } from '../../fleet/index.ts';
import type { Clock, Ids, Journal } from '../../journal/index.ts';
import { damagedReason, type Secrets } from '../../keys/index.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { CLUSTER, type Cluster } from '../model.ts';
import { isSameAccess } from './access-of-cluster.ts';
import { parseClusterCredentials, type ClusterCredentials } from './client/access.ts';
import { ApiClient } from './client/api-client-driver.ts';
import type { ClusterApi } from './cluster-api.ts';
import { SimulatedCluster } from './simulated/simulated-cluster-driver.ts';

export interface RegisteredClustersOptions {
  readonly journal: Pick<Journal, 'fleet' | 'submit' | 'onCommit'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly secrets: Pick<Secrets, 'unseal'>;
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

  apiOf(cluster: string): ClusterApi | { readonly reason: Reason } | undefined {
    const doc = this.#options.journal.fleet.get(CLUSTER, idOf(CLUSTER, cluster))?.doc;
    if (doc === undefined) {
      this.#made.delete(cluster);
      return undefined;
    }
    const made = this.#made.get(cluster);
    if (made !== undefined && isSameAccess(made.doc, doc)) return made.api;
    const api = this.#make(doc);
    if (!('reason' in api)) this.#made.set(cluster, { doc, api });
    return api;
  }

  #make(doc: Cluster): ClusterApi | { readonly reason: Reason } {
    if (doc.kind === 'simulated') return new SimulatedCluster({ ...this.#options, cluster: doc.name });
    const { name, endpoint, caCertificate, tlsServerName, skipTlsVerify } = doc;
    const credentials = this.#openCredentials(doc);
    if (credentials !== undefined && 'reason' in credentials) return credentials;
    return new ApiClient({
      name,
      ...(endpoint !== undefined && { endpoint }),
      ...(caCertificate !== undefined && { caCertificate }),
      ...(tlsServerName !== undefined && { tlsServerName }),
      ...(skipTlsVerify !== undefined && { skipTlsVerify }),
      ...(credentials !== undefined && { credentials }),
    });
  }

  #openCredentials({
    name,
    credentials: sealed,
  }: Cluster): ClusterCredentials | { readonly reason: Reason } | undefined {
    if (sealed === undefined) return undefined;
    const owner = { kind: CLUSTER.name, id: name };
    const opened = this.#options.secrets.unseal(owner, sealed);
    if (opened.kind === 'failed') return { reason: opened.reason };
    return parseClusterCredentials(opened.secret.reveal()) ?? { reason: damagedReason(owner) };
  }
}

// A read of a cluster for a request: an API that does not answer is a refusal, which may be repeated.
import type { Refusal } from '../../fleet/index.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import { ClusterRefused, ClusterUnreachable, type ClusterCallOptions, type ClusterApi } from './cluster-api.ts';

/** How long a request waits for a cluster, whatever it has to read there. */
export const LOOK_MAX_MS = 20_000;

interface ClusterLook<T> {
  readonly look: (api: ClusterApi, how: ClusterCallOptions) => Promise<T>;
  readonly signal: AbortSignal;
}

export async function readCluster<T>(
  apis: ClusterApis,
  cluster: string,
  { look, signal }: ClusterLook<T>,
): Promise<{ readonly seen: T } | Refusal> {
  const api = apis.apiOf(cluster);
  if (api === undefined || 'reason' in api) return unreachable(cluster, api?.reason.code ?? 'it is not registered');
  try {
    return { seen: await look(api, { signal }) };
  } catch (error) {
    if (signal.aborted) return unreachable(cluster, 'it did not answer in time');
    if (!(error instanceof ClusterUnreachable) && !(error instanceof ClusterRefused)) throw error;
    return unreachable(cluster, error.message);
  }
}

function unreachable(cluster: string, text: string): Refusal {
  const message = `Cluster "${cluster}" cannot be read: ${text.replace(/[.\s]+$/, '')}. Nothing was changed. "muster clusters show ${cluster}" says since when.`;
  return { kind: 'unavailable', code: 'cluster-unreachable', message, facts: { cluster } };
}

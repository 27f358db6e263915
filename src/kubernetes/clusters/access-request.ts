// How a request says by what a cluster is reached: its kubeconfig is read, and its credentials are sealed, before the decision, which then only stores what it says.
import type { RouteContext } from '../../access/index.ts';
import type { Refusal } from '../../fleet/index.ts';
import type { ClusterAccess } from '../cluster-api/client/access.ts';
import { CLUSTER, type Cluster } from '../model.ts';
import { parseKubeconfig, type KubeconfigReading } from './kubeconfig.ts';

/** What the document of a cluster has of it. */
export type StoredAccess = Pick<
  Cluster,
  'endpoint' | 'caCertificate' | 'tlsServerName' | 'skipTlsVerify' | 'credentials'
>;

export interface ComposedAccess {
  /** With its credentials open: to look at the cluster by, and for nothing else. */
  readonly access: ClusterAccess;
  readonly stored: StoredAccess;
}

export interface AccessRequest extends Pick<KubeconfigReading, 'isLoopback'> {
  readonly name: string;
  readonly kubeconfig: string;
  readonly context: string | undefined;
}

export function composeAccess(
  { name, kubeconfig, context, isLoopback }: AccessRequest,
  { seal }: Pick<RouteContext, 'seal'>,
): ComposedAccess | Refusal {
  const parsed = parseKubeconfig(kubeconfig, { context, isLoopback });
  if ('code' in parsed) return parsed;
  const { credentials, ...place } = parsed;
  const access = { ...parsed, name };
  if (credentials === undefined) return { access, stored: place };
  const sealed = seal({ kind: CLUSTER.name, id: name }, JSON.stringify(credentials));
  return 'refusal' in sealed ? sealed.refusal : { access, stored: { ...place, credentials: sealed.sealed } };
}

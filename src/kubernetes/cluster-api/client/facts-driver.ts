// What a cluster says of itself: its version, what Muster may not do there, and how new workers find it.
import { createHash, X509Certificate } from 'node:crypto';
import type { ClusterCallOptions, ClusterFacts, MissingPermission } from '../cluster-api.ts';
import type { ClusterAccess } from './access.ts';
import type { ClusterConnection } from './connection-driver.ts';
import { readAnswer, readText } from './answers.ts';
import { isNotShown } from './not-shown.ts';

interface Permission extends MissingPermission {
  readonly group?: string;
  readonly name: string;
  readonly subresource?: string;
  readonly namespace?: string;
}

/** What draining, removing and joining workers takes. */
const NEEDED: readonly Permission[] = [
  ...['get', 'list', 'watch', 'patch', 'delete'].map((verb) => ({ verb, resource: 'nodes', name: 'nodes' })),
  ...['list', 'watch'].map((verb) => ({ verb, resource: 'pods', name: 'pods' })),
  { verb: 'create', resource: 'pods/eviction', name: 'pods', subresource: 'eviction' },
  {
    ...{ verb: 'list', resource: 'poddisruptionbudgets.policy', group: 'policy', name: 'poddisruptionbudgets' },
  },
  { verb: 'get', resource: 'persistentvolumeclaims', name: 'persistentvolumeclaims' },
  { verb: 'get', resource: 'persistentvolumes', name: 'persistentvolumes' },
  {
    ...{
      verb: 'list',
      resource: 'volumeattachments.storage.k8s.io',
      group: 'storage.k8s.io',
      name: 'volumeattachments',
    },
  },
  ...['create', 'update', 'delete'].map((verb) => ({
    ...{ verb, resource: 'secrets in kube-system', name: 'secrets', namespace: 'kube-system' },
  })),
];

export async function readClusterFacts(
  connection: ClusterConnection,
  access: ClusterAccess,
  how: ClusterCallOptions,
): Promise<ClusterFacts> {
  const [version, missingPermissions, joinEndpoint] = await Promise.all([
    readVersion(connection, how),
    findMissingPermissions(connection, how),
    readJoinEndpoint(connection, how),
  ]);
  const { caCertificate } = access;
  return {
    ...(version !== undefined && { version }),
    missingPermissions,
    ...(joinEndpoint !== undefined && { joinEndpoint }),
    ...(caCertificate !== undefined && { caPin: pinOf(caCertificate) }),
  };
}

async function readVersion(connection: ClusterConnection, how: ClusterCallOptions): Promise<string | undefined> {
  const api = connection.group(connection.client.VersionApi);
  const info = await connection.attempt(how, (options) => api.getCode({}, options), isNotShown);
  return 'means' in info ? undefined : readAnswer(() => readText(info.gitVersion, VERSION_MAX));
}

async function findMissingPermissions(
  connection: ClusterConnection,
  how: ClusterCallOptions,
): Promise<readonly MissingPermission[] | 'unknown'> {
  const api = connection.group(connection.client.AuthorizationV1Api);
  const missing: MissingPermission[] = [];
  for (const { verb, resource, group = '', name, subresource, namespace } of NEEDED) {
    const resourceAttributes = {
      ...{ verb, group, resource: name },
      ...(subresource !== undefined && { subresource }),
      ...(namespace !== undefined && { namespace }),
    };
    const body = { spec: { resourceAttributes } };
    const review = await connection.attempt(
      how,
      (options) => api.createSelfSubjectAccessReview({ body }, options),
      isNotShown,
    );
    if ('means' in review) return 'unknown';
    if (!readAnswer(() => review.status?.allowed === true)) missing.push({ verb, resource });
  }
  return missing;
}

const VERSION_MAX = 100;
/** A kubeconfig with one certificate. */
const INFO_MAX = 100_000;
const INFO = { namespace: 'kube-public', name: 'cluster-info' };

/** As kubeadm publishes it: the server in the kubeconfig of `cluster-info`. */
async function readJoinEndpoint(connection: ClusterConnection, how: ClusterCallOptions): Promise<string | undefined> {
  const core = connection.group(connection.client.CoreV1Api);
  const info = await connection.attempt(how, (options) => core.readNamespacedConfigMap(INFO, options), isNotShown);
  if ('means' in info) return undefined;
  const said = readAnswer(() => readText(info.data?.['kubeconfig'], INFO_MAX)) ?? '';
  const server = /^[ \t]*server:[ \t]*(?<url>[^ \t\r\n]{1,250})[ \t]*$/m.exec(said)?.groups?.['url'];
  return server === undefined ? undefined : URL.parse(server)?.host;
}

/** Of the public key, as kubeadm pins it. */
function pinOf(certificate: string): string {
  const key = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}
